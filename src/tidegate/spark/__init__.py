"""The Spark runtime: the same operators, as one streaming query through PySpark.

It is the only package that imports pyspark. Spark gives transport, state, exactly-once and scheduling; event time is
the core's.
"""
