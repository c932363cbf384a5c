"""Event time: records and watermarks, what makes watermarks, and what combines those of many channels."""
