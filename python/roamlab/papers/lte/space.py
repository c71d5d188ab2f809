"""What the paper leaves open, as axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.lte import claims, evidence
from roamlab.papers.lte.experiments import DEFAULT, Reading
from roamlab.papers.spaces import MIN_RTO, PROFILE, Space
from roamlab.statistics.space import Axis, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.runs import Batch
    from roamlab.statistics.claims import Claim

AXES = (
    MIN_RTO,
    Axis(
        "air_ms",
        "air",
        (Value("5 ms", 5), Value("20 ms", 20), Value("40 ms", 40), Value("44 ms", 44)),
        'no delay is printed; a "typical RTT" of "around 100 ms" has 5 ms with the queue full, 44 ms with it empty',
    ),
    Axis(
        "radio",
        "air link",
        (Value("24 Mbit/s", "24 Mbit/s"), Value("12 Mbit/s", "12 Mbit/s")),
        "the rate of a cell is not printed",
    ),
    Axis(
        "window_aqm",
        "window with AQM",
        (Value("44", 44), Value("20", 20, 0.5), Value("200", 200), Value("1000", 1000)),
        "table II prints 44, table III none; ns-2's default is 20",
    ),
    Axis(
        "red_unit",
        "RED in",
        (Value("packets", "packets"), Value("bytes", "bytes")),
        "table III prints 20 and 65 without a unit",
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
    PROFILE,
)


def ask(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that depend on a reading."""
    return partial(claims.read, evidence.evidence(batch, reading, runs))


def beside(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that few of the axes touch."""
    standard = evidence.evidence(batch, reading, runs)
    return partial(claims.beside, standard, evidence.anatomy(batch, runs, reading))


SPACE = Space("LTE", DEFAULT, AXES, ask, runs=12, confirm=40, beside=beside, few=4)
