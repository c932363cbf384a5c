"""What an operator is: what it is fed with, where it sends, what it counts."""
