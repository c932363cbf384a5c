"""Types in Spark's words. The Spark runtime reads them; here they only travel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.common._type_information import TypeInformation
from tidegate.errors import InvalidTypeError, InvalidValueError


@dataclass(frozen=True, slots=True)
class DdlType(TypeInformation):
    """A Spark DDL string, such as `name STRING, age INT`. Values pass unchanged; Spark checks them."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InvalidTypeError(f"DdlType: expected a Spark DDL string such as 'name STRING', got {self.text!r}")
        if not self.text.strip():
            raise InvalidValueError("DdlType: the Spark DDL string is empty; write for example 'name STRING, age INT'")

    def describe(self) -> str:
        return self.text

    def fit(self, value: Any) -> Any:
        return value


@dataclass(frozen=True, slots=True)
class SparkType(TypeInformation):
    """A `DataType` of pyspark, such as a `StructType`. Values pass unchanged; Spark checks them."""

    data_type: Any

    def __post_init__(self) -> None:
        if not is_spark_type(self.data_type):
            raise InvalidTypeError(f"SparkType: expected a pyspark DataType, got {self.data_type!r}")

    def describe(self) -> str:
        return str(self.data_type.simpleString())

    def fit(self, value: Any) -> Any:
        return value


def is_spark_type(value: Any) -> bool:
    """Whether `value` is an instance of a pyspark DataType, as far as can be told without importing pyspark."""
    if isinstance(value, type):
        return False
    return callable(getattr(value, "jsonValue", None)) and callable(getattr(value, "simpleString", None))
