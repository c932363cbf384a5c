"""The ends of 64 bits under PyFlink's names."""

from typing import TYPE_CHECKING

from tidegate._refused import refusing
from tidegate.core.time.millis import MAX_TIME, MIN_TIME

MAX_LONG_VALUE = MAX_TIME
MIN_LONG_VALUE = MIN_TIME

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
