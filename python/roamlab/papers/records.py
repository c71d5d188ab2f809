"""What the papers' measures read from a run's tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from roamlab.records import metrics
from roamlab.records.metrics import seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from roamlab.records.results import Results

NS = 1e9


def forwarded(results: Results) -> pl.DataFrame:
    """Packets that left an old base station's buffer, marked."""
    return results.table("releases").filter(pl.col("forwarded"))


def total(results: Results, flow: str, column: str) -> int:
    """A total of a flow."""
    return int(metrics.total(results, flow, column))


@dataclass(frozen=True)
class QueueTrace:
    """A queue over time: step functions."""

    times: NDArray[np.float64]
    packets: NDArray[np.float64]
    average: NDArray[np.float64]
    probability: NDArray[np.float64]
    forwarded: NDArray[np.float64]
    """Priority packets among those that wait."""

    def within(self, start: float, end: float) -> QueueTrace:
        """The changes in [start, end) s."""
        chosen = slice(*np.searchsorted(self.times, (start, end)))
        return QueueTrace(
            self.times[chosen],
            self.packets[chosen],
            self.average[chosen],
            self.probability[chosen],
            self.forwarded[chosen],
        )

    def share_at_or_above(self, level: float, spans: Sequence[tuple[float, float]]) -> float:
        """Share of the time in `spans` in which at least `level` packets wait."""
        above = total = 0.0
        for start, end in spans:
            part = self.within(start, end)
            if len(part.times) < 2:
                continue
            lasts = np.diff(part.times)
            above += float(lasts[part.packets[:-1] >= level].sum())
            total += float(lasts.sum())
        return above / total if total else 0.0


def queue_trace(results: Results, queue: str) -> QueueTrace:
    """A recorded queue."""
    samples = results.queue(queue)
    names = ("packets", "average", "probability", "forwarded")
    return QueueTrace(seconds(samples), *(samples[name].to_numpy().astype(np.float64) for name in names))
