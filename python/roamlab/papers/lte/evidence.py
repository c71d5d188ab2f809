"""All runs of the paper, measured. Run n draws from the same random streams in every experiment of the same cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from roamlab.papers.lte import experiments, measures
from roamlab.papers.lte.experiments import (
    DEFAULT,
    PREDICTIONS,
    TARGETS,
    Aqm,
    Interpretation,
    Scheme,
)
from roamlab.papers.runs import SEED, each_run
from roamlab.running.run import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.lte.measures import Active, Forwarded, Handover, Trace
    from roamlab.papers.runs import Batch
    from roamlab.scenarios.scenario import Scenario

PEAKS = (20, 28, 36, 44, 52, 60)
"""Fig. 4: values of cwnd_MAX that are simulated."""

Traced: TypeAlias = "tuple[int, dict[Scheme, Trace]]"
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
IMPROVED: tuple[Active12, ...] = (("standard", "red"), *PREDICTIVE)
"""Fig. 12 except the standard procedure with drop-tail: AQM, prediction, and both."""
NARROW_PKTS = 8
OTHER_SCHEDULERS = ("round-robin", "proportional-fair")
"""At the eNodeB, next to the paper's WFQ."""


@dataclass(frozen=True)
class Evidence:
    """Data from which the claims are decided that depend on an interpretation. Lists have one entry per run."""

    interpretation: Interpretation
    forwarding: dict[tuple[Scheme, int], list[Handover]]
    """Table II, by scheme and mobiles in the target cell; the fast path switch with five only."""
    active: dict[Active12, list[Active]]
    """Tables III and IV; with prediction only until what fig. 12 counts is over."""


@dataclass(frozen=True)
class Scheduled:
    """Runs with one scheduler at the eNodeBs."""

    forwarding: dict[Scheme, list[Handover]]
    """Into a cell of five mobiles: the standard procedure and prediction."""
    active: dict[Active12, list[Active]]
    """Fig. 12 without marks, and with the standard procedure table IV."""


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
    schedulers: dict[str, Scheduled]
    """By scheduler: WFQ and `OTHER_SCHEDULERS`."""


def few_runs(runs: int) -> int:
    """Runs of single experiments, and of table IV under another interpretation."""
    return min(runs, 30)


def scheduled_runs(runs: int) -> int:
    """Runs with each scheduler, and with each kind of tunnel."""
    return min(runs, 100)


def _forwarding_cases() -> list[tuple[Scheme, int]]:
    cases: list[tuple[Scheme, int]] = [(scheme, n) for scheme in ("standard", "predictive") for n in TARGETS]
    return [*cases, ("fast", TARGETS[-1])]


def evidence(batch: Batch, interpretation: Interpretation, runs: int | range) -> Evidence:
    """Asks for the runs of tables II to IV: this number, or those with these numbers."""
    return Evidence(
        interpretation,
        _forwarding(batch, interpretation, runs, _forwarding_cases()),
        active(batch, interpretation, runs, TABLE_IV) | active(batch, interpretation, runs, FIG12[3:]),
    )


def _forwarding(
    batch: Batch, interpretation: Interpretation, runs: int | range, cases: Sequence[tuple[Scheme, int]]
) -> dict[tuple[Scheme, int], list[Handover]]:
    found: dict[tuple[Scheme, int], list[Handover]] = {}
    for scheme in dict.fromkeys(scheme for scheme, _ in cases):
        wanted = {
            case: (each_run(partial(experiments.forwarding, *case), interpretation), runs)
            for case in cases
            if case[0] == scheme
        }
        found |= batch.each(wanted, partial(measures.handover, **_timing(interpretation)))
    return found


def active(
    batch: Batch,
    interpretation: Interpretation,
    runs: int | range,
    cases: Sequence[Active12],
) -> dict[Active12, list[Active]]:
    """Asks for cases of fig. 12; table IV has those of the standard procedure."""

    def experiment(scheme: Scheme, aqm: Aqm) -> Callable[[Interpretation], Scenario]:
        seconds = 10.0 if scheme == "standard" else interpretation.short_s
        return partial(experiments.active_queue, scheme, aqm, seconds=seconds)

    queued = {case: (each_run(experiment(*case), interpretation), runs) for case in cases}
    return batch.each(
        queued, partial(measures.active, largest=interpretation.window_aqm, **_timing(interpretation))
    )


def scheduled(
    batch: Batch, runs: int | range, interpretation: Interpretation = DEFAULT
) -> dict[str, Scheduled]:
    """Asks for the same with each scheduler."""
    found = {}
    for name in ("wfq", *OTHER_SCHEDULERS):
        under = replace(interpretation, scheduler=name)
        cases: list[tuple[Scheme, int]] = [(scheme, TARGETS[-1]) for scheme in ("standard", "predictive")]
        forwarded = _forwarding(batch, under, runs, cases)
        found[name] = Scheduled(
            {scheme: of_case for (scheme, _), of_case in forwarded.items()},
            active(batch, under, runs, [("standard", "droptail"), *IMPROVED]),
        )
    return found


def _timing(interpretation: Interpretation) -> dict[str, Any]:
    """The arguments of `measures.handover` that depend on the interpretation."""
    return {
        "watch_s": interpretation.watch_s,
        "ack_s": interpretation.ack_s,
        "count_s": interpretation.count_s,
    }


def anatomy(batch: Batch, runs: int | range, interpretation: Interpretation = DEFAULT) -> Anatomy:
    """The experiments of one interpretation: the first few of this number of runs, or of those with these numbers."""
    numbers = range(runs) if isinstance(runs, int) else runs
    few, with_each = (numbers[: of(len(numbers))] for of in (few_runs, scheduled_runs))

    def asked(
        experiment: Callable[[Interpretation], Scenario], numbers: range = few
    ) -> tuple[Scenario | Callable[[int], Scenario], range]:
        return each_run(experiment, interpretation), numbers

    kinds: tuple[tuple[str, Aqm, bool], ...] = (
        ("always-ect, ECN", "mark", True),
        ("always-ect, no ECN", "mark", False),
        ("RFC 6040, ECN", "mark, RFC 6040", True),
        ("RFC 6040, no ECN", "mark, RFC 6040", False),
    )
    tunnels = {
        name: asked(
            partial(experiments.active_queue, "standard", aqm, ecn=ecn, seconds=interpretation.short_s),
            with_each,
        )
        for name, aqm, ecn in kinds
    }
    handover = partial(measures.handover, **_timing(interpretation))
    peaks: dict[tuple[int, bool], list[Handover]] = {}
    for window in PEAKS:
        cases = {(window, moves): asked(partial(experiments.peak, window, moves)) for moves in (True, False)}
        peaks |= batch.each(cases, partial(handover, largest=window))
    predictions = {
        (name, comes): asked(partial(experiments.predicted, lead, comes=comes))
        for name, lead in PREDICTIONS.items()
        for comes in (True, False)
    }
    causes = {
        (scheme, cause): asked(partial(experiments.without, scheme, cause))
        for scheme in experiments.SCHEMES
        for cause in experiments.CAUSES
    }
    double = {n: asked(partial(experiments.double_queuing, n)) for n in TARGETS}
    return Anatomy(
        double=batch.each(double, measures.forwarded),
        peaks=peaks,
        tunnels=batch.each(
            tunnels, partial(measures.active, largest=interpretation.window_aqm, **_timing(interpretation))
        ),
        predictions=batch.each(predictions, handover),
        causes=batch.each(causes, handover),
        narrow=active(batch, replace(interpretation, window_aqm=NARROW_PKTS), few, PREDICTIVE),
        schedulers=scheduled(batch, with_each, interpretation),
    )


def traces(found: Evidence) -> Traced:
    """Figs. 9 and 10: the number of a run, and what is drawn of it with each scheme.

    It is the first run in which the standard procedure ends in a timeout, as the paper's does, or else the first.
    """
    outcomes = [one.congestion.outcome for one in found.forwarding["standard", TARGETS[-1]]]
    number = outcomes.index("timeout") if "timeout" in outcomes else 0
    drawn = {
        scheme: measures.trace(
            simulate(experiments.trajectory(scheme, number, found.interpretation), SEED, number)
        )
        for scheme in experiments.SCHEMES
    }
    return number, drawn
