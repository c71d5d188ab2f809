"""All runs of the paper, measured."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from roamlab.ensemble import Job, measure
from roamlab.papers.mblue import experiments, measures
from roamlab.papers.mblue.experiments import HANDOFF_S, QUEUES, READINGS, RETURNS_S, VISITS_S, Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.papers.mblue.measures import OneHandoff, ThreeHandoffs
    from roamlab.results import Results
    from roamlab.scenario import Scenario

K = TypeVar("K")
T = TypeVar("T")
SEED = 1


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


@dataclass(frozen=True)
class Anatomy:
    """The experiments with the moving host alone."""

    outage: dict[bool, Results]
    detection: dict[bool, list[float]]
    transfer: dict[bool, list[Transfer]]
    many_flows: dict[bool, list[ManyFlows]]


def gather(runs: int, threads: int) -> dict[str, Evidence]:
    """Figs. 11 to 15 under every reading, by the reading's name."""
    one = {(name, queue): experiments.one_handoff(queue, reading) for name, queue, reading in _cases()}
    three = {(name, queue): experiments.three_handoffs(queue, reading) for name, queue, reading in _cases()}
    first = _each(one, runs, threads, lambda results: measures.one_handoff(results, HANDOFF_S))
    second = _each(
        three, runs, threads, lambda results: measures.three_handoffs(results, VISITS_S, RETURNS_S, 40.0)
    )
    return {
        name: Evidence(
            reading,
            {queue: first[name, queue] for queue in QUEUES},
            {queue: second[name, queue] for queue in QUEUES},
        )
        for name, reading in READINGS.items()
    }


def _cases() -> list[tuple[str, str, Reading]]:
    return [(name, queue, reading) for name, reading in READINGS.items() for queue in QUEUES]


def anatomy(runs: int, threads: int) -> Anatomy:
    """Equation 1, figs. 3 and 4 and section II."""
    switches = (True, False)
    outages = {on: experiments.outage(on) for on in switches}
    found = _each(outages, 1, threads, lambda results: results)
    return Anatomy(
        outage={on: found[on][0] for on in switches},
        detection=_each({on: experiments.detection(on) for on in switches}, runs, threads, _detection),
        transfer=_each({on: experiments.transfer(on) for on in switches}, runs, threads, _transfer),
        many_flows=_each({on: experiments.many_flows(on) for on in switches}, runs, threads, _many_flows),
    )


def _detection(results: Results) -> float:
    return measures.phase(results, "new-agent-notified") - experiments.ALONE_S


def _transfer(results: Results) -> Transfer:
    forwarded = set(results.table("releases")["serial"].to_list())
    arrived = results.deliveries.filter(results.deliveries["late_by_pkts"] > 0)
    # A forwarded packet that only later forwarded packets overtook would be a fault of the detour itself.
    order = results.deliveries.filter(results.deliveries["serial"].is_in(forwarded))["serial"].to_list()
    disorder = sum(after < before for before, after in pairwise(order))
    return Transfer(
        lost=measures.total(results, "moving", "dropped_pkts"),
        duplicates=measures.total(results, "moving", "duplicate_pkts"),
        reordered=arrived.height,
        reordered_forwarded=disorder,
        fast_retransmits=measures.total(results, "moving", "fast_retransmits"),
    )


def _many_flows(results: Results) -> ManyFlows:
    released = results.table("releases")
    return ManyFlows(
        lost=sum(measures.total(results, flow, "dropped_pkts") for flow in ("tcp1", "tcp2", "udp")),
        released_flows=released["flow"].n_unique(),
        buffers=released.select("host", "node").n_unique(),
    )


def _each(
    scenarios: dict[K, Scenario], runs: int, threads: int, take: Callable[[Results], T]
) -> dict[K, list[T]]:
    """`take` of `runs` runs of each scenario. Run n draws from the same streams in every scenario.

    Readings that do not touch a queue leave its scenario as it is: equal scenarios are run once.
    """
    distinct = list({scenario.text: scenario for scenario in scenarios.values()}.values())
    jobs = [Job(scenario, SEED, run) for scenario in distinct for run in range(runs)]
    measured = measure(jobs, lambda _, results: take(results), threads)
    by_text = {scenario.text: measured[at * runs : (at + 1) * runs] for at, scenario in enumerate(distinct)}
    return {name: by_text[scenario.text] for name, scenario in scenarios.items()}
