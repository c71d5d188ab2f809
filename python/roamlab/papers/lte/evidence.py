"""All runs of the paper, measured. Run n draws from the same random streams in every experiment of the same cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from roamlab.papers.lte import experiments, measures
from roamlab.papers.lte.experiments import (
    DEFAULT,
    PREDICTIONS,
    TARGETS,
    Aqm,
    Interpretation,
    Scheme,
)
from roamlab.papers.runs import SEED, further
from roamlab.running.run import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.papers.lte.measures import Active, Forwarded, Handover, Trace
    from roamlab.papers.runs import Batch

PEAKS = (20, 28, 36, 44, 52, 60)
"""Fig. 4: values of cwnd_MAX that are simulated."""

Active12 = tuple[Scheme, Aqm]
FIG12: tuple[Active12, ...] = (
    ("standard", "droptail"),
    ("standard", "red"),
    ("standard", "mark"),
    ("predictive", "droptail"),
    ("predictive", "red"),
    ("predictive", "mark"),
)
"""Fig. 12: the standard procedure and prediction, without active queue management and with both kinds."""
TABLE_IV = FIG12[:3]
PREDICTIVE: tuple[Active12, ...] = (("predictive", "droptail"), ("predictive", "red"))
NARROW_PKTS = 8
MORE_PREDICTIVE = 19


@dataclass(frozen=True)
class Evidence:
    """What the claims are decided from that depend on an interpretation. Lists have one entry per run."""

    interpretation: Interpretation
    forwarding: dict[tuple[Scheme, int], list[Handover]]
    """Table II, by scheme and mobiles in the target cell; the fast path switch with five only."""
    active: dict[Active12, list[Active]]
    """Tables III and IV; with prediction only until what fig. 12 counts is over."""
    more_predictive: dict[Active12, list[Active]]
    """Further runs of `PREDICTIVE` under the default, `MORE_PREDICTIVE` times as many.

    What fig. 12 counts differs by a tenth between the two, and by its whole size between runs.
    """


@dataclass(frozen=True)
class Anatomy:
    """The experiments that are made under the default interpretation only."""

    double: dict[int, list[Forwarded]]
    peaks: dict[tuple[int, bool], list[Handover]]
    """Fig. 4: by cwnd_MAX, and whether `ref` moves."""
    tunnels: dict[str, list[Active]]
    """Fig. 7: by what the queue marks and whether the flows are ECN-capable."""
    predictions: dict[tuple[str, bool], list[Handover]]
    """Section V.A.2: by when the handover is predicted, and whether it comes."""
    causes: dict[tuple[Scheme, str], list[Handover]]
    """Handovers into a cell of five mobiles, by scheme and the cause that is taken away."""
    narrow: dict[Active12, list[Active]]
    """Fig. 12 with prediction and windows of at most `NARROW_PKTS`, which fill no queue."""


def few_runs(runs: int) -> int:
    """Runs of single experiments, and of table IV under another interpretation."""
    return min(runs, 30)


def _forwarding_cases() -> list[tuple[Scheme, int]]:
    cases: list[tuple[Scheme, int]] = [(scheme, n) for scheme in ("standard", "predictive") for n in TARGETS]
    return [*cases, ("fast", TARGETS[-1])]


def evidence(batch: Batch, interpretation: Interpretation, runs: int | range) -> Evidence:
    """Asks for the runs of tables II to IV: so many, or those with these numbers."""
    forwarded = {case: (experiments.forwarding(*case, interpretation), runs) for case in _forwarding_cases()}
    return Evidence(
        interpretation,
        batch.each(forwarded, partial(measures.handover, **_timing(interpretation))),
        active(batch, interpretation, runs, FIG12),
        active(batch, interpretation, further(runs, MORE_PREDICTIVE), PREDICTIVE)
        if interpretation == DEFAULT
        else {case: [] for case in PREDICTIVE},
    )


def active(
    batch: Batch, interpretation: Interpretation, runs: int | range, cases: Sequence[Active12]
) -> dict[Active12, list[Active]]:
    """Asks for cases of fig. 12; table IV has those of the standard procedure."""
    queued = {
        (scheme, aqm): (
            experiments.active_queue(
                scheme, aqm, interpretation, seconds=10.0 if scheme == "standard" else interpretation.short_s
            ),
            runs,
        )
        for scheme, aqm in cases
    }
    return batch.each(
        queued, partial(measures.active, largest=interpretation.window_aqm, **_timing(interpretation))
    )


def _timing(interpretation: Interpretation) -> dict[str, Any]:
    """The arguments of `measures.handover` that depend on the interpretation."""
    return {
        "watch_s": interpretation.watch_s,
        "ack_s": interpretation.ack_s,
        "count_s": interpretation.count_s,
    }


def anatomy(batch: Batch, runs: int | range, interpretation: Interpretation = DEFAULT) -> Anatomy:
    """The experiments of one interpretation: `few_runs` of so many, or those with these numbers."""
    few = few_runs(runs) if isinstance(runs, int) else runs
    kinds: tuple[tuple[str, Aqm, bool], ...] = (
        ("always-ect, ECN", "mark", True),
        ("always-ect, no ECN", "mark", False),
        ("RFC 6040, ECN", "mark, RFC 6040", True),
        ("RFC 6040, no ECN", "mark, RFC 6040", False),
    )
    tunnels = {
        name: (
            experiments.active_queue(
                "standard", aqm, interpretation, ecn=ecn, seconds=interpretation.short_s
            ),
            few,
        )
        for name, aqm, ecn in kinds
    }
    handover = partial(measures.handover, **_timing(interpretation))
    peaks: dict[tuple[int, bool], list[Handover]] = {}
    for window in PEAKS:
        cases = {
            (window, moves): (experiments.peak(window, moves, interpretation), few) for moves in (True, False)
        }
        peaks |= batch.each(cases, partial(handover, largest=window))
    predictions = {
        (name, comes): (experiments.predicted(lead, interpretation, comes=comes), few)
        for name, lead in PREDICTIONS.items()
        for comes in (True, False)
    }
    causes = {
        (scheme, cause): (experiments.without(scheme, cause, interpretation), few)
        for scheme in experiments.SCHEMES
        for cause in experiments.CAUSES
    }
    double = {n: (experiments.double_queuing(n, interpretation), few) for n in TARGETS}
    return Anatomy(
        double=batch.each(double, measures.forwarded),
        peaks=peaks,
        tunnels=batch.each(
            tunnels, partial(measures.active, largest=interpretation.window_aqm, **_timing(interpretation))
        ),
        predictions=batch.each(predictions, handover),
        causes=batch.each(causes, handover),
        narrow=active(batch, replace(interpretation, window_aqm=NARROW_PKTS), few, PREDICTIVE),
    )


def traces(found: Evidence) -> tuple[int, dict[Scheme, Trace]]:
    """Figs. 9 and 10: the number of a run, and what is drawn of it with each scheme.

    It is the first run in which the standard procedure ends in a timeout, as the paper's does, or else the first.
    """
    outcomes = [one.congestion.outcome for one in found.forwarding["standard", TARGETS[-1]]]
    number = outcomes.index("timeout") if "timeout" in outcomes else 0
    drawn = {
        scheme: measures.trace(run(experiments.trajectory(scheme), SEED, number))
        for scheme in experiments.SCHEMES
    }
    return number, drawn
