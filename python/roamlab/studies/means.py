"""Measures of studies: quantities, and their means over runs with 95 % intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.records import metrics
from roamlab.showing.page import Measured
from roamlab.statistics.stats import clipped, student

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.records.results import Results
    from roamlab.statistics.stats import Interval


def longest_silence_s(results: Results, flow: str, start: float, end: float) -> float:
    """The longest time without new data in a span; the first begins with the last data before it, if any came."""
    at = metrics.arrivals(results, flow)
    earlier = at[at < start]
    begin = earlier[-1] if earlier.size else start
    return float(np.diff(np.concatenate(([begin], at[(at >= start) & (at < end)], [end]))).max())


@dataclass(frozen=True)
class Quantity:
    """A measured number: under which name, what it is, and its unit."""

    name: str
    what: str
    unit: str
    least: float = 0.0
    """The smallest value that it can have."""
    most: float = math.inf
    """The largest one."""

    def mean(self, values: Sequence[float]) -> Interval:
        """Its mean in some runs, with the 95 % interval."""
        return clipped(student(values), self.least, self.most)

    def measured(self, values: Sequence[float]) -> Measured:
        """The same as a cell of a table."""
        return Measured(self.mean(values))

    def as_data(self, values: Sequence[float]) -> dict[str, Any]:
        """The same as data; one run alone has no interval."""
        return {
            "quantity": self.name,
            "what": self.what,
            "unit": self.unit,
            **interval_data("mean", self.mean(values)),
        }


def interval_data(name: str, found: Interval) -> dict[str, Any]:
    """An estimate as data, under this name, with its interval and its number of runs."""
    several = found.runs > 1
    return {
        name: found.effect,
        "interval": [found.low, found.high] if several else [None, None],
        "runs": found.runs,
    }
