"""What the paper leaves open, as axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.mblue import claims, evidence
from roamlab.papers.mblue.experiments import DEFAULT, Reading
from roamlab.papers.spaces import MIN_RTO, PROFILE, Space
from roamlab.statistics.axes import Axis, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.runs import Batch
    from roamlab.statistics.claims import Claim

AXES = (
    Axis(
        "rtt",
        "residents",
        (Value("86/88/90 ms", "86/88/90 ms"), Value("88/90/92 ms", "88/90/92 ms")),
        "section IV.A says 86/88/90, section IV.B 88/90/92",
    ),
    Axis(
        "beacon",
        "T_B",
        (Value("worst", "worst"), Value("uniform", "uniform")),
        "table I counts the whole interval between beacons; a host hears one after a part of it",
    ),
    MIN_RTO,
    PROFILE,
    Axis(
        "red_wait",
        "RED's wait",
        (Value("on", True), Value("off", False, 0.5)),
        "ns-2 spaces its drops; the paper of 1993 does otherwise",
    ),
    Axis(
        "blue_random",
        "BLUE updates on",
        (Value("overflow only", False), Value("any drop", True)),
        "equation 3 prints any drop, the prose and BLUE's authors overflow",
    ),
    Axis(
        "idle_mode",
        "empty by",
        (
            Value("event and arrival", "event-and-arrival"),
            Value("event", "event"),
            Value("arrival", "arrival"),
            Value("continuous", "continuous"),
        ),
        "B3: the paper does not say when the buffer counts as empty",
    ),
    Axis(
        "freeze_time",
        "freeze time",
        (Value("1 ms", "1 ms"), Value("10 ms", "10 ms"), Value("90 ms", "90 ms")),
        'table III prints 1 ms; section III.B: "basically based on RTT periods"',
    ),
    Axis(
        "max_p",
        "P_max",
        (Value("0.02", 0.02), Value("0.1", 0.1, 0.5)),
        "table II prints 0.02; without `linterm_` ns-2 takes 0.1",
    ),
    Axis(
        "gentle",
        "RED gentle",
        (Value("no", False), Value("yes", True)),
        "section III.A drops every arrival above TH_max; ns-2's default is gentle since April 2001",
    ),
    Axis(
        "stay",
        "a visit lasts",
        (Value("half", 0.5), Value("a quarter", 0.25), Value("three quarters", 0.75)),
        "A10: as a share of the time between two visits; the paper does not say",
    ),
    Axis(
        "both",
        "compared queue in",
        (Value("the new cell", False), Value("both cells", True, 0.5)),
        "section IV.B tests the queues at the new base station; the old one's is not said",
    ),
    Axis(
        "early",
        "flows begin in",
        (Value("0.5 to 1.5 s", False), Value("0.2 to 0.3 s", True)),
        "A12: starts are not printed; fig. 12's axis has 4400 packets received at 9.5 s",
    ),
    Axis(
        "stable",
        "queue's deviation",
        (
            Value("from the first handoff on", "from the first handoff on"),
            Value("the visits", "the visits", 0.5),
            Value("relative", "relative", 0.5),
        ),
        '"stabilizes more than RED at queue length": over which time, and whether against its mean, is not said',
    ),
    Axis(
        "forwarded_at_full",
        "marked packet at a full queue",
        (Value("reject", "reject"), Value("push out", "push-out", 0.5)),
        "the paper excludes the case",
    ),
)


def ask(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that depend on a reading."""
    return partial(claims.read, evidence.evidence(batch, reading, runs))


def beside(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that few of the axes touch."""
    return partial(claims.alone, evidence.anatomy(batch, runs, reading))


def whole(batch: Batch, runs: range) -> Callable[[], Sequence[Claim]]:
    """All claims, as the reproduction decides them."""
    anatomy = evidence.anatomy(batch, runs[: evidence.few_runs(len(runs))])
    return partial(claims.decide, anatomy, evidence.evidence(batch, DEFAULT, runs))


SPACE = Space("MBLUE", DEFAULT, AXES, ask, runs=8, confirm=30, beside=beside, whole=whole)
