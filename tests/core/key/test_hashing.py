from __future__ import annotations

import dataclasses
import datetime
import decimal
import fractions
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

from tidegate.core.key.hashing import stable_hash
from tidegate.core.key.key_groups import KeyGroups


class Place(NamedTuple):
    city: str
    number: int


@dataclasses.dataclass(frozen=True)
class Customer:
    name: str
    note: str = dataclasses.field(default="", compare=False)


class Known:
    def __stable_hash__(self) -> Any:
        return ("known", 1)


KEYS: list[Any] = [
    "",
    "a",
    "ä",
    "\ud800",
    0,
    -1,
    2**80,
    1.5,
    float("inf"),
    float("nan"),
    decimal.Decimal("1.5"),
    None,
    b"a",
    ("a", 1),
    ((), ("a",)),
    frozenset({"a", "b", "c"}),
    datetime.date(2024, 1, 2),
    datetime.datetime(2024, 1, 2, 3, 4),
    datetime.time(1, 2),
    datetime.timedelta(seconds=1),
    Place("x", 1),
    Customer("x"),
    Known(),
    fractions.Fraction(1, 3),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_a_hash_is_an_unsigned_number_of_32_bits(key: Any) -> None:
    assert 0 <= stable_hash(key) < 2**32


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (1, True),
        (1, decimal.Decimal(1)),
        (1.5, decimal.Decimal("1.5")),
        (10**30, decimal.Decimal("1E+30")),
        (float("inf"), decimal.Decimal("Infinity")),
        (5, np.int64(5)),
        (True, np.bool_(True)),
        (("a", 5), ("a", np.int32(5))),
        ("a", np.str_("a")),
        (2.5, np.float64(2.5)),
        ((1, "a"), (1.0, "a")),
        (("x", 1), Place("x", 1)),
        (frozenset("ab"), frozenset("ba")),
        (Customer("x", "one"), Customer("x", "two")),
    ],
    ids=repr,
)
def test_equal_keys_hash_equally(left: Any, right: Any) -> None:
    assert left == right
    assert stable_hash(left) == stable_hash(right)


def test_other_keys_hash_otherwise() -> None:
    hashes = {stable_hash(key) for key in ("a", "b", 1, 2, ("a",), ("b",), None, b"a", 1.5, Customer("x"), Known())}
    assert len(hashes) == 11


def test_the_hash_is_the_same_in_every_process() -> None:
    keys = ["a", 7, ("a", 1.5), None, frozenset({"a", "b"})]
    script = f"from tidegate.core.key.hashing import stable_hash; print([stable_hash(k) for k in {keys!r}])"
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == str([stable_hash(key) for key in keys])


def test_the_hash_does_not_change_with_versions() -> None:
    assert [stable_hash(key) for key in ("a", 1, ("a", 1), None)] == [3904355907, 2844319735, 1111592267, 2013832146]


@pytest.mark.parametrize("parallelism", [1, 2, 7])
def test_keys_are_spread_over_all_subtasks(parallelism: int) -> None:
    assert {KeyGroups(128, parallelism).subtask_of(f"key {n}") for n in range(100)} == set(range(parallelism))
