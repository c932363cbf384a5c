"""Which grouping keys Spark puts on which state partition.

Spark sends a row to partition `pmod(murmur3(key), partitions)`. A subtask is given the key whose hash is its number: so
among as many partitions as there are subtasks each has one, and with another parallelism a subtask keeps its key.
"""

from __future__ import annotations

from typing import Final

_MASK: Final = 0xFFFFFFFF
_SEED: Final = 42
_FACTORS: Final = (0xCC9E2D51, 0x1B873593, 5, 0x85EBCA6B, 0xC2B2AE35)
_INVERSES: Final = tuple(pow(factor, -1, 1 << 32) for factor in _FACTORS)


def group_keys(count: int) -> tuple[int, ...]:
    """The grouping keys of so many subtasks.

    >>> [spark_partition(key, 4) for key in group_keys(8)]
    [0, 1, 2, 3, 0, 1, 2, 3]
    """
    return tuple(_signed(_inverse_murmur3(subtask)) for subtask in range(count))


def spark_partition(key: int, partitions: int) -> int:
    """The partition of an integer key, as Spark's hash partitioning has it."""
    return _signed(_murmur3(key & _MASK)) % partitions


def _signed(word: int) -> int:
    return word - (1 << 32) if word & 0x80000000 else word


def _murmur3(word: int) -> int:
    """Murmur3 (x86, 32 bits) of one integer, with the seed that Spark uses."""
    first, second, five, third, fourth = _FACTORS
    word = (word * first) & _MASK
    word = _rotated(word, 15)
    word = (word * second) & _MASK
    mixed = _SEED ^ word
    mixed = _rotated(mixed, 13)
    mixed = (mixed * five + 0xE6546B64) & _MASK
    mixed ^= 4
    mixed ^= mixed >> 16
    mixed = (mixed * third) & _MASK
    mixed ^= mixed >> 13
    mixed = (mixed * fourth) & _MASK
    return mixed ^ (mixed >> 16)


def _inverse_murmur3(value: int) -> int:
    """The integer with that hash: every step of the hash can be undone."""
    first, second, five, third, fourth = _INVERSES
    mixed = value ^ (value >> 16)
    mixed = (mixed * fourth) & _MASK
    mixed ^= (mixed >> 13) ^ (mixed >> 26)
    mixed = (mixed * third) & _MASK
    mixed ^= mixed >> 16
    mixed ^= 4
    mixed = ((mixed - 0xE6546B64) * five) & _MASK
    word = _rotated(mixed, 32 - 13) ^ _SEED
    word = (word * second) & _MASK
    word = _rotated(word, 32 - 15)
    return (word * first) & _MASK


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK
