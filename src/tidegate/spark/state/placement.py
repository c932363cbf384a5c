"""Which grouping keys Spark puts on which state partition.

Spark sends a row to partition `pmod(murmur3(key), partitions)`. Subtasks are given such keys that every partition
gets exactly one.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SEED = 42


def group_keys(partitions: int) -> tuple[int, ...]:
    """The grouping key of each subtask: the smallest that Spark puts on the partition of the same number.

    >>> [spark_partition(key, 4) for key in group_keys(4)]
    [0, 1, 2, 3]
    """
    keys: dict[int, int] = {}
    candidate = 0
    while len(keys) < partitions:
        keys.setdefault(spark_partition(candidate, partitions), candidate)
        candidate += 1
    return tuple(keys[index] for index in range(partitions))


def spark_partition(key: int, partitions: int) -> int:
    """The partition of an integer key, as Spark's hash partitioning has it."""
    value = _murmur3(key & _MASK)
    signed = value - (1 << 32) if value & 0x80000000 else value
    return signed % partitions


def _murmur3(word: int) -> int:
    """Murmur3 (x86, 32 bits) of one integer, with the seed that Spark uses."""
    word = (word * 0xCC9E2D51) & _MASK
    word = _rotated(word, 15)
    word = (word * 0x1B873593) & _MASK
    mixed = _SEED ^ word
    mixed = _rotated(mixed, 13)
    mixed = (mixed * 5 + 0xE6546B64) & _MASK
    mixed ^= 4
    mixed ^= mixed >> 16
    mixed = (mixed * 0x85EBCA6B) & _MASK
    mixed ^= mixed >> 13
    mixed = (mixed * 0xC2B2AE35) & _MASK
    return mixed ^ (mixed >> 16)


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK
