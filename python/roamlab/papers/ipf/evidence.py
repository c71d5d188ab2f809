"""All runs of the paper, measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from roamlab.papers.ipf import experiments, measures
from roamlab.papers.ipf.experiments import (
    DEFAULT,
    GAPS_S,
    HOST_COUNTS,
    HOSTS,
    QUEUES,
    READINGS,
    SPAN_S,
    VISIT_COUNTS,
    VISITS,
    Reading,
)
from roamlab.papers.runs import SEED, each
from roamlab.run import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.papers.ipf.measures import Arrival, Planned, Point, Spoofed, Standard, Transfer
    from roamlab.results import Results
    from roamlab.scenario import Scenario


@dataclass(frozen=True)
class Evidence:
    """What the claims that depend on a reading are decided from.

    Lists have one entry per run; run n of both queues draws from the same streams.
    """

    reading: Reading
    arrival: dict[tuple[int, str], list[Arrival]]
    """Fig. 9, by case and queue."""
    standard: dict[str, list[Standard]]
    """Figs. 10, 11 and 14."""

    def of_first(self, runs: int) -> Evidence:
        """The same with fewer runs, to compare with readings that have no more."""
        return Evidence(
            self.reading,
            {case: found[:runs] for case, found in self.arrival.items()},
            {queue: found[:runs] for queue, found in self.standard.items()},
        )


@dataclass(frozen=True)
class Sweep:
    """Figs. 12, 13, 16 and 17."""

    reading: Reading
    points: dict[tuple[int, int, str], list[Point]]
    """By visits, hosts and queue."""
    planned: dict[tuple[float, str], list[Planned]]
    """By gap and queue."""


@dataclass(frozen=True)
class Anatomy:
    """What varies little or not at all."""

    differences: list[int]
    """Rows that differ between RED and M-RED when nothing is marked."""
    transfer: dict[bool, list[Transfer]]
    spoofed: dict[str, list[Spoofed]]
    priority_tests: list[int]
    """Priority packets that M-RED lost in a queue that was not full."""


SWEPT = ("9 residents (7 in fig. 9)", "thresholds 80/160 (100/200 in fig. 9)")
"""Readings beside the default under which figs. 12, 13, 16 and 17 can be looked at."""


def alternative_runs(runs: int) -> int:
    """Runs under each reading beside the default one, which the verdicts rest on."""
    return min(runs, 10)


def moves(reading: Reading = DEFAULT) -> list[float]:
    """Handoffs into the cell in the standard case, in s."""
    movers = experiments.visits(VISITS, HOSTS, SPAN_S, reading.gap_s)
    return sorted(comes for mover in movers for comes, _ in mover.visits)


def first_visits(reading: Reading = DEFAULT) -> list[float]:
    """Those of the first host."""
    (mover, *_) = experiments.visits(VISITS, HOSTS, SPAN_S, reading.gap_s)
    return [comes for comes, _ in mover.visits]


def planned_moves(gap_s: float) -> list[float]:
    """Handoffs into the cell in a case of fig. 15, in s."""
    return sorted(comes for mover in experiments.planned(gap_s) for comes, _ in mover.visits)


def gather(runs: int, threads: int) -> dict[str, Evidence]:
    """Figs. 9 to 11 and 14 under every reading; `alternative_runs` of those beside the default."""
    few = alternative_runs(runs)

    def count(reading: Reading) -> int:
        return runs if reading == DEFAULT else few

    arrivals: dict[tuple[str, int, str], tuple[Scenario, int]] = {
        (name, case, queue): (experiments.arrival(case, queue, reading), count(reading))
        for name, reading in READINGS.items()
        for case in (1, 2)
        for queue in QUEUES
    }
    first = each(arrivals, threads, measures.arrival)
    second: dict[tuple[str, str], list[Standard]] = {}
    for gap in dict.fromkeys(reading.gap_s for reading in READINGS.values()):
        alike = {name: reading for name, reading in READINGS.items() if reading.gap_s == gap}
        scenarios = {
            (name, queue): (experiments.handoffs(VISITS, HOSTS, queue, reading), count(reading))
            for name, reading in alike.items()
            for queue in QUEUES
        }
        second |= each(scenarios, threads, _standard(next(iter(alike.values()))))
    found = {
        name: Evidence(
            reading,
            {(case, queue): first[name, case, queue] for case in (1, 2) for queue in QUEUES},
            {queue: second[name, queue] for queue in QUEUES},
        )
        for name, reading in READINGS.items()
    }
    return found | {f"default, first {few} runs": found["default"].of_first(few)}


def _standard(reading: Reading) -> Callable[[Results], Standard]:
    """Measures the standard case with the handoffs of a reading."""
    into_cell, visits = moves(reading), first_visits(reading)
    return lambda results: measures.standard(results, into_cell, visits)


def _planned(gap_s: float) -> Callable[[Results], Planned]:
    """Measures a case of fig. 15."""
    into_cell = planned_moves(gap_s)
    return lambda results: measures.planned(results, into_cell)


def sweeps(found: dict[str, Evidence], runs: int, threads: int, *, thorough: bool) -> dict[str, Sweep]:
    """Figs. 12, 13, 16 and 17 under the default reading; if `thorough`, under those of `SWEPT` too, with fewer runs."""
    few = alternative_runs(runs)
    others = SWEPT if thorough else ()
    return {"default": _sweep(found["default"], runs, threads)} | {
        name: _sweep(found[name], few, threads) for name in others
    }


def _sweep(found: Evidence, runs: int, threads: int) -> Sweep:
    """The standard case has been run for figs. 10 to 14."""
    reading = found.reading
    cases = [(count, HOSTS) for count in VISIT_COUNTS] + [(VISITS, hosts) for hosts in HOST_COUNTS]
    points = each(
        {
            (count, hosts, queue): (experiments.handoffs(count, hosts, queue, reading), runs)
            for count, hosts in cases
            if (count, hosts) != (VISITS, HOSTS)
            for queue in QUEUES
        },
        threads,
        measures.point,
    )
    points |= {(VISITS, HOSTS, queue): [run.point for run in found.standard[queue]] for queue in QUEUES}
    planned: dict[tuple[float, str], list[Planned]] = {}
    for gap in GAPS_S:
        scenarios = {(gap, queue): (experiments.plan(gap, queue, reading), runs) for queue in QUEUES}
        planned |= each(scenarios, threads, _planned(gap))
    return Sweep(reading, points, planned)


def anatomy(runs: int, threads: int) -> Anatomy:
    """Fig. 6, sections II-A and III: a few runs are enough."""
    few = min(runs, 2)
    pairs = [
        [run(experiments.unmarked(queue), SEED, repetition) for queue in QUEUES] for repetition in range(few)
    ]
    full = each({"full": (experiments.handoffs(VISITS, HOSTS, "mred"), few)}, threads, _tested_priority)
    ways = {on: (experiments.transfer(on), alternative_runs(runs)) for on in (True, False)}
    policies = {
        policy: (experiments.spoofed(policy), alternative_runs(runs))
        for policy in ("clear", "drop", "honour")
    }
    return Anatomy(
        differences=[measures.differences(red, mred) for red, mred in pairs],
        transfer=each(ways, threads, measures.transfer),
        spoofed=each(policies, threads, measures.spoofed),
        priority_tests=full["full"],
    )


def _tested_priority(results: Results) -> int:
    """Priority packets that were lost for another reason than a full queue."""
    lost = measures.lost_at_air(results)
    return lost.filter(lost["marked"] & (lost["reason"].cast(pl.String) != "marked-overflow")).height
