"""Open points of the paper, and how its claims are decided under a setting of it; the axes are in `axes.toml`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.ripple import claims, evidence
from roamlab.papers.ripple.experiments import DEFAULT, DELAYS_MS, Interpretation
from roamlab.papers.spaces import Space, axes
from roamlab.statistics.stats import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.runs import Batch
    from roamlab.statistics.claims import Claim


SEARCHED_MS = tuple(delay for delay in DELAYS_MS if abs(delay) != 400)
"""The points of figs. 3 to 6 that a search runs: those that a claim names, and the ends of its ranges."""


SEARCHED_HANDOVERS = 6
"""Of each run of a search, where the paper has 20: a search makes 540 runs under each setting."""


def ask(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that depend on an interpretation."""
    return partial(
        claims.read, evidence.evidence(batch, interpretation, runs, SEARCHED_MS, SEARCHED_HANDOVERS)
    )


def beside(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    """That all named protocols run, with Reno and the longest gap and overlap of the map."""
    found = evidence.named(
        batch, runs, interpretation, ["reno"], [min(evidence.NAMED_MS), max(evidence.NAMED_MS)]
    )
    return lambda: [claims.blocks(found)]


def whole(batch: Batch, runs: range) -> Callable[[], Sequence[Claim]]:
    """All claims, as the reproduction decides them."""
    named = evidence.named(batch, runs[: evidence.few_runs(len(runs))])
    found = evidence.evidence(batch, DEFAULT, runs)
    return lambda: [claims.blocks(named), *claims.read(found)]


SPACE = Space(
    "Ripple", DEFAULT, axes("ripple"), ask, runs=LEAST, confirm=2 * LEAST, beside=beside, whole=whole, few=1
)
