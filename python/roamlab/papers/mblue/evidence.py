"""All runs of the paper, measured."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from roamlab.papers.mblue import experiments, measures
from roamlab.papers.mblue.experiments import (
    DEFAULT,
    HANDOFF_S,
    QUEUES,
    READINGS,
    RETURNS_S,
    VISITS_S,
    Reading,
)
from roamlab.papers.records import total
from roamlab.papers.runs import each

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.papers.mblue.measures import OneHandoff, ThreeHandoffs
    from roamlab.results import Results
    from roamlab.scenario import Scenario

T = TypeVar("T")


@dataclass(frozen=True)
class Transfer:
    """A run of fig. 4."""

    lost: int
    duplicates: int
    reordered: int
    reordered_forwarded: int
    fast_retransmits: int


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

    def of_first(self, runs: int) -> Evidence:
        """The same with fewer runs, to compare with readings that have no more."""
        return Evidence(
            self.reading,
            {queue: found[:runs] for queue, found in self.one.items()},
            {queue: found[:runs] for queue, found in self.three.items()},
        )


@dataclass(frozen=True)
class Anatomy:
    """The experiments with the moving host alone."""

    outage: dict[bool, Results]
    detection: dict[bool, list[float]]
    transfer: dict[str, list[Transfer]]
    many_flows: dict[bool, list[ManyFlows]]


def gather(runs: int, threads: int) -> dict[str, Evidence]:
    """Figs. 11 to 15 under every reading, by the reading's name; `alternative_runs` of those beside the default."""

    def cases(experiment: Callable[[str, Reading], Scenario]) -> dict[tuple[str, str], tuple[Scenario, int]]:
        few = alternative_runs(runs)
        return {
            (name, queue): (experiment(queue, reading), runs if reading == DEFAULT else few)
            for name, reading in READINGS.items()
            for queue in QUEUES
        }

    first = each(
        cases(experiments.one_handoff), threads, lambda results: measures.one_handoff(results, HANDOFF_S)
    )
    second = each(
        cases(experiments.three_handoffs),
        threads,
        lambda results: measures.three_handoffs(results, VISITS_S, RETURNS_S, 40.0),
    )
    found = {
        name: Evidence(
            reading,
            {queue: first[name, queue] for queue in QUEUES},
            {queue: second[name, queue] for queue in QUEUES},
        )
        for name, reading in READINGS.items()
    }
    few = alternative_runs(runs)
    return found | {f"default, first {few} runs": found["default"].of_first(few)}


def alternative_runs(runs: int) -> int:
    """Runs under each reading beside the default one, which the verdicts rest on."""
    return min(runs, 30)


def anatomy(runs: int, threads: int) -> Anatomy:
    """Equation 1, figs. 3 and 4 and section II: these vary little, so `alternative_runs` are enough."""

    def both(
        experiment: Callable[[bool], Scenario], runs: int, take: Callable[[Results], T]
    ) -> dict[bool, list[T]]:
        return each({on: (experiment(on), runs) for on in (True, False)}, threads, take)

    few = alternative_runs(runs)
    return Anatomy(
        outage={on: found[0] for on, found in both(experiments.outage, 1, lambda results: results).items()},
        detection=both(experiments.detection, few, _detection),
        transfer=each(
            {way: (experiments.transfer(way), few) for way in ("detour", "no detour", "wait")},
            threads,
            _transfer,
        ),
        many_flows=both(experiments.many_flows, few, _many_flows),
    )


def _detection(results: Results) -> float:
    return measures.phase(results, "new-agent-notified") - experiments.ALONE_S


def _transfer(results: Results) -> Transfer:
    releases = results.table("releases")
    forwarded = set(releases.filter(releases["marked"])["serial"].to_list())
    arrived = results.deliveries.filter(results.deliveries["late_by_pkts"] > 0)
    # A forwarded packet that only later forwarded packets overtook would be a fault of the detour itself.
    order = results.deliveries.filter(results.deliveries["serial"].is_in(forwarded))["serial"].to_list()
    disorder = sum(after < before for before, after in pairwise(order))
    return Transfer(
        lost=total(results, "moving", "dropped_pkts"),
        duplicates=total(results, "moving", "duplicate_pkts"),
        reordered=arrived.height,
        reordered_forwarded=disorder,
        fast_retransmits=total(results, "moving", "fast_retransmits"),
    )


def _many_flows(results: Results) -> ManyFlows:
    released = results.table("releases")
    return ManyFlows(
        lost=sum(total(results, flow, "dropped_pkts") for flow in ("tcp1", "tcp2", "udp")),
        released_flows=released["flow"].n_unique(),
        buffers=released.select("host", "node").n_unique(),
    )
