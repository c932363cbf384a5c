"""Time as numbers: milliseconds that saturate, and spans of them."""
