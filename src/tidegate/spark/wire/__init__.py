"""How messages become rows of a DataFrame, and rows messages."""
