"""What the paper leaves open, as axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.lte import claims, evidence
from roamlab.papers.lte.experiments import DEFAULT, Reading
from roamlab.papers.spaces import PROFILE, Space
from roamlab.statistics.axes import Axis, Value
from roamlab.statistics.stats import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.runs import Batch
    from roamlab.statistics.claims import Claim

AXES = (
    Axis(
        "min_rto",
        "RTO floor",
        (Value("200 ms", "200 ms"), Value("100 ms", "100 ms", 0.5), Value("1 s", "1 s")),
        'section VI.A: "set correctly according to the specifications RFC2988", which has 1 s; figs. 9 and 10 show '
        "spurious timeouts within a fraction of that; ns-2 has 200 ms since October 2004",
    ),
    Axis(
        "source_mbps",
        "air at the source",
        (
            Value("5 Mbit/s a mobile", 5),
            Value("4 Mbit/s a mobile", 4),
            Value("6 Mbit/s a mobile", 6),
            Value("shared", None, 0.5),
        ),
        'section V.A.2: "the typical RTT, namely the time needed to the SeNodeB to emptying its buffer"; section '
        'VI.B.1: "around 100 ms"; a window of 44 takes 106 ms at 5 Mbit/s',
    ),
    Axis(
        "cross",
        "cross traffic to the source",
        (Value("1 flow", 1), Value("2 flows", 2), Value("none", 0, 0.5)),
        'section VI.A: "the cross traffic on the core-network router is assumed FTP"; no number is printed, and table '
        "II attaches one mobile to the source",
    ),
    Axis(
        "radio",
        "air link",
        (Value("24 Mbit/s", "24 Mbit/s"), Value("12 Mbit/s", "12 Mbit/s")),
        'the rate of a cell is not printed; section I: "comparable to or even larger than wired links"',
    ),
    Axis(
        "air_ms",
        "air",
        (Value("5 ms", 5), Value("1 ms", 1), Value("10 ms", 10)),
        "table I prints the latency of wired links alone",
    ),
    Axis(
        "server_ms",
        "server link",
        (Value("2 ms", 2), Value("35 ms", 35, 0.5)),
        'table I: "latency of wired links 2 ms"; 35 ms makes the round trip of an empty network "around 100 ms"',
    ),
    Axis(
        "detach",
        "detach time",
        (
            Value("includes random access", "in all"),
            Value("before random access", "before random access", 0.5),
        ),
        'section VI.A: "the detach time is the interval time of the hard handover"',
    ),
    Axis(
        "window_aqm",
        "window with AQM",
        (Value("1000", 1000), Value("200", 200), Value("44", 44, 0.5)),
        "table III prints none; table II's 44 gives drop rates of 0.3 to 0.8 %, where table IV prints 2.1 to 3.9 %",
    ),
    Axis(
        "window_others",
        "window of the others",
        (Value("44", 44), Value("1000", 1000, 0.5)),
        "table II prints cwnd_MAX without saying whose",
    ),
    Axis(
        "queue_weight",
        "RED's weight",
        (Value("automatic", -1.0), Value("0.002", 0.002)),
        "table III prints none; ns-2 derives it from the link since October 2004, as the cited page recommends",
    ),
    Axis(
        "scheduler",
        "scheduler",
        (Value("WFQ", "wfq"), Value("round robin", "round-robin", 0.5)),
        'table I; others "give basically same performance"',
    ),
    Axis(
        "after_prediction",
        "forwarding after a prediction",
        (Value("what is left", "lossless"), Value("nothing", "none")),
        "section V.A.2 avoids forwarding and does not say what becomes of what is left",
    ),
    Axis(
        "lead_ms",
        "predicted ahead by",
        (Value("130 ms", 130), Value("60 ms", 60, 0.25), Value("200 ms", 200, 0.25)),
        "table II prints 130 ms for the forwarding study, table III none",
    ),
    Axis(
        "end_markers",
        "end markers",
        (Value("1", 1), Value("3", 3, 0.5)),
        'section III.B: "one or more"',
    ),
    Axis(
        "fig12_rtt",
        "round trip of fig. 12",
        (Value("100 ms for all", "typical"), Value("each run's own", "own")),
        'fig. 12 counts "until one RTT after"; the "typical RTT" is "around 100 ms"',
    ),
    PROFILE,
)


def ask(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that depend on a reading."""
    return partial(claims.read, evidence.evidence(batch, reading, runs))


def beside(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that few of the axes touch."""
    standard = evidence.evidence(batch, reading, runs)
    return partial(claims.beside, standard, evidence.anatomy(batch, runs, reading))


def whole(batch: Batch, runs: range) -> Callable[[], Sequence[Claim]]:
    """All claims, as the reproduction decides them."""
    anatomy = evidence.anatomy(batch, runs[: evidence.few_runs(len(runs))])
    return partial(claims.decide, anatomy, evidence.evidence(batch, DEFAULT, runs))


SPACE = Space("LTE", DEFAULT, AXES, ask, runs=12, confirm=40, beside=beside, whole=whole, few=LEAST)
