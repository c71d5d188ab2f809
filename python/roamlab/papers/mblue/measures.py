"""Measures of each run. Everything comes from the run's tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.mblue.experiments import (
    ALONE_S,
    FLOWS,
    HANDOFF_S,
    RESIDENTS,
    SPAN_S,
    VISITS_S,
    WINDOW_PKTS,
)
from roamlab.papers.records import NS, queue_trace, reads, total
from roamlab.papers.records import forwarded as forwarded_releases
from roamlab.papers.stored import storable
from roamlab.records import metrics
from roamlab.records.metrics import arrivals, count, seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.records.columns import Columns, Mask
    from roamlab.records.results import Results

AIR = "bs2/air"

T_LOSS_S = 0.063
"""Table I: when the first forwarded packets leave the old base station."""

T_H_S = 0.182
"""Table I: when the correspondent knows the new care-of address."""

FULL_RTT_S = 0.088 + 120 * 512 * 8 / 2e6
"""A round trip of 88 ms and a queue of 120 packets: within it, a flow learns of a loss."""

CUT_S = 1.0
"""Flows that cut their windows this soon after a handoff count as synchronised by it. RED drops until some 0.5 s after
it, and a flow learns of a drop within `FULL_RTT_S`."""

AFTERMATH_S = 3.0
"""How long after a handoff, and before it, flows that back off together are looked for."""

CURVE_S = np.arange(9.5, 13.001, 0.05)
"""Where fig. 12 is sampled."""

WINDOW_S = 0.5
"""Throughput over time is averaged over windows this long."""


def received(results: Results, flow: str, start: float, end: float) -> int:
    """Segments of `flow` delivered for the first time in [start, end) s."""
    return count(arrivals(results, flow), start, end)


def _lost_after(results: Results, handoff: float, which: Callable[[Columns], Mask] | None = None) -> int:
    """Packets, all or some, lost at the new base station within 1 s after a handoff."""
    drops = results.columns("drops")
    chosen = drops.where("place", AIR)
    if which is not None:
        chosen &= which(drops)
    return count(seconds(drops, chosen=chosen), handoff, handoff + 1.0)


def forwarded(results: Results, handoff: float) -> int:
    """Packets that left the old base station's buffer within T_h of the handoff."""
    return count(forwarded_releases(results), handoff, handoff + T_H_S)


@reads(releases="time_ns forwarded")
def burst(results: Results, handoff: float = HANDOFF_S) -> int:
    """Packets of the first burst from the old base station: those before the first pause of 20 ms."""
    times = forwarded_releases(results)
    times = times[times >= handoff]
    pauses = np.flatnonzero(np.diff(times) > 0.02)
    return int(pauses[0]) + 1 if pauses.size else times.size


def cutting_flows(results: Results, handoff: float) -> int:
    """Flows that cut their window within `CUT_S` after a handoff."""
    return metrics.cutting_flows(results, handoff, handoff + CUT_S)


def window_correlation(results: Results, handoff: float) -> float:
    """Mean correlation of the flows' windows in use, each 50 ms, in the `AFTERMATH_S` after a handoff."""
    return metrics.window_correlation(
        results, FLOWS, handoff, handoff + AFTERMATH_S, largest=float(WINDOW_PKTS)
    )


def backing_off_together(results: Results, flows: Sequence[str], start: float) -> int:
    """The most of `flows` that cut within one full round trip of each other, in the `AFTERMATH_S` from `start` on."""
    share = metrics.synchronisation(results, flows, FULL_RTT_S, start, start + AFTERMATH_S)
    return round(share * len(flows))


@storable
@dataclass(frozen=True)
class OneHandoff:
    """A run of figs. 11 and 12."""

    received: int
    received_after: int
    """Of these from the handoff on."""
    burst: int
    forwarded: int
    overflows: int
    """Packets lost at the new base station within 1 s because the queue was full; next all, and marked ones."""
    drops: int
    forwarded_drops: int
    cutting: int
    together: int
    """The most flows that cut their windows within one round trip of each other, in the `AFTERMATH_S`."""
    together_calm: int
    """The same of the residents in the `AFTERMATH_S` before the handoff."""
    correlation: float
    peak_average: float
    peak_probability: float
    lowest_probability: float
    calm_average: float
    """The highest average in a span as long as that of the peaks, up to the handoff."""
    calm_probability: float
    probability_before: float
    """At the handoff."""
    curve: tuple[float, ...]
    """Packets received since the start at each instant of `CURVE_S`."""


@reads(
    deliveries="time_ns flow fresh",
    drops="time_ns place reason forwarded",
    queue="time_ns queue packets average probability forwarded",
    releases="time_ns forwarded",
    tcp="time_ns flow event cwnd",
)
def one_handoff(results: Results, handoff: float = HANDOFF_S) -> OneHandoff:
    """Measures a run with one handoff."""
    after = queue_trace(results, AIR, handoff + T_LOSS_S, handoff + 1.0)
    before = queue_trace(results, AIR, handoff + T_LOSS_S - 1.0, handoff)
    return OneHandoff(
        received=received(results, "moving", handoff - 0.5, handoff + 3.0),
        received_after=received(results, "moving", handoff, handoff + 3.0),
        burst=burst(results, handoff),
        forwarded=forwarded(results, handoff),
        overflows=_lost_after(
            results, handoff, lambda drops: drops.where("reason", "queue-overflow", "forwarded-overflow")
        ),
        drops=_lost_after(results, handoff),
        forwarded_drops=_lost_after(results, handoff, lambda drops: drops["forwarded"]),
        cutting=cutting_flows(results, handoff),
        together=backing_off_together(results, FLOWS, handoff),
        together_calm=backing_off_together(results, RESIDENTS, handoff - AFTERMATH_S),
        correlation=window_correlation(results, handoff),
        peak_average=float(after.average.max(initial=0.0)),
        peak_probability=float(after.probability.max(initial=0.0)),
        lowest_probability=float(after.probability.min(initial=1.0)),
        calm_average=float(before.average.max(initial=0.0)),
        calm_probability=float(before.probability.max(initial=0.0)),
        probability_before=float(before.probability[-1]) if before.times.size else 0.0,
        curve=tuple(np.searchsorted(arrivals(results, "moving"), CURVE_S, side="right").astype(float)),
    )


@storable
@dataclass(frozen=True)
class ThreeHandoffs:
    """A run of figs. 13 to 15. Tuples have one entry for each handoff."""

    goodput_bps: float
    """Of the moving host."""
    residents_bps: float
    """Goodput of the residents together."""
    lost_moving: int
    """Packets of the moving host lost at the new base station within 1 s of a handoff."""
    lost_residents: int
    drops: tuple[int, ...]
    cutting: tuple[int, ...]
    calm_queue: float
    """Mean queue between handoffs, from 1 s after a move to the next move."""
    deviation: float
    """Standard deviation of the queue over time, from the first handoff on."""
    mean_queue: float
    """Over the same time."""
    visit_deviation: float
    """Standard deviation of the queue over the time in which the moving host is in the cell."""
    fall: tuple[float, ...]
    """How far P_m falls within 1 s: its value just before the handoff minus the lowest after it."""
    probability_before: tuple[float, ...]
    throughput_bps: tuple[float, ...]
    """The moving host's throughput in each `WINDOW_S`."""


@reads(
    deliveries="time_ns flow fresh",
    drops="time_ns place flow",
    flows="flow delivered_pkts delivered_bytes",
    handovers="time_ns host phase",
    queue="time_ns queue packets average probability forwarded",
    tcp="time_ns flow event",
)
def three_handoffs(
    results: Results, visits: Sequence[float] = VISITS_S, end: float = SPAN_S
) -> ThreeHandoffs:
    """Measures a run with three handoffs into the cell, each with the host's return from it."""
    trace = queue_trace(results, AIR)
    returns = metrics.handover_times(results, "mh")[1::2].tolist()
    calm = [(start + 1.0, stop) for start, stop in zip(visits, returns, strict=True)]
    calm += [(start + 1.0, stop) for start, stop in zip(returns, [*visits[1:], end], strict=True)]
    moving = total(results, "moving", "delivered_bytes")
    residents = float(results.columns("flows")["delivered_bytes"].sum()) - moving
    segment_bits = moving / max(1, total(results, "moving", "delivered_pkts")) * 8
    edges = np.arange(0.0, end + WINDOW_S / 2, WINDOW_S)
    windows = np.diff(np.searchsorted(arrivals(results, "moving"), edges))
    lost = [_lost_after(results, at) for at in visits]
    lost_moving = sum(_lost_after(results, at, lambda drops: drops.where("flow", "moving")) for at in visits)
    before = [float(trace.within(0.0, at).probability[-1]) for at in visits]
    mean, deviation = trace.spread([(visits[0], end)])
    lowest = [float(trace.within(at + T_LOSS_S, at + 1.0).probability.min(initial=1.0)) for at in visits]
    return ThreeHandoffs(
        goodput_bps=moving * 8 / end,
        residents_bps=residents * 8 / end,
        lost_moving=lost_moving,
        lost_residents=sum(lost) - lost_moving,
        drops=tuple(lost),
        cutting=tuple(cutting_flows(results, at) for at in visits),
        calm_queue=trace.spread(calm)[0],
        deviation=deviation,
        mean_queue=mean,
        visit_deviation=trace.spread(list(zip(visits, returns, strict=True)))[1],
        fall=tuple(at - after for at, after in zip(before, lowest, strict=True)),
        probability_before=tuple(before),
        throughput_bps=tuple(windows * segment_bits / WINDOW_S),
    )


def duplicate_acks(results: Results, host: str = "mh") -> int:
    """ACKs of `host` that ask for a segment for which it had asked before."""
    rows = results.columns("packets")
    acks = rows.where("event", "send") & rows.where("place", host) & rows.where("kind", "ack")
    asked = rows["number"][acks].astype(np.int64)
    return int(np.count_nonzero(np.diff(np.maximum.accumulate(asked)) == 0))


def phase(results: Results, name: str, after: float = ALONE_S) -> float:
    """When a phase of the handover after `after` s was first noted, in s."""
    rows = results.columns("handovers")
    times = seconds(rows, chosen=rows.where("phase", name))
    later = times[times >= after]
    return float(later.min()) if later.size else float("nan")


def last_loss(results: Results, flow: str) -> float:
    """When the last packet of `flow` was lost, in s."""
    drops = results.columns("drops")
    return float(seconds(drops, chosen=drops.where("flow", flow)).max())


def least_delay(results: Results, flow: str, start: float, end: float) -> float:
    """The least one-way delay of packets of `flow` that arrived in [start, end), in s."""
    rows = results.columns("deliveries")
    own = rows.where("flow", flow)
    times, sent = seconds(rows, chosen=own), seconds(rows, "sent_ns", own)
    chosen = (times >= start) & (times < end)
    return float((times - sent)[chosen].min())


def message_size(results: Results, name: str, after: float = ALONE_S) -> int:
    """The largest message of this name sent after `after` s, in bytes."""
    rows = results.columns("signalling")
    sizes = rows["size_bytes"][rows.where("message", name) & (rows["sent_ns"] >= round(after * NS))]
    return int(sizes.max(initial=0))


@storable
@dataclass(frozen=True)
class Outage:
    """The run of equation 1, after the lone host has moved."""

    sizes: dict[str, int]
    """The largest message of each name, in bytes."""
    agent_s: float
    """When the home agent had registered the host."""
    correspondent_s: float
    """When the correspondent was informed."""
    last_loss_s: float
    """When the last probe towards the host was lost."""
    round_trip_s: float
    """The least one-way delays of the probes before the move, added."""


@reads(
    deliveries="time_ns flow sent_ns",
    drops="time_ns flow",
    handovers="time_ns phase",
    signalling="message size_bytes sent_ns",
)
def outage(results: Results) -> Outage:
    """Measures a run with a probe each way."""
    names = sorted(set(results.columns("signalling").words("message")))
    return Outage(
        sizes={name: message_size(results, name) for name in names},
        agent_s=phase(results, "home-agent-registered"),
        correspondent_s=phase(results, "correspondent-informed"),
        last_loss_s=last_loss(results, "probe-down"),
        round_trip_s=sum(least_delay(results, f"probe-{way}", 1.5, 5.0) for way in ("down", "up")),
    )


@storable
@dataclass(frozen=True)
class Transfer:
    """A run of fig. 4."""

    lost: int
    duplicates: int
    reordered: int
    reordered_forwarded: int
    duplicate_acks: int
    """ACKs that asked again for the segment that an earlier one had asked for."""
    fast_retransmits: int


@storable
@dataclass(frozen=True)
class ManyFlows:
    """A run with three flows of one host."""

    lost: int
    released_flows: int
    buffers: int


@reads(handovers="time_ns phase")
def detection(results: Results) -> float:
    """How long after the move the new agent was notified, in s."""
    return phase(results, "new-agent-notified") - ALONE_S


@reads(
    deliveries="late_by_pkts serial",
    flows="flow dropped_pkts duplicate_pkts fast_retransmits",
    packets="event place kind number",
    releases="serial forwarded",
)
def transfer(results: Results) -> Transfer:
    """Measures a run of fig. 4."""
    releases, deliveries = results.columns("releases"), results.columns("deliveries")
    forwarded = releases["serial"][releases["forwarded"]]
    # A forwarded packet that only later forwarded packets overtook would be a fault of the detour itself.
    order = deliveries["serial"][np.isin(deliveries["serial"], forwarded)]
    return Transfer(
        lost=total(results, "moving", "dropped_pkts"),
        duplicates=total(results, "moving", "duplicate_pkts"),
        reordered=int(np.count_nonzero(deliveries["late_by_pkts"])),
        reordered_forwarded=int(np.count_nonzero(order[1:] < order[:-1])),
        duplicate_acks=duplicate_acks(results),
        fast_retransmits=total(results, "moving", "fast_retransmits"),
    )


@reads(flows="flow dropped_pkts", releases="host node flow")
def many_flows(results: Results) -> ManyFlows:
    """Measures a run with three flows of one host."""
    released = results.columns("releases")
    return ManyFlows(
        lost=sum(total(results, flow, "dropped_pkts") for flow in ("tcp1", "tcp2", "udp")),
        released_flows=len(np.unique(released["flow"])),
        buffers=len(set(zip(released["host"].tolist(), released["node"].tolist(), strict=True))),
    )
