from tests.core.conftest import clock, others, received

__all__ = ["clock", "others", "received"]
