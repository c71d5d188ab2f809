"""All runs of the paper, measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
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
    Interpretation,
)
from roamlab.papers.runs import each_run
from roamlab.statistics.stats import LEAST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.papers.bcmp.measures import Download, Streams
    from roamlab.papers.runs import Batch

Case: TypeAlias = tuple[str, str]
"""Topology and way of handover."""
Point: TypeAlias = tuple[str, str, str, int]
"""Topology, way of handover, TCP and its largest window in packets."""


OTHER_RULES = {
    "RTO floor 200 ms": Interpretation(min_rto="200 ms"),
    "ns-2 of 2001": Interpretation(profile="ns2-2001"),
    "TCP by the RFCs": Interpretation(profile="rfc"),
    "download alone, ns-2 of 2001": Interpretation(beside="nothing", profile="ns2-2001"),
}
"""Rules of TCP other than those of ns-2 of 2003, and what comes nearest to the printed shares of fig. 7."""


@dataclass(frozen=True)
class Evidence:
    """Data from which the claims are decided under one interpretation.

    Lists have one entry per run; run n draws from the same streams in every case.
    """

    interpretation: Interpretation
    downloads: dict[Point, list[Download]]
    streams: dict[Case, list[Streams]]


def few_runs(runs: int) -> int:
    """Runs of what is not in the paper."""
    return min(runs, LEAST)


def evidence(batch: Batch, interpretation: Interpretation, runs: int | range) -> Evidence:
    """Asks for the runs that the claims on an interpretation need: this number, or those with these numbers."""
    points = list(product(TOPOLOGIES, ["unplanned"], TCPS, [interpretation.window]))
    streams: dict[Case, list[Streams]] = {}
    for topology in TOPOLOGIES:
        wanted = {
            (topology, way): (each_run(partial(experiments.streams, topology, way), interpretation), runs)
            for way in WAYS
        }
        streams |= batch.each(wanted, measures.of_streams)
    return Evidence(interpretation, downloads(batch, interpretation, runs, points), streams)


def downloads(
    batch: Batch, interpretation: Interpretation, runs: int | Sequence[int], points: list[Point]
) -> dict[Point, list[Download]]:
    """Asks for points of figs. 6 and 7."""
    found: dict[Point, list[Download]] = {}
    for topology in TOPOLOGIES:
        wanted = {
            point: (each_run(partial(experiments.downloads, *point), interpretation), runs)
            for point in points
            if point[0] == topology
        }
        found |= batch.each(wanted, measures.of_download)
    return {point: found[point] for point in points}


def sweep(batch: Batch, runs: int, interpretation: Interpretation = DEFAULT) -> dict[Point, list[Download]]:
    """Figs. 6 and 7 under an interpretation, and in addition no and planned handovers at two windows."""
    points = list(product(TOPOLOGIES, ["unplanned"], TCPS, WINDOWS))
    return downloads(batch, interpretation, runs, points) | still(batch, runs, interpretation)


def other_rules(batch: Batch, runs: int) -> dict[str, dict[Point, list[Download]]]:
    """Unplanned handovers at the largest window under `OTHER_RULES`."""
    points = list(product(TOPOLOGIES, ["unplanned"], TCPS, [HIGH]))
    return {
        name: downloads(batch, interpretation, runs, points) for name, interpretation in OTHER_RULES.items()
    }


def still(
    batch: Batch,
    runs: int | range,
    interpretation: Interpretation,
    networks: Sequence[str] = TOPOLOGIES,
    tcps: Sequence[str] = TCPS,
) -> dict[Point, list[Download]]:
    """Asks for what `sweep` has of no and of planned handovers, in these networks with these variants."""
    points = list(product(networks, ["none", "planned"], tcps, (LOW, HIGH)))
    return downloads(batch, interpretation, runs, points)


def procedures(
    batch: Batch, runs: int | range, interpretation: Interpretation = DEFAULT
) -> dict[Case, list[dict[str, int]]]:
    """All that the protocol does, in each network with either handover."""
    wanted = {
        case: (each_run(partial(experiments.procedures, *case), interpretation), runs)
        for case in product(TOPOLOGIES, ("planned", "unplanned"))
    }
    return batch.each(wanted, measures.of_procedures)
