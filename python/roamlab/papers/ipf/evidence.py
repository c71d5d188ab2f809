"""All runs of the paper, measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.ipf import experiments, measures
from roamlab.papers.ipf.experiments import (
    AIR,
    DEFAULT,
    GAPS,
    GAPS_S,
    HOST_COUNTS,
    HOSTS,
    PLAN_SPAN_S,
    QUEUES,
    SPAN_S,
    VISIT_COUNTS,
    VISITS,
    Interpretation,
)
from roamlab.papers.records import queue_trace, reads
from roamlab.papers.runs import each_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.ipf.measures import (
        Arrival,
        Average,
        Planned,
        Point,
        Schedule,
        Spoofed,
        Standard,
        Transfer,
    )
    from roamlab.papers.records import QueueTrace
    from roamlab.papers.runs import Batch
    from roamlab.records.results import Results
    from roamlab.scenarios.scenario import Scenario

POINT_RUNS = 16
"""Of figs. 12 and 13 at most."""
PLAN_RUNS = 12
"""Of figs. 16 and 17 at most."""


@dataclass(frozen=True)
class Evidence:
    """Data from which the claims that depend on an interpretation are decided.

    Lists have one entry per run; run n of both queues draws from the same streams.
    """

    interpretation: Interpretation
    arrival: dict[int, list[Arrival]]
    """Fig. 9: RED, by case."""
    standard: dict[str, list[Standard]]
    """Figs. 10, 11 and 14."""


@dataclass(frozen=True)
class Sweep:
    """Figs. 12, 13, 16 and 17."""

    interpretation: Interpretation
    points: dict[tuple[int, int, str], list[Point]]
    """By visits, hosts and queue."""
    planned: dict[tuple[float, str], list[Planned]]
    """By gap and queue."""

    @property
    def visits(self) -> list[int]:
        """Fig. 12's counts of visits."""
        return sorted({count for count, hosts, _ in self.points if hosts == HOSTS})

    @property
    def hosts(self) -> list[int]:
        """Fig. 13's counts of hosts."""
        return sorted({hosts for count, hosts, _ in self.points if count == VISITS})

    @property
    def gaps(self) -> list[float]:
        """Figs. 16 and 17: the uniform case first."""
        return list(dict.fromkeys(gap for gap, _ in self.planned))


@dataclass(frozen=True)
class Anatomy:
    """Values that vary little or not at all."""

    unmarked: dict[str, list[dict[str, str]]]
    """By queue, when nothing is marked: what the runs are compared by."""
    transfer: dict[bool, list[Transfer]]
    spoofed: dict[str, list[Spoofed]]
    priority_tests: list[int]
    """Priority packets that M-RED lost in a queue that was not full."""
    averages: list[Average]
    """Effect of priority packets on M-RED's average."""
    schedules: dict[float, list[Schedule]]
    """Fig. 15, by the time between hosts."""


def few_runs(runs: int) -> int:
    """Runs of what varies little."""
    return min(runs, 10)


def visits(interpretation: Interpretation = DEFAULT) -> list[list[float]]:
    """When each host arrives in the cell in the standard case, in s."""
    movers = experiments.visits(VISITS, HOSTS, SPAN_S, GAPS[interpretation.gap])
    return [[comes for comes, _ in mover.visits] for mover in movers]


def planned_moves(gap_s: float) -> list[float]:
    """Handoffs into the cell in a case of fig. 15, in s."""
    return sorted(comes for mover in experiments.planned(gap_s) for comes, _ in mover.visits)


def evidence(batch: Batch, interpretation: Interpretation, runs: int | range) -> Evidence:
    """Asks for the runs of figs. 9 to 11 and 14: this number, or those with these numbers."""
    arrivals = {case: (experiments.arrival(case, "red", interpretation), runs) for case in (1, 2)}
    standard = {queue: (_handoffs(VISITS, HOSTS, queue, interpretation), runs) for queue in QUEUES}
    return Evidence(
        interpretation,
        arrival=batch.each(arrivals, measures.arrival),
        standard=batch.each(standard, partial(measures.standard, visits=visits(interpretation))),
    )


def _handoffs(
    count: int, hosts: int, queue: str, interpretation: Interpretation
) -> Scenario | Callable[[int], Scenario]:
    return each_run(partial(experiments.handoffs, count, hosts, queue), interpretation)


def _plan(
    gap: float, queue: str, interpretation: Interpretation, span_s: float = PLAN_SPAN_S
) -> Scenario | Callable[[int], Scenario]:
    return each_run(partial(experiments.plan, gap, queue, span_s=span_s), interpretation)


def swept(
    batch: Batch,
    interpretation: Interpretation,
    runs: int | range,
    visits: Sequence[int] = VISIT_COUNTS,
    hosts: Sequence[int] = HOST_COUNTS,
    gaps: Sequence[float] = GAPS_S,
    plan_span_s: float = PLAN_SPAN_S,
) -> Sweep:
    """Asks for the runs of figs. 12, 13, 16 and 17, at these points; of the plan the first `plan_span_s`.

    The first `POINT_RUNS` or `PLAN_RUNS` of all, or of those with these numbers.
    """
    numbers = range(runs) if isinstance(runs, int) else runs
    cases = [(count, HOSTS) for count in visits if count != VISITS]
    cases += [(VISITS, count) for count in hosts if count != HOSTS] + [(VISITS, HOSTS)]
    points: dict[tuple[int, int, str], list[Point]] = {}
    for case in cases:
        handoffs = {
            (*case, queue): (_handoffs(*case, queue, interpretation), numbers[:POINT_RUNS])
            for queue in QUEUES
        }
        points |= batch.each(handoffs, measures.point)
    planned: dict[tuple[float, str], list[Planned]] = {}
    for gap in gaps:
        scenarios = {
            (gap, queue): (_plan(gap, queue, interpretation, plan_span_s), numbers[:PLAN_RUNS])
            for queue in QUEUES
        }
        take = partial(measures.planned, moves=planned_moves(gap), span_s=plan_span_s)
        planned |= batch.each(scenarios, take)
    return Sweep(interpretation, points, planned)


def anatomy(
    batch: Batch,
    runs: int | range,
    interpretation: Interpretation = DEFAULT,
    gaps: Sequence[float] = GAPS_S,
) -> Anatomy:
    """Fig. 6, sections II-A and III, and the plan of fig. 15 at these points: a few of the runs are enough.

    Of a range of runs the first, where each run shows all that is asked.
    """
    few, some = (min(runs, 2), few_runs(runs)) if isinstance(runs, int) else (runs[:1], runs)
    unmarked = {
        queue: (each_run(partial(experiments.unmarked, queue), interpretation), few) for queue in QUEUES
    }
    full = {"full": (_handoffs(VISITS, HOSTS, "mred", interpretation), few)}
    ways = {on: (experiments.transfer(on, interpretation), some) for on in (True, False)}
    policies = {
        policy: (experiments.spoofed(policy, interpretation), some) for policy in ("clear", "drop", "honour")
    }
    plans = {gap: (_plan(gap, "mred", interpretation), few) for gap in gaps}
    return Anatomy(
        unmarked=batch.each(unmarked, measures.fingerprint),
        transfer=batch.each(ways, measures.transfer),
        spoofed=batch.each(policies, measures.spoofed),
        priority_tests=batch.each(full, _tested_priority)["full"],
        averages=batch.each(full, average)["full"],
        schedules=batch.each(plans, measures.schedule),
    )


def traces(batch: Batch, interpretation: Interpretation = DEFAULT) -> dict[str, list[QueueTrace]]:
    """The queue of run 0: of "case 1", "case 2" (RED), and of the standard case."""
    cases = {
        f"case {case}": (each_run(partial(experiments.arrival, case, "red"), interpretation), 1)
        for case in (1, 2)
    }
    standard = {queue: (_handoffs(VISITS, HOSTS, queue, interpretation), 1) for queue in QUEUES}
    return batch.each(cases | standard, partial(queue_trace, queue=AIR))


@reads(queue="time_ns queue packets average probability forwarded")
def average(results: Results) -> Average:
    """Effect of priority packets on the average of the new cell's queue."""
    return measures.average(queue_trace(results, AIR))


@reads(drops="place reason forwarded")
def _tested_priority(results: Results) -> int:
    """Priority packets that were lost for another reason than a full queue."""
    drops = results.columns("drops")
    lost = drops.where("place", AIR) & drops["forwarded"]
    return int(np.count_nonzero(lost & ~drops.where("reason", "forwarded-overflow")))
