"""The local runtime: a whole program in one process, without Spark. The reference that Spark is compared with."""
