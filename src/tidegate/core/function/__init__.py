"""Functions of users and the operators around them."""
