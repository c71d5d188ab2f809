"""What the paper leaves open, as axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.ipf import claims, evidence
from roamlab.papers.ipf.experiments import DEFAULT, Reading
from roamlab.papers.spaces import PROFILE, Space
from roamlab.statistics.axes import Axis, Value

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
        "gap",
        "hosts come",
        (
            Value("together", "together"),
            Value("1 s apart", "1 s apart"),
            Value("evenly apart", "evenly apart", 0.5),
        ),
        "A10: five visits in all, each one of the MHs; over how many seconds is not said",
    ),
    Axis(
        "stay",
        "a visit lasts",
        (Value("half", 0.5), Value("a quarter", 0.25), Value("three quarters", 0.75)),
        "A10: as a share of the time between two visits; the paper does not say",
    ),
    Axis(
        "old_cell",
        "old cell",
        (Value("shared", "shared"), Value("own", "own")),
        "fig. 8 shows one, with one MH; where five come from is not said",
    ),
    Axis(
        "measured",
        "resident measured",
        (Value("all", "all"), Value("first", "first", 0.5), Value("last", "last", 0.5)),
        "figs. 14, 16 and 17 show one of seven and do not say which",
    ),
    Axis(
        "deviation",
        "deviation over",
        (
            Value("cases", "cases"),
            Value("1 s", "1 s", 0.5),
            Value("5 s", "5 s", 0.5),
            Value("20 s", "20 s", 0.5),
        ),
        "figs. 16 and 17: what the printed 60 and 37 kbit/s are taken over is not said",
    ),
    Axis(
        "min_rto",
        "RTO floor",
        (Value("1 s", "1 s"), Value("200 ms", "200 ms")),
        "1 s in ns-2 from May 2001 to October 2004 and in RFC 2988; the manuscript is of February 2004",
    ),
    PROFILE,
    Axis(
        "gentle",
        "RED gentle",
        (Value("no", False), Value("yes", True)),
        "R8: the prose drops every arrival above TH_max; ns-2's default is gentle since April 2001",
    ),
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


def whole(batch: Batch, runs: range) -> Callable[[], Sequence[Claim]]:
    """All claims, as the reproduction decides them."""
    anatomy = evidence.anatomy(batch, runs[: evidence.few_runs(len(runs))])
    found, sweep = evidence.evidence(batch, DEFAULT, runs), evidence.swept(batch, DEFAULT, runs)
    return partial(claims.decide, anatomy, found, sweep)


SPACE = Space("IPF", DEFAULT, AXES, ask, runs=5, confirm=12, beside=beside, whole=whole)
