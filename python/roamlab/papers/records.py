"""Data that the papers' measures read from a run's tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from roamlab.papers.stored import storable
from roamlab.records import metrics
from roamlab.records.metrics import seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from roamlab.records.results import Results

Take = TypeVar("Take", bound="Callable[..., Any]")

NS = 1e9

_READ: dict[Callable[..., Any], list[str]] = {}


def reads(**columns: str) -> Callable[[Take], Take]:
    """Data that a measure reads of a run: the columns of each table. A run that is made for it records nothing else."""

    def note(take: Take) -> Take:
        _READ[take] = [f"{table}.{column}" for table, of in columns.items() for column in of.split()]
        return take

    return note


def read_by(take: Callable[..., Any]) -> list[str]:
    """Data that a measure, or a partial of one, reads: columns as "table.column".

    Raises `TypeError` if it does not declare them.
    """
    while isinstance(take, partial):
        take = take.func
    if take not in _READ:
        raise TypeError(f"{take.__qualname__} does not declare what it reads: see `reads`")
    return _READ[take]


def forwarded(results: Results, host: str | None = None) -> NDArray[np.float64]:
    """When marked packets, all or those for `host`, left an old base station's buffer, in s."""
    rows = results.columns("releases")
    chosen = rows["forwarded"] if host is None else rows["forwarded"] & rows.where("host", host)
    return seconds(rows, chosen=chosen)


def total(results: Results, flow: str, column: str) -> int:
    """A total of a flow."""
    return int(metrics.total(results, flow, column))


@storable
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

    def spread(self, spans: Sequence[tuple[float, float]]) -> tuple[float, float]:
        """Mean and standard deviation of the queue over the time in `spans`; 0 and 0 if it never changes there."""
        lengths, lasts = [], []
        for start, end in spans:
            part = self.within(start, end)
            lengths.append(part.packets[:-1])
            lasts.append(np.diff(part.times))
        packets, weights = np.concatenate(lengths), np.concatenate(lasts)
        if not weights.sum():
            return 0.0, 0.0
        mean = float(np.average(packets, weights=weights))
        return mean, math.sqrt(float(np.average((packets - mean) ** 2, weights=weights)))


@reads(queue="time_ns queue packets average probability forwarded")
def queue_trace(results: Results, queue: str, start: float = -math.inf, end: float = math.inf) -> QueueTrace:
    """The changes of a recorded queue in [start, end) s. Raises `BadInput` if the run has no samples of it."""
    samples = results.columns("queue")
    own = np.flatnonzero(samples.where("queue", queue))
    if not own.size:
        results.queue(queue)  # reports what there is
    times = seconds(samples, chosen=own)
    within = slice(*np.searchsorted(times, (start, end)))
    columns = (samples[name][own[within]] for name in ("packets", "average", "probability", "forwarded"))
    return QueueTrace(times[within], *(values.astype(np.float64) for values in columns))
