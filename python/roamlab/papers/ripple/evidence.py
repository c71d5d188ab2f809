"""All runs of the paper, measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import product
from operator import eq, gt, lt
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from roamlab.papers.ripple import experiments, measures
from roamlab.papers.ripple.experiments import (
    DEFAULT,
    DELAYS_MS,
    HANDOVERS,
    MECHANISMS,
    NAMED,
    TCPS,
    Interpretation,
)
from roamlab.statistics.stats import LEAST

Case: TypeAlias = tuple[str, str, int]
"""TCP, mechanism or protocol, and delay of layer 2 in ms."""

T = TypeVar("T")

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.ripple.measures import Run
    from roamlab.papers.runs import Batch
    from roamlab.records.results import Results
    from roamlab.scenarios.scenario import Scenario


@dataclass(frozen=True)
class Evidence:
    """Data from which the claims are decided under one interpretation.

    Lists have one entry per run; run n draws from the same streams in every case.
    """

    interpretation: Interpretation
    still: dict[str, list[Run]]
    """By TCP: the host stays where it is."""
    moved: dict[Case, list[Run]]
    """By TCP, mechanism and delay of layer 2 in ms."""
    handovers: int = HANDOVERS
    """Of each run."""
    windows: dict[Case, list[float]] = field(default_factory=dict)
    """Of `WINDOW_TCPS` in overlaps the mean window in segments, by the same."""

    @property
    def hard_ms(self) -> list[int]:
        """Delays of hard handovers that were run, the longest gap first."""
        return sorted({delay for _, _, delay in self.moved if delay <= 0})

    @property
    def soft_ms(self) -> list[int]:
        """Overlaps that were run, and 0."""
        return sorted({delay for _, _, delay in self.moved if delay >= 0})

    @property
    def long_ms(self) -> list[int]:
        """The paper's "high Layer 2 handover delay": 300 ms and more."""
        return [delay for delay in self.hard_ms if delay <= -300]

    @property
    def gaps_ms(self) -> list[int]:
        """Hard handovers but that without a gap."""
        return [delay for delay in self.hard_ms if delay < 0]

    @property
    def overlaps_ms(self) -> list[int]:
        """Overlaps without 0."""
        return [delay for delay in self.soft_ms if delay > 0]


WINDOW_TCPS = ("tahoe", "reno")
"""TCPs whose mean windows the paper compares, in soft handovers."""
NAMED_MS = (-500, -100, 0, 100, 500)
"""Delays of the map of named protocols."""
NAMED_TCPS = ("reno", "sack")
"""TCPs of the map: one that often waits for its timer, and one that hears what is missing."""


def few_runs(runs: int) -> int:
    """Runs in addition to the paper's figures: other interpretations, reruns without a cause, the map."""
    return max(1, min(LEAST, runs // 4))


def evidence(
    batch: Batch,
    interpretation: Interpretation,
    runs: int | range,
    delays_ms: Sequence[int] = DELAYS_MS,
    handovers: int = HANDOVERS,
) -> Evidence:
    """Asks for the runs of figs. 3 to 6: this number, or these runs, with this number of handovers each."""
    overlaps = [delay for delay in delays_ms if delay > 0]
    windows = list(product(WINDOW_TCPS, MECHANISMS, overlaps))
    cases = list(product(TCPS, MECHANISMS, delays_ms))
    return of_cases(batch, interpretation, runs, cases, handovers, windows)


def of_cases(
    batch: Batch,
    interpretation: Interpretation,
    runs: int | range,
    cases: Sequence[Case],
    handovers: int = HANDOVERS,
    windows: Sequence[Case] = (),
) -> Evidence:
    """Asks for the runs of some cases, and for those without handovers; `windows`: cases of which it is measured."""
    span_s = experiments.span_s(handovers)
    take = partial(measures.of_run, span_s=span_s)
    take_window = partial(measures.mean_window, largest=interpretation.window_pkts, span_s=span_s)
    still = {tcp: (experiments.still(tcp, interpretation, handovers), runs) for tcp, _, _ in cases}

    def in_run(case: Case) -> Callable[[int], Scenario]:
        return lambda run: experiments.handovers(*case, interpretation, run, handovers)

    def each(of: Sequence[Case], measure: Callable[[Results], T]) -> dict[Case, list[T]]:
        found: dict[Case, list[T]] = {}
        for side in (partial(gt, 0), partial(eq, 0), partial(lt, 0)):
            wanted = {case: (in_run(case), runs) for case in of if side(case[2])}
            found |= batch.each(wanted, measure)
        return {case: found[case] for case in of}

    return Evidence(
        interpretation, batch.each(still, take), each(cases, take), handovers, each(windows, take_window)
    )


def named(
    batch: Batch,
    runs: int | range,
    interpretation: Interpretation = DEFAULT,
    tcps: Sequence[str] = NAMED_TCPS,
    delays_ms: Sequence[int] = NAMED_MS,
) -> dict[Case, list[Run]]:
    """The map of the named protocols, by TCP, protocol and delay in ms."""
    wanted = {
        (tcp, protocol, delay): (experiments.named(tcp, protocol, delay, interpretation), runs)
        for tcp, protocol, delay in product(tcps, NAMED, delays_ms)
    }
    return batch.each(wanted, measures.of_run)
