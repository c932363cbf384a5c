"""Built-in aggregates over fields: `agg.count()`, `agg.sum("amount")` and so on."""
