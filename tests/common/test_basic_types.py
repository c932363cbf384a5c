import datetime
import decimal
import enum
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.common.time import Instant
from tidegate.common.typeinfo import BasicType, BasicTypeInfo, SqlTimeTypeInfo, TypeInformation, Types
from tidegate.errors import InvalidTypeError

UTC = datetime.UTC
EAST = datetime.timezone(datetime.timedelta(hours=2))


class Colour(enum.StrEnum):
    RED = "red"


FITTING: list[tuple[TypeInformation, Any, Any]] = [
    (Types.STRING(), "x", "x"),
    (Types.STRING(), np.str_("x"), "x"),
    (Types.STRING(), Colour.RED, "red"),
    (Types.BOOLEAN(), True, True),
    (Types.BOOLEAN(), 0, False),
    (Types.BOOLEAN(), 1.0, True),
    (Types.BOOLEAN(), np.bool_(True), True),
    (Types.BYTE(), -128, -128),
    (Types.SHORT(), 32767, 32767),
    (Types.INT(), 2**31 - 1, 2**31 - 1),
    (Types.INT(), True, 1),
    (Types.INT(), np.bool_(True), 1),
    (Types.INT(), 1.0, 1),
    (Types.INT(), np.int64(3), 3),
    (Types.INT(), decimal.Decimal(3), 3),
    (Types.LONG(), -(2**63), -(2**63)),
    (Types.LONG(), np.int32(3), 3),
    (Types.FLOAT(), 1, 1.0),
    (Types.FLOAT(), 1.1, 1.100000023841858),
    (Types.FLOAT(), math.inf, math.inf),
    (Types.DOUBLE(), 1, 1.0),
    (Types.DOUBLE(), True, 1.0),
    (Types.DOUBLE(), 1.1, 1.1),
    (Types.DOUBLE(), np.float32(1.5), 1.5),
    (Types.DOUBLE(), decimal.Decimal("1.5"), 1.5),
    (Types.DOUBLE(), Fraction(1, 2), 0.5),
    (Types.DOUBLE(), 2**70, float(2**70)),
    (Types.CHAR(), "x", "x"),
    (Types.BIG_INT(), 2**70, 2**70),
    (Types.BIG_INT(), decimal.Decimal(10**40), 10**40),
    (Types.BIG_DEC(), decimal.Decimal("1.50"), decimal.Decimal("1.50")),
    (Types.BIG_DEC(), 0.1, decimal.Decimal("0.1")),
    (Types.BIG_DEC(), np.float64(0.1), decimal.Decimal("0.1")),
    (Types.BIG_DEC(), 1, decimal.Decimal(1)),
    (Types.BIG_DEC(), "2.5", decimal.Decimal("2.5")),
    (Types.INSTANT(), Instant(1, 5_123_456), Instant(1, 5_123_456)),
    (Types.SQL_DATE(), datetime.date(2020, 1, 2), datetime.date(2020, 1, 2)),
    (Types.SQL_DATE(), datetime.datetime(2020, 1, 2, 3), datetime.date(2020, 1, 2)),
    (Types.SQL_TIME(), datetime.time(1, 2, 3, 456789), datetime.time(1, 2, 3, 456789)),
    (Types.SQL_TIME(), datetime.time(1, tzinfo=UTC), datetime.time(1)),
    (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 2, 3, 4, 5, 6), datetime.datetime(2020, 1, 2, 3, 4, 5, 6)),
    (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 2, tzinfo=UTC), datetime.datetime(2020, 1, 2)),
    (Types.PICKLED_BYTE_ARRAY(), (1, "a"), (1, "a")),
]

MISFITS: list[tuple[TypeInformation, Any, str]] = [
    (Types.STRING(), 1, "expected STRING, got int 1"),
    (Types.STRING(), b"x", "expected STRING, got bytes b'x'"),
    (Types.BOOLEAN(), "x", "expected BOOLEAN, got str 'x'"),
    (Types.BOOLEAN(), 2, "expected BOOLEAN, got int 2"),
    (Types.BYTE(), 128, "expected BYTE (-128 to 127), got int 128"),
    (Types.SHORT(), 40000, "expected SHORT (-32768 to 32767), got int 40000"),
    (Types.INT(), 2**31, "expected INT (-2147483648 to 2147483647), got int 2147483648"),
    (Types.INT(), 1.5, "expected INT, got float 1.5"),
    (Types.INT(), math.nan, "expected INT, got float nan"),
    (Types.INT(), math.inf, "expected INT, got float inf"),
    (Types.INT(), "1", "expected INT, got str '1'"),
    (Types.LONG(), 2**63, "expected LONG (-9223372036854775808 to 9223372036854775807), got int 9223372036854775808"),
    (Types.FLOAT(), 1e300, "expected FLOAT (32 bits, up to about 3.4e38), got float 1e+300"),
    (Types.FLOAT(), "x", "expected FLOAT, got str 'x'"),
    (Types.DOUBLE(), "x", "expected DOUBLE, got str 'x'"),
    (Types.DOUBLE(), 1j, "expected DOUBLE, got complex 1j"),
    (Types.CHAR(), "xy", "expected CHAR, a text of one character, got str 'xy'"),
    (Types.CHAR(), 1, "expected CHAR, a text of one character, got int 1"),
    (Types.BIG_INT(), 1.5, "expected BIG_INT, got float 1.5"),
    (Types.BIG_DEC(), True, "expected BIG_DEC, got bool True"),
    (Types.BIG_DEC(), "x", "expected BIG_DEC, got str 'x'"),
    (Types.BIG_DEC(), [], "expected BIG_DEC, got list []"),
    (Types.INSTANT(), 1, "expected INSTANT, got int 1"),
    (Types.SQL_DATE(), "2020-01-02", "expected SQL_DATE, a datetime.date, got str '2020-01-02'"),
    (Types.SQL_TIME(), 1, "expected SQL_TIME, a datetime.time without time zone or in UTC, got int 1"),
    (
        Types.SQL_TIMESTAMP(),
        datetime.date(2020, 1, 2),
        "expected SQL_TIMESTAMP, a datetime.datetime without time zone or in UTC, got date datetime.date(2020, 1, 2)",
    ),
]


@pytest.mark.parametrize(("type_info", "value", "expected"), FITTING, ids=repr)
def test_value_takes_the_form_it_has_in_pyflink(type_info: TypeInformation, value: Any, expected: Any) -> None:
    converted = type_info.convert(value, "map 'clean'")
    assert converted == expected
    assert type(converted) is type(expected)


@pytest.mark.parametrize(("type_info", "value", "text"), MISFITS, ids=repr)
def test_value_that_does_not_fit_is_refused(type_info: TypeInformation, value: Any, text: str) -> None:
    with pytest.raises(InvalidTypeError) as caught:
        type_info.convert(value, "map 'clean'")
    assert str(caught.value) == f"map 'clean': {text}; change output_type or the function's return value"


@pytest.mark.parametrize("value", [datetime.datetime(2020, 1, 2, tzinfo=EAST), datetime.time(1, tzinfo=EAST)], ids=repr)
def test_time_of_another_zone_is_refused(value: Any) -> None:
    type_info = Types.SQL_TIME() if isinstance(value, datetime.time) else Types.SQL_TIMESTAMP()
    with pytest.raises(InvalidTypeError, match="without time zone or in UTC"):
        type_info.convert(value, "map 'clean'")


def test_number_too_large_for_64_bits_of_float_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match=r"expected DOUBLE \(64 bits, up to about 1.8e308\), got int"):
        Types.DOUBLE().convert(10**400, "map 'clean'")


def test_pickled_object_passes_as_it_is() -> None:
    value = object()
    assert Types.PICKLED_BYTE_ARRAY().convert(value, "map 'clean'") is value


def test_long_values_are_shortened_in_messages() -> None:
    with pytest.raises(InvalidTypeError) as caught:
        Types.INT().convert("x" * 10_000, "map 'clean'")
    assert len(str(caught.value)) < 250


def test_caller_can_give_other_advice() -> None:
    with pytest.raises(InvalidTypeError, match=r"^from_collection: expected INT, got str 'x'; change type_info$"):
        Types.INT().convert("x", "from_collection", advice="change type_info")


@given(st.integers(-(2**31), 2**31 - 1))
def test_whole_numbers_in_range_stay_as_they_are(number: int) -> None:
    assert Types.INT().convert(number, "map") == Types.LONG().convert(number, "map") == number


@given(st.floats(width=32))
def test_float_keeps_what_32_bits_hold(number: float) -> None:
    assert str(Types.FLOAT().convert(number, "map")) == str(number)


def test_older_spelling_makes_the_same_types() -> None:
    for kind in BasicType:
        assert getattr(BasicTypeInfo, f"{kind.name}_TYPE_INFO")() == getattr(Types, kind.name)()
    assert SqlTimeTypeInfo.DATE() == Types.SQL_DATE()
    assert SqlTimeTypeInfo.TIME() == Types.SQL_TIME()
    assert SqlTimeTypeInfo.TIMESTAMP() == Types.SQL_TIMESTAMP()


def test_basic_type_info_refuses_names() -> None:
    with pytest.raises(InvalidTypeError, match="expected a BasicType, got 'INT'; use Types"):
        BasicTypeInfo("INT")  # type: ignore[arg-type]
