"""A stream program as data: immutable nodes, checked when built, and the plan that a runtime compiles."""
