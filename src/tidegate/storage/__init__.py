"""Files that survive: what Tidegate keeps on disk is whole or not there, and says what it is."""
