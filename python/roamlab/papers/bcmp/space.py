"""What the paper leaves open, as axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.bcmp import claims, evidence
from roamlab.papers.bcmp.experiments import DEFAULT, Reading
from roamlab.papers.spaces import Space
from roamlab.statistics.axes import Axis, Value
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
        "min_rto",
        "RTO floor",
        (Value("of the profile", "of the profile"), Value("200 ms", "200 ms")),
        "not printed: 1 s in ns-2 of 2003, none but two ticks in ns-2 of 2001",
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
        (Value("change", True), Value("stay", False, 0.25)),
        'allowed and "not mandated"; the 15 to 16 ms of forwarding exclude anchors that stay',
    ),
    Axis(
        "dwell_ms",
        "a host moves each",
        (Value("2006 ms", 2006), Value("1003 ms", 1003, 0.25), Value("1000 ms", 1000, 0.25)),
        '"a total of 100 handovers every 1 second" of two hosts: each moves every 2 s; with 1003 or 1000 ms the total '
        "is 200",
    ),
    Axis(
        "walkers",
        "hosts that move go",
        (
            Value("to a neighbour by chance", "to a neighbour by chance"),
            Value("along the edge and back", "along the edge and back", 0.5),
            Value("in step", "along the edge, in step", 0.5),
            Value("one behind the other", "one behind the other", 0.5),
        ),
        '"moving at the edge of the AN"; where each goes is not said',
    ),
    Axis(
        "when_prepared",
        "planned: moves",
        (Value("when prepared", True), Value("at a fixed time", False, 0.5)),
        '"Successful planned handovers"; at which moment a host moves is not said',
    ),
    Axis(
        "lead_ms",
        "preparation requested ahead by",
        (Value("50 ms", 50), Value("20 ms", 20), Value("10 ms", 10, 0.5), Value("100 ms", 100, 0.5)),
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
        "air",
        "air",
        (Value("of each host", "of each host"), Value("of a cell", "of a cell", 0.25)),
        'without mobility the download reaches "98% to 100%" of the link from the correspondent, which the air of a '
        "cell with others in it excludes",
    ),
    Axis(
        "beside",
        "beside the download",
        (
            Value("everything", "everything"),
            Value("residents", "residents", 0.5),
            Value("nothing", "nothing"),
        ),
        'the applications "will be supported by the MHs"; "the network is not congested"',
    ),
    Axis(
        "load",
        "streams",
        (Value("alone", "without the download"), Value("beside the download", "with the download")),
        "the paper shows UDP and TCP apart; whether they ran at once is not said",
    ),
    Axis(
        "window",
        "window of the verdict",
        (Value("60", 60), Value("40", 40, 0.5), Value("30", 30, 0.5), Value("20", 20, 0.5)),
        "figs. 6 and 7 have an axis of windows; at which one the percentages are read is not said",
    ),
)


def ask(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that depend on a reading."""
    return partial(claims.read, evidence.evidence(batch, reading, runs))


def beside(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """One run of all procedures; no and planned handovers in the tree, with a variant of each kind."""
    procedures = evidence.procedures(batch, runs[:1], reading)
    still = evidence.still(batch, runs, reading, ["tree"], ["reno", "sack", "vegas"])
    return lambda: [claims.login(procedures, reading.moves), claims.nomove(still, str(reading))]


def whole(batch: Batch, runs: range) -> Callable[[], Sequence[Claim]]:
    """All claims, as the reproduction decides them."""
    found, still = evidence.evidence(batch, DEFAULT, runs), evidence.still(batch, runs, DEFAULT)
    procedures = evidence.procedures(batch, runs[: evidence.few_runs(len(runs))])
    return lambda: [
        claims.login(procedures, DEFAULT.moves),
        claims.nomove(still, str(DEFAULT)),
        *claims.read(found),
    ]


SPACE = Space("BCMP", DEFAULT, AXES, ask, runs=LEAST, confirm=LEAST, beside=beside, whole=whole)
