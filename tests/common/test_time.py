import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.common.time import Duration, Instant, Time
from tidegate.core.time import duration
from tidegate.errors import InvalidTypeError, InvalidValueError


@given(st.integers(-(2**63), 2**63 - 1))
def test_milliseconds_survive_an_instant(millis: int) -> None:
    instant = Instant.of_epoch_milli(millis)
    assert instant.to_epoch_milli() == millis
    assert 0 <= instant.nanos < 1_000_000_000


def test_instant_rounds_down_to_milliseconds() -> None:
    assert Instant(-1, 999_999).to_epoch_milli() == -1000
    assert Instant(1, 999_999).to_epoch_milli() == 1000


def test_instants_are_equal_ordered_and_hashable() -> None:
    assert Instant(1, 2) == Instant(1, 2)
    assert len({Instant(1, 2), Instant(1, 2)}) == 1
    assert Instant(1, 999) < Instant(2, 0)


def test_instant_prints_as_in_pyflink() -> None:
    assert repr(Instant(1, 2)) == str(Instant(1, 2)) == "Instant<1, 2>"


@pytest.mark.parametrize("nanos", [-1, 1_000_000_000])
def test_nanos_stay_within_a_second(nanos: int) -> None:
    with pytest.raises(InvalidValueError, match=r"nanos must be 0 to 999999999, got .*; carry the rest"):
        Instant(1, nanos)


def test_instant_takes_integers_only() -> None:
    with pytest.raises(InvalidTypeError, match=r"Instant: seconds must be an integer, got float 1.5"):
        Instant(1.5, 0)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="Instant: nanos must be an integer, got bool True"):
        Instant(1, True)
    with pytest.raises(InvalidTypeError, match=r"of_epoch_milli: expected integer milliseconds, got 1.5"):
        Instant.of_epoch_milli(1.5)  # type: ignore[arg-type]


def test_spans_are_those_of_the_core() -> None:
    assert Duration is duration.Duration
    assert Time is duration.Time
