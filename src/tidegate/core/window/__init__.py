"""Windows: assigners, triggers, evictors, and the operator that puts them together."""
