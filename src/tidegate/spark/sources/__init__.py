"""What feeds the query: DataFrames, files and topics that workers read, and what the driver puts into the spool."""
