"""What the paper leaves open, as axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.ipf import claims, evidence
from roamlab.papers.ipf.experiments import DEFAULT, Reading
from roamlab.papers.spaces import MIN_RTO, PROFILE, Space
from roamlab.statistics.space import Axis, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.runs import Batch
    from roamlab.statistics.claims import Claim

AXES = (
    Axis(
        "residents",
        "residents",
        (Value("7", 7), Value("9", 9)),
        "A11: nine in section IV-A, seven in IV-B.1, none in IV-C",
    ),
    Axis(
        "residents_fig9",
        "residents in fig. 9",
        (Value("9", 9), Value("7", 7)),
        "A11: fig. 9 stands between the two sections",
    ),
    Axis(
        "thresholds",
        "thresholds",
        (Value("100/200", (100, 200)), Value("80/160", (80, 160))),
        "R6: section IV-C repeats none",
    ),
    Axis(
        "thresholds_fig9",
        "thresholds of fig. 9",
        (Value("80/160", (80, 160)), Value("100/200", (100, 200), 0.5)),
        "R6: both are printed near it",
    ),
    Axis(
        "gap_s",
        "hosts come",
        (Value("evenly apart", None), Value("1 s apart", 1.0), Value("together", 0.0)),
        "A10: figs. 10 to 14 do not say; fig. 15 has both",
    ),
    MIN_RTO,
    PROFILE,
    Axis(
        "wait",
        "RED's wait",
        (Value("on", True), Value("off", False, 0.5)),
        "ns-2 spaces its drops; the paper of 1993 does otherwise",
    ),
    Axis(
        "max_p",
        "P_max",
        (Value("0.02", 0.02), Value("0.1", 0.1, 0.5)),
        "0.02 is printed; without `linterm_` ns-2 takes 0.1",
    ),
    Axis(
        "average_on_priority",
        "R1: priority arrivals are samples",
        (Value("no", False), Value("yes", True, 0.5)),
        "figs. 5 and 6 leave it open",
    ),
    Axis(
        "np_idle",
        "R2: idle",
        (Value("queue empty", "queue-empty"), Value("no non-priority packet", "non-priority-empty", 0.5)),
        "figs. 5 and 6 leave it open",
    ),
    Axis(
        "count_priority",
        "R3: priority arrivals count",
        (Value("no", False), Value("yes", True, 0.5)),
        "figs. 5 and 6 leave it open",
    ),
    Axis(
        "priority_passes_max",
        "R4: priority passes at TH_max",
        (Value("yes", True), Value("no", False, 0.5)),
        "figs. 5 and 6 leave it open",
    ),
    Axis(
        "forwarded_at_full",
        "R5: priority at a full queue",
        (Value("is lost", "reject"), Value("pushes out", "push-out", 0.5)),
        "figs. 5 and 6 leave it open",
    ),
)

VISITS, HOSTS, GAPS_S = (3, 5, 8), (3, 5, 7), (20.0, 0.0)
"""Points of figs. 12, 13, 16 and 17 that decide under a setting: the ends, and of hosts and visits
the middle."""


def ask(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that depend on a reading."""
    found = evidence.evidence(batch, reading, runs)
    return partial(claims.read, found, evidence.swept(batch, reading, runs, VISITS, HOSTS, GAPS_S))


def beside(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that few of the axes touch."""
    return partial(claims.alone, evidence.anatomy(batch, runs, reading, GAPS_S))


SPACE = Space("IPF", DEFAULT, AXES, ask, runs=4, confirm=12, beside=beside, few=2)
