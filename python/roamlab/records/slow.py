"""Slow periods of a flow: it gets less than half of its earlier rate, or of the rate sent.

docs/metrics.md defines them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.records.metrics import application, has_connection, total

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from roamlab.records.results import Results

    Times = NDArray[np.int64]

FLOOR_NS = 200_000_000
"""The shortest silence that can be a stall, and the shortest slow period."""
BEFORE = 5
"""The rate before is that of this number of limits."""
LEAST_PKTS = 4
"""A window that holds fewer packets at the rate before shows no rate."""


@dataclass(frozen=True)
class SlowPeriod:
    """A span in which a flow receives less than half of what it did before, in ns from the start of the run."""

    flow: str
    start_ns: int
    end_ns: int
    before_bps: float
    """The rate that it is measured by: that before the period, or the one at which datagrams are sent."""
    rate_bps: float
    """The rate in the period."""
    cut_off: bool
    """It lasts to the end of the run."""

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class _Course:
    """Bytes over time."""

    times: Times
    whole: NDArray[np.float64]
    """Bytes of the first 0, 1, 2, … packets."""

    @staticmethod
    def of(times: Times, sizes: NDArray[np.integer]) -> _Course:
        order = np.argsort(times, kind="stable")
        return _Course(
            times[order].astype(np.int64), np.concatenate([[0.0], np.cumsum(sizes[order], dtype=float)])
        )

    def until(self, at: Times) -> NDArray[np.float64]:
        """Bytes up to and including each time."""
        found: NDArray[np.float64] = self.whole[np.searchsorted(self.times, at, side="right")]
        return found

    def edges(self, limit: int) -> tuple[Times, Times]:
        """When each packet begins and ceases to be in a window of 2 `limit` around a time."""
        return self.times - limit, self.times + limit

    def rate(self, begin: Times, end: Times) -> NDArray[np.float64]:
        """Bytes per ns in each span (begin, end]."""
        found: NDArray[np.float64] = (self.until(end) - self.until(begin)) / np.maximum(1, end - begin)
        return found


def slow_periods(results: Results, flow: str) -> list[SlowPeriod]:
    """The slow periods of a file transfer or of a flow of datagrams, in order of time; of other flows none.

    Table `deliveries` must have been recorded, of datagrams `packets` too.
    """
    if not is_defined(results, flow):
        return []
    is_udp = not has_connection(results, flow)
    rows = results.columns("deliveries")
    fresh = rows.where("flow", flow) & rows["fresh"].astype(bool)
    times = rows["time_ns"][fresh].astype(np.int64)
    if times.size < LEAST_PKTS:
        return []
    delay = int((times - rows["sent_ns"][fresh].astype(np.int64)).min())
    limit = max(FLOOR_NS, 2 * delay)
    arrived = _Course.of(times, rows["bytes"][fresh])
    completed = int(total(results, flow, "completed_ns"))
    end = completed if completed >= 0 else results.manifest.outline.duration_ns
    sent = _sent(results, flow, delay) if is_udp else None
    return _periods(flow, arrived, sent, limit, end)


def slow_s(results: Results, flow: str) -> float:
    """Time of all slow periods, in s; NaN for a flow that has none by definition, never started, or has no records."""
    if not is_defined(results, flow) or total(results, flow, "start_ns") < 0:
        return math.nan
    return sum(each.length_ns for each in slow_periods(results, flow)) / 1e9


def is_defined(results: Results, flow: str) -> bool:
    """True if slow periods of a flow can be found: it is a file or of datagrams, and its records are there."""
    recorded = results.manifest.outline.recorded
    if has_connection(results, flow):
        return "deliveries" in recorded and application(results, flow).get("kind") == "ftp"
    return "deliveries" in recorded and "packets" in recorded


def _sent(results: Results, flow: str, delay: int) -> _Course:
    """Sent data, and when they would arrive without waiting."""
    packets = results.columns("packets")
    chosen = packets.where("flow", flow) & packets.where("event", "send") & packets.where("kind", "datagram")
    return _Course.of(packets["time_ns"][chosen].astype(np.int64) + delay, packets["wire_bytes"][chosen])


def _periods(flow: str, arrived: _Course, sent: _Course | None, limit: int, end: int) -> list[SlowPeriod]:
    """Where the rate in a window of 2 limits around a time is below half of the one before, for more than a limit.

    Of datagrams it is compared with the rate at which they are sent, in the same window.
    """
    courses = [arrived] if sent is None else [arrived, sent]
    base = courses[-1]
    if not base.times.size:
        return []
    begin, size = int(base.times[0]), base.whole[-1] / base.times.size
    edges = [each for course in courses for each in course.edges(limit)]
    at = np.unique(np.concatenate([*edges, [begin, end]]))
    at = at[(at >= begin) & (at <= end)]
    around = np.maximum(begin, at - limit), np.minimum(end, at + limit)
    now = arrived.rate(*around)
    if sent is None:
        before = arrived.rate(np.maximum(begin, at - BEFORE * limit), at)
        before[at - begin < limit] = 0.0
    else:
        before = sent.rate(*around)
    before[before * 2 * limit < LEAST_PKTS * size] = 0.0
    spans = _spans(at, now, before, fixed=sent is None)
    joined: list[tuple[int, int, float]] = []
    for start, stop, reference in spans:
        if joined and start - joined[-1][1] < limit:
            joined[-1] = (joined[-1][0], stop, joined[-1][2])
        else:
            joined.append((start, stop, reference))
    found = []
    for start, stop, reference in joined:
        if stop - start > limit:
            (rate,) = arrived.rate(np.array([start]), np.array([stop])).tolist()
            found.append(SlowPeriod(flow, start, stop, 8e9 * reference, 8e9 * rate, stop >= end))
    return found


def _spans(
    at: Times, now: NDArray[np.float64], before: NDArray[np.float64], *, fixed: bool
) -> list[tuple[int, int, float]]:
    """Spans in which `now` is below half of `before`; `fixed`: of the value of `before` where the span begins.

    The rate in a window is the same from one of the times to the next.
    """
    begins = np.flatnonzero(now < before / 2)
    found = []
    place = 0
    while (ahead := int(np.searchsorted(begins, place))) < begins.size:
        first = last = int(begins[ahead])
        while last + 1 < at.size and now[last] < (before[first] if fixed else before[last]) / 2:
            last += 1
        found.append((int(at[first]), int(at[last]), float(before[first])))
        place = max(last, first + 1)
    return found
