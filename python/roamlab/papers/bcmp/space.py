"""What the paper leaves open, as axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.bcmp import claims, evidence
from roamlab.papers.bcmp.experiments import DEFAULT, Reading
from roamlab.papers.spaces import Space
from roamlab.statistics.space import Axis, Value
from roamlab.statistics.stats import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.runs import Batch
    from roamlab.statistics.claims import Claim

AXES = (
    Axis(
        "profile",
        "TCP of",
        (Value("ns2-2003", "ns2-2003"), Value("ns2-2001", "ns2-2001"), Value("the RFCs", "rfc", 0.5)),
        "the paper says ns-2, without a version",
    ),
    Axis(
        "min_rto_ms",
        "RTO floor",
        (Value("1 s", 1000), Value("200 ms", 200)),
        "ns-2 of that time has 1 s; the paper does not say that it kept it",
    ),
    Axis(
        "header_bytes",
        "headers",
        (Value("none", 0), Value("40 B", 40)),
        "packets are of 1480 bytes; whether with headers is not said",
    ),
    Axis(
        "forwarding",
        "forwarding after the notify",
        (Value("no", False), Value("yes", True)),
        "the paper does not say what the old access router does in an unplanned handover",
    ),
    Axis(
        "anchor_change",
        "anchors",
        (Value("stay", False), Value("change", True)),
        "the paper allows a change of the anchor and does not mandate it",
    ),
    Axis(
        "dwell_ms",
        "a handover each",
        (Value("1003 ms", 1003), Value("1000 ms", 1000)),
        '"every 1 second"; exactly that meets periodic packets in one phase',
    ),
    Axis(
        "lead_ms",
        "prepared ahead by",
        (Value("50 ms", 50), Value("10 ms", 10), Value("20 ms", 20), Value("100 ms", 100, 0.5)),
        "not printed",
    ),
    Axis(
        "overlap_ms",
        "overlap",
        (Value("0", 0), Value("50 ms", 50)),
        '"graceful physical handover"; whether a host hears both cells is not said',
    ),
    Axis(
        "in_flight",
        "in flight at the break",
        (Value("delivered", "delivered"), Value("lost", "lost")),
        "the model of layer 2 is not described",
    ),
    Axis(
        "queue_pkts",
        "wired queues",
        (Value("50", 50), Value("20", 20, 0.5), Value("1000", 1000, 0.5)),
        "50 is ns-2's default; none is printed",
    ),
    Axis(
        "film",
        "film",
        (Value("medium", "mpeg4-medium"), Value("high", "mpeg4-high")),
        "Jurassic Park, in which encoding is not said",
    ),
    Axis(
        "spacing",
        "packets of a frame",
        (Value("back-to-back", "back-to-back"), Value("spread", "spread")),
        "not described",
    ),
    Axis(
        "load",
        "streams",
        (Value("alone", "without the download"), Value("beside the download", "with the download")),
        "the paper shows UDP and TCP apart; whether they ran at once is not said",
    ),
)


def ask(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that depend on a reading."""
    return partial(_decide, evidence.evidence(batch, reading, runs))


def _decide(found: evidence.Evidence) -> list[Claim]:
    return [claim(found) for claim in claims.OF_READING.values()]


def beside(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """One run of all procedures; no and planned handovers in the tree, with a variant of each kind."""
    procedures = evidence.procedures(batch, runs[:1], reading)
    still = evidence.still(batch, runs, reading)
    return lambda: [claims.login(procedures), claims.nomove(still, str(reading))]


SPACE = Space("BCMP", DEFAULT, AXES, ask, runs=LEAST, confirm=LEAST, beside=beside)
