"""All runs of the paper, measured."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from roamlab.papers.bcmp import experiments, measures
from roamlab.papers.bcmp.experiments import (
    DEFAULT,
    HIGH,
    LOW,
    TCPS,
    TOPOLOGIES,
    WAYS,
    WINDOWS,
    Reading,
)
from roamlab.statistics.stats import LEAST

if TYPE_CHECKING:
    from roamlab.papers.bcmp.measures import Download, Streams
    from roamlab.papers.runs import Batch

Case: TypeAlias = tuple[str, str]
"""Topology and way of handover."""
Point: TypeAlias = tuple[str, str, str, int]
"""Topology, way of handover, TCP and its largest window in packets."""


OTHER_RULES = {
    "RTO floor 200 ms": Reading(min_rto="200 ms"),
    "ns-2 of 2001": Reading(profile="ns2-2001"),
    "TCP by the RFCs": Reading(profile="rfc"),
    "download alone, ns-2 of 2001": Reading(beside="nothing", profile="ns2-2001"),
}
"""Rules of TCP other than those of ns-2 of 2003, and what comes nearest to the printed shares of fig. 7."""


@dataclass(frozen=True)
class Evidence:
    """What the claims are decided from under one reading.

    Lists have one entry per run; run n draws from the same streams in every case.
    """

    reading: Reading
    downloads: dict[Point, list[Download]]
    streams: dict[Case, list[Streams]]


def few_runs(runs: int) -> int:
    """Runs of what is not in the paper."""
    return min(runs, LEAST)


def evidence(batch: Batch, reading: Reading, runs: int | range) -> Evidence:
    """Asks for the runs that the claims on a reading need: so many, or those with these numbers."""
    points = list(product(TOPOLOGIES, ["unplanned"], TCPS, [reading.window]))
    streams = {case: (experiments.streams(*case, reading), runs) for case in product(TOPOLOGIES, WAYS)}
    return Evidence(
        reading, downloads(batch, reading, runs, points), batch.each(streams, measures.of_streams)
    )


def downloads(
    batch: Batch, reading: Reading, runs: int | range, points: list[Point]
) -> dict[Point, list[Download]]:
    """Asks for points of figs. 6 and 7."""
    wanted = {point: (experiments.downloads(*point, reading), runs) for point in points}
    return batch.each(wanted, measures.of_download)


def sweep(batch: Batch, runs: int) -> dict[Point, list[Download]]:
    """Figs. 6 and 7 under the default reading, and beside them no and planned handovers at two windows."""
    points = list(product(TOPOLOGIES, ["unplanned"], TCPS, WINDOWS))
    points += list(product(TOPOLOGIES, ["none", "planned"], TCPS, (LOW, HIGH)))
    return downloads(batch, experiments.DEFAULT, runs, points)


def other_rules(batch: Batch, runs: int) -> dict[str, dict[Point, list[Download]]]:
    """Unplanned handovers at the largest window under `OTHER_RULES`."""
    points = list(product(TOPOLOGIES, ["unplanned"], TCPS, [HIGH]))
    return {name: downloads(batch, reading, runs, points) for name, reading in OTHER_RULES.items()}


def still(batch: Batch, runs: int | range, reading: Reading) -> dict[Point, list[Download]]:
    """Asks for some of what `sweep` has of no and of planned handovers: the tree, with a variant of each kind."""
    points = product(["tree"], ["none", "planned"], ["reno", "sack", "vegas"], (LOW, HIGH))
    return downloads(batch, reading, runs, list(points))


def procedures(
    batch: Batch, runs: int | range = 1, reading: Reading = DEFAULT
) -> dict[Case, list[dict[str, int]]]:
    """All that the protocol does, in each network with either handover."""
    wanted = {
        case: (experiments.procedures(*case, reading), runs)
        for case in product(TOPOLOGIES, ("planned", "unplanned"))
    }
    return batch.each(wanted, measures.of_procedures)
