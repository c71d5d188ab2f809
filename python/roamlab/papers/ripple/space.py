"""What the paper leaves open, as axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.ripple import claims, evidence
from roamlab.papers.ripple.experiments import DEFAULT, RANDOM_TIMES, Reading
from roamlab.papers.spaces import Space
from roamlab.statistics.space import Axis, Value
from roamlab.statistics.stats import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.runs import Batch
    from roamlab.statistics.claims import Claim

AXES = (
    Axis(
        "buffer_pkts",
        "buffer",
        (Value("50", 50), Value("20", 20), Value("10", 10)),
        "the paper prints no size",
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
        (Value("100 ms", 100), Value("0", 0), Value("20 ms", 20), Value("300 ms", 300)),
        "how early the trigger comes is not printed",
    ),
    Axis(
        "bicast_ms",
        "bicast",
        (Value("100 ms", 100), Value("500 ms", 500, 0.5)),
        "how long the old branch lives is not printed",
    ),
    Axis(
        "detection_ms",
        "layer 3 later by",
        (Value("0", 0), Value("50 ms", 50, 0.5)),
        "movement detection is not described",
    ),
    Axis(
        "min_rto_ms",
        "RTO floor",
        (Value("1 s", 1000), Value("200 ms", 200)),
        "ns-2 of 2003 has 1 s; the paper does not say that it kept it",
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
            Value("to the next access router", "to the next access router"),
            Value("at random times", RANDOM_TIMES, 0.5),
            Value("to the next base station", "to the next base station"),
            Value("within one access router", "within one access router", 0.5),
        ),
        'handovers are "to a BS in another sub-domain"; the walk is not printed',
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
        "duplicates",
        "second copies",
        (Value("pass", "pass"), Value("are dropped", "drop")),
        "the paper does not say",
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
        (Value("2 Mbit/s", 2), Value("11 Mbit/s", 11)),
        "802.11 without its rate",
    ),
    Axis(
        "medium",
        "medium",
        (Value("dedicated", "dedicated"), Value("802.11b's", "dcf", 0.5)),
        'the paper names "detailed 802.11 models", and sets layer 2\'s delay all the same',
    ),
    Axis(
        "normalised_by",
        "normalised by",
        (Value("no handover", "no handover"), Value("the maximum", "maximum")),
        "figs. 3 and 5 are normalised, by what is not said",
    ),
)


def ask(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that depend on a reading."""
    return partial(_decide, evidence.evidence(batch, reading, runs))


def _decide(found: evidence.Evidence) -> list[Claim]:
    return [claim(found) for claim in claims.OF_READING.values()]


def beside(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """That all named protocols run, with Reno and the longest gap and overlap of the map."""
    found = evidence.named(batch, runs, reading, ["reno"], [min(evidence.NAMED_MS), max(evidence.NAMED_MS)])
    return lambda: [claims.blocks(found)]


SPACE = Space("Ripple", DEFAULT, AXES, ask, runs=LEAST, confirm=LEAST, beside=beside, few=1)
