"""All runs of the paper, measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from roamlab.papers.mblue import experiments, measures
from roamlab.papers.mblue.experiments import (
    DEFAULT,
    QUEUES,
    Interpretation,
)
from roamlab.papers.records import queue_trace
from roamlab.papers.runs import each_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.papers.mblue.measures import ManyFlows, OneHandoff, Outage, ThreeHandoffs, Transfer
    from roamlab.papers.records import QueueTrace
    from roamlab.papers.runs import Batch
    from roamlab.records.results import Results
    from roamlab.scenarios.scenario import Scenario

T = TypeVar("T")


@dataclass(frozen=True)
class Evidence:
    """Data from which every claim is decided. Lists have one entry per run; run n of each queue has the same seeds."""

    interpretation: Interpretation
    one: dict[str, list[OneHandoff]]
    three: dict[str, list[ThreeHandoffs]]
    wide: list[int]
    """Packets of the first burst out of a buffer that holds three windows."""


@dataclass(frozen=True)
class Anatomy:
    """The experiments with the moving host alone."""

    outage: dict[bool, list[Outage]]
    detection: dict[bool, list[float]]
    transfer: dict[str, list[Transfer]]
    many_flows: dict[bool, list[ManyFlows]]


def evidence(batch: Batch, interpretation: Interpretation, runs: int | range) -> Evidence:
    """Asks for the runs of figs. 11 to 15: this number, or those with these numbers."""
    three = {queue: (_three_handoffs(queue, interpretation), runs) for queue in QUEUES}
    wide = batch.each({"wide": (experiments.wide_buffer(interpretation), runs)}, measures.burst)["wide"]
    one = one_handoff(batch, interpretation, runs)
    return Evidence(interpretation, one, batch.each(three, measures.three_handoffs), wide)


def _three_handoffs(queue: str, interpretation: Interpretation) -> Scenario | Callable[[int], Scenario]:
    return each_run(partial(experiments.three_handoffs, queue), interpretation)


def one_handoff(
    batch: Batch, interpretation: Interpretation, runs: int | range
) -> dict[str, list[OneHandoff]]:
    """Asks for the runs of figs. 11 and 12, by queue."""
    return batch.each(
        {queue: (experiments.one_handoff(queue, interpretation), runs) for queue in QUEUES},
        measures.one_handoff,
    )


def traces(batch: Batch, interpretation: Interpretation = DEFAULT) -> dict[str, dict[str, list[QueueTrace]]]:
    """The new base station's queue in run 0 under each discipline: with "one" handoff and with "three"."""
    take = partial(queue_trace, queue=measures.AIR)
    return {
        "one": batch.each(
            {queue: (experiments.one_handoff(queue, interpretation), 1) for queue in QUEUES}, take
        ),
        "three": batch.each({queue: (_three_handoffs(queue, interpretation), 1) for queue in QUEUES}, take),
    }


def few_runs(runs: int) -> int:
    """Runs of what varies little, and of fig. 12 under another interpretation."""
    return min(runs, 20)


def anatomy(batch: Batch, runs: int | range, interpretation: Interpretation = DEFAULT) -> Anatomy:
    """Equation 1, figs. 3 and 4 and section II: these vary little, so `few_runs` of `runs` are enough."""

    def both(
        experiment: Callable[[bool, Interpretation], Scenario],
        runs: int | range,
        take: Callable[[Results], T],
    ) -> dict[bool, list[T]]:
        return batch.each({on: (experiment(on, interpretation), runs) for on in (True, False)}, take)

    few = few_runs(runs) if isinstance(runs, int) else runs
    ways = {way: (experiments.transfer(way, interpretation), few) for way in ("detour", "no detour", "wait")}
    return Anatomy(
        outage=both(experiments.outage, 1, measures.outage),
        detection=both(experiments.detection, few, measures.detection),
        transfer=batch.each(ways, measures.transfer),
        many_flows=both(experiments.many_flows, few, measures.many_flows),
    )
