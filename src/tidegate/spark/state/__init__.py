"""Subtasks inside of Spark's stateful operator, and their state in its state store."""
