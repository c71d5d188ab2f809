"""All runs of the paper, measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from roamlab.papers.ripple import experiments, measures
from roamlab.papers.ripple.experiments import (
    DEFAULT,
    DELAYS_MS,
    HANDOVERS,
    MECHANISMS,
    NAMED,
    RANDOM_TIMES,
    TCPS,
    Interpretation,
)
from roamlab.statistics.stats import LEAST

Case: TypeAlias = tuple[str, str, int]
"""TCP, mechanism or protocol, and delay of layer 2 in ms."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.papers.ripple.measures import Run
    from roamlab.papers.runs import Batch


@dataclass(frozen=True)
class Evidence:
    """What the claims are decided from under one interpretation.

    Lists have one entry per run; run n draws from the same streams in every case.
    """

    interpretation: Interpretation
    still: dict[str, list[Run]]
    """By TCP: the host stays where it is."""
    parts: tuple[dict[Case, list[Run]], ...]
    """What `moved` is put together from, once the runs are made."""
    handovers: int = HANDOVERS
    """Of each run."""

    @cached_property
    def moved(self) -> dict[Case, list[Run]]:
        """By TCP, mechanism and delay of layer 2 in ms."""
        return {case: [run for part in self.parts for run in part[case]] for case in self.parts[0]}

    @property
    def hard_ms(self) -> list[int]:
        """Delays of hard handovers that were run, the longest gap first."""
        return sorted({delay for _, _, delay in self.parts[0] if delay <= 0})

    @property
    def soft_ms(self) -> list[int]:
        """Overlaps that were run, and 0."""
        return sorted({delay for _, _, delay in self.parts[0] if delay >= 0})

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


NAMED_MS = (-500, -100, 0, 100, 500)
"""Delays of the map of named protocols."""
NAMED_TCPS = ("reno", "sack")
"""TCPs of the map: one that often waits for its timer, and one that hears what is missing."""


def few_runs(runs: int) -> int:
    """Runs of what stands beside the paper's figures: other interpretations, reruns without a cause, the map."""
    return max(1, min(LEAST, runs // 4))


def evidence(
    batch: Batch,
    interpretation: Interpretation,
    runs: int | range,
    delays_ms: Sequence[int] = DELAYS_MS,
    handovers: int = HANDOVERS,
) -> Evidence:
    """Asks for the runs of figs. 3 to 6: so many, or those with these numbers, with so many handovers each."""
    return of_cases(batch, interpretation, runs, list(product(TCPS, MECHANISMS, delays_ms)), handovers)


def of_cases(
    batch: Batch,
    interpretation: Interpretation,
    runs: int | range,
    cases: Sequence[Case],
    handovers: int = HANDOVERS,
) -> Evidence:
    """Asks for the runs of some cases, and for those without handovers."""
    take = partial(measures.of_run, span_s=experiments.span_s(handovers))
    still = {tcp: (experiments.still(tcp, interpretation, handovers), runs) for tcp, _, _ in cases}

    def part(numbers: int | range, walk: int = 0) -> dict[Case, list[Run]]:
        wanted = {
            case: (experiments.handovers(*case, interpretation, walk, handovers), numbers) for case in cases
        }
        return batch.each(wanted, take)

    walks = range(runs) if isinstance(runs, int) else runs
    parts = (
        [part(range(walk, walk + 1), walk) for walk in walks]
        if interpretation.moves == RANDOM_TIMES
        else [part(runs)]
    )
    return Evidence(interpretation, batch.each(still, take), tuple(parts), handovers)


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
