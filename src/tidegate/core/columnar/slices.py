"""Slices: time cut at every start and end of tumbling or sliding windows, so that windows share what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from tidegate.core.window.windows import TimeWindow

Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Slices:
    """The slices of windows of one size that start every slide. A tumbling window is one slice.

    >>> slices = Slices(size=60, slide=25)
    >>> slices.starts(np.array([0, 9, 10, 24, 25])).tolist()
    [0, 0, 10, 10, 25]
    >>> list(slices.windows(10))
    [TimeWindow(start=0, end=60), TimeWindow(start=-25, end=35)]
    """

    size: int
    slide: int
    offset: int = 0

    @staticmethod
    def of(assigner: Any) -> Slices:
        """The slices of a tumbling or sliding assigner."""
        return Slices(assigner.size, getattr(assigner, "slide", assigner.size), assigner.offset)

    def starts(self, timestamps: Times) -> Times:
        """The start of the slice of each timestamp."""
        # Dividing by one number is much faster than taking the rest.
        starts = (timestamps - self.offset) // self.slide * self.slide + self.offset
        cut = self.size % self.slide
        return starts + np.where(timestamps - starts >= cut, cut, 0) if cut else starts

    @property
    def step(self) -> int:
        """Starts of slices are multiples of this apart."""
        return gcd(self.slide, self.size)

    def windows(self, start: int) -> Iterator[TimeWindow]:
        """The windows that hold a slice, the latest first; none if it lies in a gap between windows."""
        window = start - (start - self.offset) % self.slide
        while window + self.size > start:
            yield TimeWindow(window, window + self.size)
            window -= self.slide
