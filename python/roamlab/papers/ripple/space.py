"""What the paper leaves open, as axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.ripple import claims, evidence
from roamlab.papers.ripple.experiments import DEFAULT, DELAYS_MS, RANDOM_TIMES, Reading
from roamlab.papers.spaces import Space
from roamlab.statistics.axes import Axis, Value
from roamlab.statistics.stats import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.runs import Batch
    from roamlab.statistics.claims import Claim

AXES = (
    Axis(
        "trigger",
        "trigger",
        (Value("source", "source"), Value("path", "path"), Value("no-path", "no-path")),
        '"the trigger set (zero, one or many)"; the paper describes all three, and does not say which it ran',
    ),
    Axis(
        "buffer_pkts",
        "buffer",
        (Value("50", 50), Value("20", 20), Value("10", 10), Value("200", 200)),
        '"some finite number"; no size is printed',
    ),
    Axis(
        "drop",
        "a full buffer drops the",
        (Value("oldest", "oldest"), Value("newest", "newest")),
        "the paper does not say",
    ),
    Axis(
        "lead_ms",
        "trigger ahead by",
        (Value("100 ms", 100), Value("0", 0), Value("20 ms", 20), Value("300 ms", 300), Value("1 s", 1000)),
        '"prior to the disconnection"; how long before is not printed',
    ),
    Axis(
        "bicast_ms",
        "bicast",
        (Value("100 ms", 100), Value("500 ms", 500, 0.5)),
        "how long the old branch lives is not printed",
    ),
    Axis(
        "detection_ms",
        "layer 3 later by, proactive",
        (Value("50 ms", 50), Value("0", 0), Value("300 ms", 300, 0.5), Value("1 s", 1000, 0.5)),
        '"not including Layer 3 mobility detection and handover delay", which come on top; no value is printed',
    ),
    Axis(
        "reactive_ms",
        "layer 3 later by, reactive",
        (Value("50 ms", 50), Value("0", 0, 0.25), Value("300 ms", 300, 0.5), Value("1 s", 1000, 0.5)),
        '"Layer 3 handover is initiated in response to a Layer 2 handover"; no value is printed',
    ),
    Axis(
        "min_rto_ms",
        "RTO floor",
        (Value("200 ms", 200), Value("1 s", 1000, 0.25)),
        '"the sender would have timed out" within gaps of 300 ms and more excludes the 1 s of ns-2.26',
    ),
    Axis(
        "profile",
        "TCP of",
        (Value("ns2-2003", "ns2-2003"), Value("ns2-2009", "ns2-2009", 0.5), Value("the RFCs", "rfc", 0.5)),
        "the paper's ns-2 is 2.26 of 2003; which options it set is not said",
    ),
    Axis(
        "moves",
        "moves",
        (
            Value("at random times", RANDOM_TIMES),
            Value("evenly", "to the next access router, evenly", 0.5),
            Value("to the next base station", "to the next base station", 0.5),
            Value("within one access router", "within one access router", 0.5),
        ),
        'handovers are "to a BS in another sub-domain"; the walk and its times are not printed',
    ),
    Axis(
        "in_flight",
        "in flight at the break",
        (Value("delivered", "delivered"), Value("lost", "lost")),
        "the model of layer 2 is not described",
    ),
    Axis(
        "uplink",
        "answers by the cell",
        (Value("newest", "newest"), Value("oldest", "oldest", 0.5)),
        "which of two cells a host answers through is not said",
    ),
    Axis(
        "correspondent_ms",
        "correspondent",
        (Value("20 ms", 20), Value("50 ms", 50)),
        "the delay of the wide area is not printed",
    ),
    Axis(
        "window_pkts",
        "window",
        (Value("20", 20), Value("40", 40, 0.5)),
        "20 is ns-2's default; none is printed",
    ),
    Axis(
        "air_mbps",
        "air",
        (
            Value("2 Mbit/s", 2),
            Value("1 Mbit/s", 1, 0.5),
            Value("5.5 Mbit/s", 5.5, 0.5),
            Value("11 Mbit/s", 11),
        ),
        "802.11 without its rate; 2 Mbit/s is ns-2's default",
    ),
    Axis(
        "others",
        "other hosts in a cell",
        (Value("none", 0), Value("one", 1, 0.5)),
        "the paper speaks of one host",
    ),
    Axis(
        "normalised_by",
        "normalised by",
        (
            Value("no handover", "no handover"),
            Value("each TCP's own maximum", "own maximum"),
            Value("a common maximum", "common maximum"),
        ),
        "figs. 3 and 5 are normalised, by what is not said",
    ),
)
"""The medium and second copies have no axis: the text excludes all but 802.11, and copies that do not reach TCP."""

SEARCHED_MS = tuple(delay for delay in DELAYS_MS if abs(delay) != 400)
"""The points of figs. 3 to 6 that a search runs: those that a claim names, and the ends of its ranges."""


def ask(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that depend on a reading."""
    return partial(claims.read, evidence.evidence(batch, reading, runs, SEARCHED_MS))


def beside(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """That all named protocols run, with Reno and the longest gap and overlap of the map."""
    found = evidence.named(batch, runs, reading, ["reno"], [min(evidence.NAMED_MS), max(evidence.NAMED_MS)])
    return lambda: [claims.blocks(found)]


def whole(batch: Batch, runs: range) -> Callable[[], Sequence[Claim]]:
    """All claims, as the reproduction decides them."""
    named = evidence.named(batch, runs[: evidence.few_runs(len(runs))])
    found = evidence.evidence(batch, DEFAULT, runs)
    return lambda: [claims.blocks(named), *claims.read(found)]


SPACE = Space("Ripple", DEFAULT, AXES, ask, runs=LEAST, confirm=LEAST, beside=beside, whole=whole, few=1)
