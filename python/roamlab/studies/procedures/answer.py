"""Surprising results of the study of procedures, each with its chain of causes."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from roamlab.causes.removal import recorded
from roamlab.papers.runs import SEED
from roamlab.records.analysis import Found as Explained
from roamlab.records.analysis import explained
from roamlab.running.run import simulate
from roamlab.studies.procedures.cases import MOVE_S, scenario
from roamlab.studies.procedures.measures import BEFORE_S

if TYPE_CHECKING:
    from roamlab.studies.procedures.cases import Case
    from roamlab.studies.procedures.measures import Found

TWICE = 2.0
"""A stall that is longer than this number of times the middle one is surprising."""
MOST = 8
"""This number are explained, the most surprising first."""


def surprises(found: Found) -> list[Case]:
    """Cases whose stall is much longer than that of the middle procedure, the longest first."""
    mean = {case: sum(values["stall"]) / len(values["stall"]) for case, values in found.items()}
    of: dict[tuple[str, str], list[float]] = {}
    for case, stall in mean.items():
        of.setdefault((case.application, case.law), []).append(stall)
    times = {case: stall / median(of[case.application, case.law]) for case, stall in mean.items()}
    return sorted((case for case in times if times[case] > TWICE), key=times.__getitem__, reverse=True)[:MOST]


def why(case: Case, found: Found) -> list[str]:
    """The chain of causes of the longest stall at the move, in the run where it is longest."""
    stalls = found[case]["stall"]
    run = stalls.index(max(stalls))
    results = simulate(recorded(scenario(case)), SEED, run)
    for each in explained(results, case.application, None):
        of = Explained.of(each)
        if of.stall.end_ns > (MOVE_S - BEFORE_S) * 1e9:
            return [f"Run {run}:", *of.sentences, *of.sender_sentences]
    return [f"Run {run}: the record names no stall."]
