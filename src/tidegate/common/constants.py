"""The ends of 64 bits under PyFlink's names."""

from tidegate.core.time import MAX_TIME, MIN_TIME

MAX_LONG_VALUE = MAX_TIME
MIN_LONG_VALUE = MIN_TIME
