"""`TimeCharacteristic`, which PyFlink 2 no longer has and older programs set."""

from tidegate.core.time.millis import TimeCharacteristic

__all__ = ["TimeCharacteristic"]
