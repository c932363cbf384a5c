"""A job as one streaming query: how it is compiled, started, watched and ended."""
