"""Sources: where data enters, and what a source may do with time."""
