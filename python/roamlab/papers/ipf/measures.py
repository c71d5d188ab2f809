"""Measures of each run. Everything comes from the run's tables."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.ipf.experiments import (
    AIR,
    BURST_S,
    LIMIT_PKTS,
    NEW,
    PLAN_RTTS_MS,
    PLAN_SPAN_S,
    QUEUE_WEIGHT,
    SPAN_S,
    VISITS,
)
from roamlab.papers.records import QueueTrace, forwarded, queue_trace, reads, total
from roamlab.papers.stored import storable
from roamlab.records.metrics import REDUCTIONS, arrivals, jain, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from roamlab.records.results import Results

SEGMENT_BITS = 512 * 8

COLLAPSE_S = (10.5, 12.0)
"""Fig. 9, "around 11 sec": the average has a memory of 500 arrivals, about 1 s, and a round trip passes until a loss
is felt."""

JUMP_S = 0.5
"""A jump of the queue is looked for this long: a burst of a window is through in 0.2 s, what follows it in 0.3 s."""

AFTERMATH_S = 3.0
"""How long after the last priority packet has left (point B of fig. 11) the queue is looked at."""

SERVED_S = 10.0
"""Fig. 14: throughput is averaged over this long after a handoff."""

WINDOW_S = 1.0
"""Figs. 14, 16 and 17: throughput over time is averaged over windows this long."""

DEVIATION_WINDOWS_S = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0)
"""Figs. 16 and 17: windows over which the deviation of the throughput over time is taken."""

ROUND_TRIP_S = 0.088 + LIMIT_PKTS * SEGMENT_BITS / 2e6
"""A round trip of 88 ms and a full queue: within it, a flow learns of a loss."""

QUIET_S = 5.0
"""Forwarded packets that follow a silence this long begin a burst."""


def utilisation(results: Results, span_s: float) -> float:
    """Share of the time in which the new base station's downlink sends."""
    return min(1.0, of_air(results, "busy_ns") / (span_s * 1e9))


def of_air(results: Results, column: str) -> int:
    """A total of that downlink."""
    links = results.columns("links")
    return int(links[column][links.where("link", AIR)].item())


def first_forwarded(results: Results, host: str, after: float) -> float:
    """When the first packet that is forwarded for `host` after `after` s leaves the old base station, in s."""
    times = forwarded(results, host)
    later = times[times >= after]
    return float(later[0]) if later.size else after


@storable
@dataclass(frozen=True)
class Point:
    """A run of figs. 12 and 13."""

    utilisation: float
    priority: int
    """Priority packets that arrived at the new base station."""
    priority_lost: int
    lost: int
    """All packets lost there."""
    timeouts: int
    """Of all connections."""


@reads(drops="place forwarded", flows="timeouts", links="link forwarded_pkts busy_ns")
def point(results: Results) -> Point:
    """Measures a run of 200 s."""
    drops = results.columns("drops")
    lost = drops.where("place", AIR)
    return Point(
        utilisation=utilisation(results, SPAN_S),
        priority=of_air(results, "forwarded_pkts"),
        priority_lost=int(np.count_nonzero(lost & drops["forwarded"])),
        lost=int(np.count_nonzero(lost)),
        timeouts=int(results.columns("flows")["timeouts"].sum()),
    )


@storable
@dataclass(frozen=True)
class Arrival:
    """A run of fig. 9."""

    peak_average: float
    lowest: float
    """The shortest queue in `COLLAPSE_S`."""


@reads(queue="time_ns queue packets average probability forwarded")
def arrival(results: Results) -> Arrival:
    """Measures a run with something new at 10 s."""
    trace = queue_trace(results, AIR)
    return Arrival(
        peak_average=float(trace.within(BURST_S, COLLAPSE_S[1]).average.max()),
        lowest=float(trace.within(*COLLAPSE_S).packets.min()),
    )


@storable
@dataclass(frozen=True)
class Standard:
    """A run of the paper's standard case, five hosts with five visits: figs. 10, 11 and 14."""

    point: Point
    jump: float
    """Mean rise of the queue within `JUMP_S` of a handoff."""
    calm_jump: float
    """The same half way between handoffs."""
    peak_average: float
    """Highest average from the first host's fifth visit to `AFTERMATH_S` after its priority packets have left."""
    before: float
    """Mean queue while they wait (from A to B of fig. 11)."""
    after: float
    """Mean queue in the `AFTERMATH_S` after B."""
    lowest_after: float
    lowest: float
    """Shortest queue from the first handoff on."""
    highest_average: float
    """Over the whole run."""
    residents_after_bps: tuple[float, ...]
    """Throughput of each resident in the `SERVED_S` after each of the first host's handoffs."""
    residents_bps: float
    """Mean throughput of a resident over the whole run."""
    moving_bps: float
    """Mean throughput of a moving host in the `SERVED_S` after its handoffs."""
    fairness: float
    """Jain's index of what each connection has in the `SERVED_S` after its handoffs; for residents the first host's."""
    resident_period_s: float
    """How long after a handoff at least half of the residents back off together: see `period`."""
    moving_period_s: float
    """The same of the moving hosts."""
    resident_curve: tuple[float, ...]
    """Mean throughput of a resident in windows around the fifth visit, in kbit/s."""
    moving_curve: tuple[float, ...]


AROUND_S = np.arange(-5.0, 15.0, WINDOW_S)
"""Windows of fig. 14, from the fifth handoff on."""


@reads(
    deliveries="time_ns flow fresh",
    drops="place forwarded",
    flows="flow timeouts",
    links="link forwarded_pkts busy_ns",
    queue="time_ns queue packets average probability forwarded",
    releases="time_ns host forwarded",
    tcp="time_ns flow event",
)
def standard(results: Results, visits: Sequence[Sequence[float]]) -> Standard:
    """Measures a run of the standard case: host n arrives in the cell at the instants `visits[n]`."""
    trace = queue_trace(results, AIR)
    first, moves = visits[0], sorted({at for of_host in visits for at in of_host})
    fifth = first[VISITS - 1]
    begins = first_forwarded(results, "mh1", fifth)
    ends = begins + priority_time(trace, begins)
    apart = float(np.diff(moves).min())
    after = trace.within(ends, ends + AFTERMATH_S)
    flows = results.columns("flows")
    names = sorted(flows.words("flow"))
    residents = {name: arrivals(results, name) for name in names if name.startswith("resident")}
    moving = {name: arrivals(results, name) for name in names if name.startswith("moving")}
    by_host = list(zip(moving.values(), visits, strict=True))
    of_residents = tuple(_served(times, first) for times in residents.values())
    of_moving = tuple(_served(times, of_host) for times, of_host in by_host)
    return Standard(
        point=point(results),
        jump=float(np.mean([jump(trace, at) for at in moves])),
        calm_jump=float(np.mean([jump(trace, at + apart / 2) for at in moves])),
        peak_average=float(trace.within(fifth, ends + AFTERMATH_S).average.max()),
        before=mean_length(trace, begins, ends),
        after=mean_length(trace, ends, ends + AFTERMATH_S),
        lowest_after=float(after.packets.min()),
        lowest=float(trace.within(moves[0], SPAN_S).packets.min()),
        highest_average=float(trace.average.max()),
        residents_after_bps=of_residents,
        residents_bps=float(np.mean([times.size for times in residents.values()])) * SEGMENT_BITS / SPAN_S,
        moving_bps=float(np.mean(of_moving)),
        fairness=jain([*of_residents, *of_moving]),
        resident_period_s=period(results, list(residents), first),
        moving_period_s=period(results, list(moving), first),
        resident_curve=_mean_curve([curve(times, fifth + AROUND_S) for times in residents.values()]),
        moving_curve=_mean_curve(
            [curve(times, of_host[VISITS - 1] + AROUND_S) for times, of_host in by_host]
        ),
    )


def _served(times: NDArray[np.float64], handoffs: Sequence[float]) -> float:
    return float(np.mean([throughput(times, at, at + SERVED_S) for at in handoffs]))


def _mean_curve(curves: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(float(each) for each in np.mean(curves, axis=0))


def cuts(results: Results, flows: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.uint32]]:
    """When any of `flows` cut its window, in s, and which one did: a fast retransmit or a timeout."""
    rows = results.columns("tcp")
    chosen = np.flatnonzero(rows.where("event", *REDUCTIONS) & rows.where("flow", *flows))
    return seconds(rows, chosen=chosen), rows["flow"][chosen]


def period(results: Results, flows: Sequence[str], handoffs: Sequence[float]) -> float:
    """How long after a handoff at least half of `flows` back off together, in s: the mean over `handoffs`.

    They do while at least half of them have cut their windows within the last round trip with a full queue. The
    `SERVED_S` after a handoff are looked at.
    """
    times, names = cuts(results, flows)
    # How many flows have just cut changes where one cuts, and a round trip later.
    edges = np.unique(np.concatenate([times, times + ROUND_TRIP_S]))
    last = np.searchsorted(times, edges, side="right")
    first = np.searchsorted(times, edges - ROUND_TRIP_S, side="right")
    together = np.array(
        [2 * len(np.unique(names[since:to])) >= len(flows) for since, to in zip(first, last, strict=True)],
        dtype=bool,
    )
    total = 0.0
    for at in handoffs:
        ends = np.clip(edges, at, at + SERVED_S)
        total += float(np.diff(ends)[together[:-1]].sum())
    return total / len(handoffs)


def priority_time(trace: QueueTrace, begins: float) -> float:
    """How long marked packets wait from `begins` on, in s: from A to B of fig. 11."""
    part = trace.within(begins, begins + 2.0)
    waiting = np.flatnonzero(part.forwarded > 0)
    return float(part.times[waiting[-1]] - begins) if waiting.size else 0.0


def jump(trace: QueueTrace, at: float) -> float:
    """How far the queue rises above its length at `at` within `JUMP_S`."""
    part = trace.within(at, at + JUMP_S)
    return float(part.packets.max() - part.packets[0]) if part.packets.size else 0.0


def mean_length(trace: QueueTrace, start: float, end: float) -> float:
    """Mean queue in [start, end), weighted by time."""
    part = trace.within(start, end)
    if part.times.size < 2:
        return float(part.packets.mean()) if part.packets.size else 0.0
    lasts = np.diff(part.times)
    return float(np.average(part.packets[:-1], weights=lasts))


def throughput(times: NDArray[np.float64], start: float, end: float) -> float:
    """Payload delivered for the first time in [start, end), in bit/s."""
    count = np.searchsorted(times, end) - np.searchsorted(times, start)
    return float(count) * SEGMENT_BITS / (end - start)


def curve(times: NDArray[np.float64], starts: NDArray[np.float64]) -> tuple[float, ...]:
    """Throughput in the windows that begin at `starts`, in kbit/s."""
    counts = np.searchsorted(times, starts + WINDOW_S) - np.searchsorted(times, starts)
    return tuple(counts * SEGMENT_BITS / WINDOW_S / 1e3)


@storable
@dataclass(frozen=True)
class Planned:
    """A run of figs. 15 to 17: the throughput of the connections that were there already, the residents."""

    means_bps: tuple[float, ...]
    """Of each resident, from the first handoff on."""
    deviations_bps: tuple[tuple[float, ...], ...]
    """Of each resident: standard deviation over time, from the first handoff on, for each of `DEVIATION_WINDOWS_S`."""
    curve: tuple[float, ...]
    """Mean of the residents in kbit/s, window by window over the whole run."""
    lost: int
    """Packets lost at the new base station."""
    lost_at_arrivals: int
    """Of these within `JUMP_S` plus a second of a handoff into the cell."""


@reads(deliveries="time_ns flow fresh", drops="time_ns place", flows="flow")
def planned(results: Results, moves: Sequence[float], span_s: float = PLAN_SPAN_S) -> Planned:
    """Measures the first `span_s` of a run with handoffs into the cell at `moves`."""
    names = sorted(name for name in results.columns("flows").words("flow") if name.startswith("resident"))
    residents = [arrivals(results, name) for name in names]
    drops = results.columns("drops")
    lost = seconds(drops, chosen=drops.where("place", AIR))
    soon = np.zeros(lost.shape, dtype=bool)
    for at in moves:
        soon |= (lost >= at) & (lost < at + JUMP_S + 1.0)
    start = min(moves)
    return Planned(
        means_bps=tuple(throughput(times, start, span_s) for times in residents),
        deviations_bps=tuple(
            tuple(deviation(times, start, span_s, window) for window in DEVIATION_WINDOWS_S)
            for times in residents
        ),
        curve=_mean_curve([curve(times, np.arange(0.0, span_s, WINDOW_S)) for times in residents]),
        lost=lost.size,
        lost_at_arrivals=int(soon.sum()),
    )


def deviation(times: NDArray[np.float64], start: float, end: float, window_s: float) -> float:
    """Standard deviation of the throughput over the whole windows from `start` to `end`, in bit/s."""
    edges = np.arange(start, end + 1e-9, window_s)
    return float(np.diff(np.searchsorted(times, edges)).std()) * SEGMENT_BITS / window_s


@storable
@dataclass(frozen=True)
class Schedule:
    """A run of fig. 15: what it did, host by host."""

    arrivals_s: tuple[tuple[float, ...], ...]
    """When the host's link to the new cell came up."""
    bursts_s: tuple[tuple[float, ...], ...]
    """When forwarded packets for it began to leave the old base station."""


@reads(handovers="time_ns host visit phase", releases="time_ns host node forwarded")
def schedule(results: Results) -> Schedule:
    """Measures a run of the plan. A host's visits go to the old cell and the new one in turn."""
    handovers, releases = results.columns("handovers"), results.columns("releases")

    def arrivals_of(host: str) -> tuple[float, ...]:
        chosen = handovers.where("host", host) & handovers.where("phase", "link-up")
        return tuple(map(float, seconds(handovers, chosen=chosen & (handovers["visit"] % 2 == 1))))

    def bursts_of(host: str) -> tuple[float, ...]:
        chosen = releases.where("host", host) & ~releases.where("node", NEW) & releases["forwarded"]
        times = seconds(releases, chosen=chosen)
        return tuple(map(float, times[np.diff(times, prepend=-np.inf) > QUIET_S]))

    hosts = [f"mh{at}" for at in range(1, len(PLAN_RTTS_MS) + 1)]
    return Schedule(tuple(map(arrivals_of, hosts)), tuple(map(bursts_of, hosts)))


@storable
@dataclass(frozen=True)
class Average:
    """Effect of priority packets on avg_q_np in a run of M-RED."""

    priority_arrivals: int
    priority_changes: int
    """Of these arrivals, those at which avg_q_np changed."""
    ordinary_arrivals: int
    """Of other packets, while priority packets waited."""
    ordinary_errors: int
    """Of these, those at which avg_q_np did not become the mean of itself and q_size_np with w_q as weight."""


def average(trace: QueueTrace) -> Average:
    """Follows avg_q_np from change to change of the queue."""
    others = trace.packets - trace.forwarded
    came, other_came = np.diff(trace.forwarded) > 0, np.diff(others) > 0
    before, after = trace.average[:-1], trace.average[1:]
    beside = other_came & (trace.forwarded[:-1] > 0)
    due = before + QUEUE_WEIGHT * (others[:-1] - before)
    return Average(
        priority_arrivals=int(np.count_nonzero(came)),
        priority_changes=int(np.count_nonzero(came & (after != before))),
        ordinary_arrivals=int(np.count_nonzero(beside)),
        ordinary_errors=int(np.count_nonzero(beside & (np.abs(after - due) > 1e-6))),
    )


@storable
@dataclass(frozen=True)
class Transfer:
    """A run of section II-A."""

    duplicates: int
    unnecessary: int
    """Fast retransmits of segments of which no copy was lost."""
    released: int
    """Packets that the old base station forwarded."""


@reads(flows="flow duplicate_pkts", releases="serial", tcp="event cause_serial")
def transfer(results: Results) -> Transfer:
    """Measures a run with one transfer alone."""
    tcp = results.columns("tcp")
    return Transfer(
        duplicates=total(results, "moving1", "duplicate_pkts"),
        unnecessary=int(np.count_nonzero(tcp.where("event", "fast-retransmit") & (tcp["cause_serial"] == 0))),
        released=len(results.columns("releases")["serial"]),
    )


@storable
@dataclass(frozen=True)
class Spoofed:
    """A run in which a correspondent marks its own packets."""

    forwarded_on_air: int
    """Priority packets that arrived at the new base station."""
    policed: int
    """Marks that were policed."""
    policed_elsewhere: int
    """Of these anywhere but at the agent of the cell."""
    delivered: int
    """Segments of the spoofing flow that arrived."""


@reads(flows="flow delivered_pkts", links="link forwarded_pkts", policing="node")
def spoofed(results: Results) -> Spoofed:
    """Measures a run with a spoofing sender."""
    policed = results.columns("policing")
    return Spoofed(
        forwarded_on_air=of_air(results, "forwarded_pkts"),
        policed=policed.height,
        policed_elsewhere=int(np.count_nonzero(~policed.where("node", "fa2"))),
        delivered=total(results, "resident1", "delivered_pkts"),
    )


_COMPARED = {
    "drops": "time_ns place reason flow seq serial forwarded",
    "queue": "time_ns queue packets bytes average probability forwarded",
    "flows": "flow sent_pkts retransmitted_pkts delivered_pkts dropped_pkts timeouts fast_retransmits finish_ns",
}
_WORDS = {"place", "reason", "flow", "queue"}
"""Columns of names, whose codes may differ between runs."""


@reads(**_COMPARED)
def fingerprint(results: Results) -> dict[str, str]:
    """A hash of each table of a run that two queues are compared by: drops, queue samples and totals of flows."""
    found = {}
    for table, names in _COMPARED.items():
        columns, digest = results.columns(table), hashlib.sha256()
        for name in names.split():
            text = name in _WORDS
            digest.update("\n".join(columns.words(name)).encode() if text else columns[name].tobytes())
        found[table] = digest.hexdigest()
    return found


def differences(left: dict[str, str], right: dict[str, str]) -> int:
    """Tables that differ between two runs, of `fingerprint`'s."""
    return sum(left[name] != right[name] for name in _COMPARED)
