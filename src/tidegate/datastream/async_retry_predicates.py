"""PyFlink's `pyflink.datastream.async_retry_predicates`."""

from tidegate.core.function.async_retry import empty_result_predicate, exception_type_predicate, has_exception_predicate

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]
