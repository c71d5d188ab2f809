"""How near a twin is to its capture: bytes over time, timeouts, waits in queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.captures.twin_scenario import scenario
from roamlab.records import metrics
from roamlab.running.ensemble import Job, measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from roamlab.captures.path import FlowPath
    from roamlab.captures.twin import Setting
    from roamlab.records.results import Results

LEVELS = 400
"""Amounts of data at which times are compared."""
AROUND_S = 1.0
"""Distances within this time of a timeout are left out of the largest one."""
SLICE_S = 0.05
"""Waits are compared in slices of this length."""
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of waits that are shown."""
LEAST_STALL_S = 0.2
"""A stall is longer (docs/metrics.md)."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run. Times are in s from the first sending of data."""

    times: NDArray[np.float64]
    """Arrivals of new data."""
    amounts: NDArray[np.float64]
    """Bytes that had arrived by then."""
    timeouts: int
    goodput_bps: float
    stall_s: float
    """The longest time without new data; 0 if there is no stall."""
    waits: NDArray[np.float64]
    """How long each of these arrivals waited on the path."""


@dataclass(frozen=True)
class Nearness:
    """A twin against its capture."""

    median_s: float
    """The horizontal distance of bytes over time in the median."""
    largest_s: float
    """The largest one, outside of 1 s around timeouts."""
    mean_s: float
    goodput: float
    """Of the twin as a share of the capture's."""
    waits_s: float
    """The mean difference of the waits on the path in slices of 50 ms."""
    timeouts: int | None
    """The twin's less those of the capture; None: unknown there."""

    @property
    def score(self) -> float:
        """The less the nearer."""
        return self.mean_s + self.waits_s + 0.1 * abs(self.timeouts or 0) + abs(self.goodput - 1)


def run(settings: Sequence[Setting], end_s: float) -> list[Outcome]:
    """Runs of settings, in their order; `end_s`: goodput is that of the time up to it."""
    return measure(
        [Job(scenario(setting), setting.seed) for setting in settings],
        lambda _job, results: outcome(results, end_s),
        wanted=lambda _job: ["deliveries", "flows"],
    )


def outcome(results: Results, end_s: float, flow: str = "flow") -> Outcome:
    """The result of a flow of a run."""
    rows = results.columns("deliveries")
    chosen = metrics.rows_of_flow(rows, flow) & rows["fresh"].astype(bool)
    arrived = rows["time_ns"][chosen].astype(np.int64)
    sent = rows["sent_ns"][chosen].astype(np.int64)
    if arrived.size == 0:
        nothing = np.zeros(1)
        return Outcome(nothing, nothing, 0, 0.0, end_s, nothing)
    delays = (arrived - sent) / 1e9
    times = (arrived - sent.min()) / 1e9
    total = metrics.total(results, flow, "delivered_bytes")
    # A flow's mean payload, as for its goodput.
    amounts = total / metrics.total(results, flow, "delivered_pkts") * np.arange(1.0, arrived.size + 1)
    done = metrics.total(results, flow, "completed_ns") >= 0
    end = float(times[-1]) if done else end_s
    within = times <= end
    return Outcome(
        times,
        amounts,
        int(metrics.total(results, flow, "timeouts")),
        (total if done else float(amounts[within][-1]) if within.any() else 0.0) * 8 / end,
        longest_stall(times, None if done else end_s),
        delays - delays.min(),
    )


def longest_stall(times: NDArray[np.float64], end_s: float | None) -> float:
    """The longest time between arrivals, and up to the end if that is given; 0 if no stall is in it."""
    bounded = times if end_s is None else np.append(times[times <= end_s], end_s)
    longest = float(np.max(np.diff(bounded), initial=0.0))
    return longest if longest > LEAST_STALL_S else 0.0


def nearness(made: Outcome, path: FlowPath, until_s: float | None = None) -> Nearness:
    """A run against the capture; `until_s`: against the part before this time."""
    times, amounts = path.course[:, 0], path.course[:, 1]
    stop = path.end_s if until_s is None else until_s
    times, amounts = times[times <= stop], amounts[times <= stop]
    most = min(float(amounts[-1]), float(made.amounts[-1])) if times.size else 0.0
    levels = np.linspace(0.0, most, LEVELS + 1)[1:]
    captured = times[np.minimum(np.searchsorted(amounts, levels), times.size - 1)]
    twin = made.times[np.minimum(np.searchsorted(made.amounts, levels), made.times.size - 1)]
    apart = np.abs(twin - captured)
    calm = np.ones(levels.size, dtype=bool)
    for timeout in path.timeouts_s or ():
        calm &= np.abs(captured - timeout) > AROUND_S
    known = None if path.timeouts_s is None or until_s is not None else made.timeouts - len(path.timeouts_s)
    return Nearness(
        float(np.median(apart)),
        float(np.max(apart[calm], initial=0.0)),
        float(np.mean(apart)),
        1.0 if until_s is not None else made.goodput_bps / max(path.goodput_bps, 1.0),
        _waits_apart(made, path, stop),
        known,
    )


def _waits_apart(made: Outcome, path: FlowPath, stop: float) -> float:
    """The mean difference of the waits in the slices of time that both have."""
    slices = np.arange(0.0, max(stop, SLICE_S) + SLICE_S, SLICE_S)
    means = []
    for times, waits in ((path.waits[:, 0], path.waits[:, 1]), (made.times, made.waits)):
        counts, _ = np.histogram(times, slices)
        sums, _ = np.histogram(times, slices, weights=waits)
        means.append(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))
    apart = np.abs(means[0] - means[1])
    return float(np.nanmean(apart)) if np.isfinite(apart).any() else 0.0


def quantiles(waits: NDArray[np.float64]) -> list[float]:
    """The waits that `SHARES` of the packets do not exceed."""
    return [float(wait) for wait in np.quantile(waits, SHARES)] if waits.size else [0.0] * len(SHARES)
