"""What event time means: pure logic without Spark, clock, files or logging.

Each module holds one concept. Values that a user writes are frozen; what runs is a small machine that is built from
such a value, reports what it emitted, and has `snapshot()` and `restore()`.
"""
