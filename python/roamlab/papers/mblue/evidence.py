"""All runs of the paper, measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from roamlab.papers.keeping import kept
from roamlab.papers.mblue import experiments, measures
from roamlab.papers.mblue.experiments import (
    DEFAULT,
    HANDOFF_S,
    QUEUES,
    SPAN_S,
    VISITS_S,
    Reading,
)
from roamlab.papers.records import reads, total
from roamlab.papers.runs import further

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.mblue.measures import OneHandoff, Outage, ThreeHandoffs
    from roamlab.papers.runs import Batch
    from roamlab.records.results import Results
    from roamlab.scenarios.scenario import Scenario

T = TypeVar("T")

MORE_RED = 9


@kept
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


@kept
@dataclass(frozen=True)
class ManyFlows:
    """A run with three flows of one host."""

    lost: int
    released_flows: int
    buffers: int


@dataclass(frozen=True)
class Evidence:
    """What every claim is decided from. Lists have one entry per run; run n of each queue has the same seeds."""

    reading: Reading
    one: dict[str, list[OneHandoff]]
    three: dict[str, list[ThreeHandoffs]]
    wide: list[int]
    """Packets of the first burst out of a buffer that holds three windows."""
    more_red: list[ThreeHandoffs] = field(default_factory=list)
    """Further runs of three handoffs with RED under the default, `MORE_RED` times as many: what RED loses at the first
    handoff differs little from what it loses later."""


@dataclass(frozen=True)
class Anatomy:
    """The experiments with the moving host alone."""

    outage: dict[bool, list[Outage]]
    detection: dict[bool, list[float]]
    transfer: dict[str, list[Transfer]]
    many_flows: dict[bool, list[ManyFlows]]


def evidence(batch: Batch, reading: Reading, runs: int | range) -> Evidence:
    """Asks for the runs of figs. 11 to 15: so many, or those with these numbers."""
    three = {queue: (experiments.three_handoffs(queue, reading), runs) for queue in QUEUES}
    wide = batch.each({"wide": (experiments.wide_buffer(reading), runs)}, _burst)["wide"]
    watch = partial(_three_handoffs, returns=experiments.returns(reading))
    more = further(runs, MORE_RED) if reading == DEFAULT else range(0)
    more_red = batch.each({"red": (three["red"][0], more)}, watch)["red"]
    one = one_handoff(batch, reading, runs)
    return Evidence(reading, one, batch.each(three, watch), wide, more_red)


def one_handoff(batch: Batch, reading: Reading, runs: int | range) -> dict[str, list[OneHandoff]]:
    """Asks for the runs of figs. 11 and 12, by queue."""
    return batch.each(
        {queue: (experiments.one_handoff(queue, reading), runs) for queue in QUEUES}, _one_handoff
    )


@reads(releases="time_ns forwarded")
def _burst(results: Results) -> int:
    return measures.burst(results, HANDOFF_S)


@reads(
    deliveries="time_ns flow fresh",
    drops="time_ns place reason forwarded",
    queue="time_ns queue packets average probability forwarded",
    releases="time_ns forwarded",
    tcp="time_ns flow event cwnd",
)
def _one_handoff(results: Results) -> OneHandoff:
    return measures.one_handoff(results, HANDOFF_S)


@reads(
    deliveries="time_ns flow fresh",
    drops="time_ns place flow",
    flows="flow delivered_pkts delivered_bytes",
    queue="time_ns queue packets average probability forwarded",
    tcp="time_ns flow event",
)
def _three_handoffs(results: Results, returns: Sequence[float]) -> ThreeHandoffs:
    return measures.three_handoffs(results, VISITS_S, returns, SPAN_S)


def few_runs(runs: int) -> int:
    """Runs of what varies little, and of fig. 12 under another reading."""
    return min(runs, 20)


def anatomy(batch: Batch, runs: int | range, reading: Reading = DEFAULT) -> Anatomy:
    """Equation 1, figs. 3 and 4 and section II: these vary little, so `few_runs` of `runs` are enough."""

    def both(
        experiment: Callable[[bool, Reading], Scenario], runs: int | range, take: Callable[[Results], T]
    ) -> dict[bool, list[T]]:
        return batch.each({on: (experiment(on, reading), runs) for on in (True, False)}, take)

    few = few_runs(runs) if isinstance(runs, int) else runs
    ways = {way: (experiments.transfer(way, reading), few) for way in ("detour", "no detour", "wait")}
    return Anatomy(
        outage=both(experiments.outage, 1, measures.outage),
        detection=both(experiments.detection, few, _detection),
        transfer=batch.each(ways, _transfer),
        many_flows=both(experiments.many_flows, few, _many_flows),
    )


@reads(handovers="time_ns phase")
def _detection(results: Results) -> float:
    return measures.phase(results, "new-agent-notified") - experiments.ALONE_S


@reads(
    deliveries="late_by_pkts serial",
    flows="flow dropped_pkts duplicate_pkts fast_retransmits",
    packets="event place kind number",
    releases="serial forwarded",
)
def _transfer(results: Results) -> Transfer:
    releases, deliveries = results.columns("releases"), results.columns("deliveries")
    forwarded = releases["serial"][releases["forwarded"]]
    # A forwarded packet that only later forwarded packets overtook would be a fault of the detour itself.
    order = deliveries["serial"][np.isin(deliveries["serial"], forwarded)]
    return Transfer(
        lost=total(results, "moving", "dropped_pkts"),
        duplicates=total(results, "moving", "duplicate_pkts"),
        reordered=int(np.count_nonzero(deliveries["late_by_pkts"])),
        reordered_forwarded=int(np.count_nonzero(order[1:] < order[:-1])),
        duplicate_acks=measures.duplicate_acks(results),
        fast_retransmits=total(results, "moving", "fast_retransmits"),
    )


@reads(flows="flow dropped_pkts", releases="host node flow")
def _many_flows(results: Results) -> ManyFlows:
    released = results.columns("releases")
    return ManyFlows(
        lost=sum(total(results, flow, "dropped_pkts") for flow in ("tcp1", "tcp2", "udp")),
        released_flows=len(np.unique(released["flow"])),
        buffers=len(set(zip(released["host"].tolist(), released["node"].tolist(), strict=True))),
    )
