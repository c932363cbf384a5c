"""Keys: their hashes, the same in every process."""
