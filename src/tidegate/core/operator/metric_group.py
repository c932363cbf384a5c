"""What an operator counts and measures about itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any


class Counter:
    """A number that goes up, and down if need be."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def inc(self, n: int = 1) -> None:
        self.count += n

    def dec(self, n: int = 1) -> None:
        self.count -= n

    def get_count(self) -> int:
        return self.count


class Meter(Counter):
    """Counts events; a runtime derives the rate."""

    def mark_event(self, value: int = 1) -> None:
        self.inc(value)


class Distribution:
    """The spread of reported values."""

    __slots__ = ("count", "highest", "lowest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.lowest: int | None = None
        self.highest: int | None = None

    def update(self, value: int) -> None:
        self.count += 1
        self.total += value
        self.lowest = value if self.lowest is None else min(self.lowest, value)
        self.highest = value if self.highest is None else max(self.highest, value)


class MetricGroup:
    """The metrics of one operator subtask, by name; groups within it prefix their names."""

    def __init__(self, prefix: str = "", metrics: dict[str, Any] | None = None) -> None:
        self._prefix = prefix
        self._metrics: dict[str, Any] = {} if metrics is None else metrics

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        return MetricGroup(f"{self._prefix}{name}." + (f"{extra}." if extra else ""), self._metrics)

    def counter(self, name: str) -> Counter:
        counter: Counter = self._metrics.setdefault(self._prefix + name, Counter())
        return counter

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        self._metrics[self._prefix + name] = obj

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        meter: Meter = self._metrics.setdefault(self._prefix + name, Meter())
        return meter

    def distribution(self, name: str) -> Distribution:
        distribution: Distribution = self._metrics.setdefault(self._prefix + name, Distribution())
        return distribution

    def counts(self) -> dict[str, int]:
        """The counters, to be saved."""
        return {name: metric.count for name, metric in self._metrics.items() if isinstance(metric, Counter)}

    def restore(self, counts: Mapping[str, int]) -> None:
        """Go on counting from saved counters."""
        for name, count in counts.items():
            self._metrics.setdefault(name, Counter()).count = count

    def values(self) -> dict[str, int]:
        """Every counter and gauge by name, as it stands."""
        found: dict[str, int] = {}
        for name, metric in self._metrics.items():
            if isinstance(metric, Counter):
                found[name] = metric.count
            elif isinstance(metric, Distribution):
                found[f"{name}.count"] = metric.count
            else:
                found[name] = metric()
        return found


def combined_values(groups: Iterable[tuple[str, MetricGroup]]) -> dict[str, dict[str, int]]:
    """The metrics of the instances of operators, by operator: numbers add up, of watermarks it is the lowest."""
    found: dict[str, dict[str, int]] = {}
    for uid, group in groups:
        values = found.setdefault(uid, {})
        for name, value in group.values().items():
            if name.startswith("channel/"):
                values[name] = value
            elif name.endswith("_watermark"):
                values[name] = min(values.get(name, value), value)
            else:
                values[name] = values.get(name, 0) + value
    return found
