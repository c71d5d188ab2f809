"""Open points of the paper, and how its claims are decided under a setting of it; the axes are in `axes.toml`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.ripple import claims, evidence
from roamlab.papers.ripple.experiments import DEFAULT, Interpretation
from roamlab.papers.spaces import Space, axes
from roamlab.statistics.stats import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.runs import Batch
    from roamlab.statistics.claims import Claim


SEARCHED_HANDOVERS = 6
"""Of each run of a search, where the reproduction has 20: of each point fewer handovers, and all points."""


def ask(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that depend on an interpretation."""
    return partial(claims.read, evidence.evidence(batch, interpretation, runs, handovers=SEARCHED_HANDOVERS))


def beside(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    """That all named protocols run."""
    found = evidence.named(batch, runs, interpretation)
    return lambda: [claims.blocks(found)]


def whole(batch: Batch, runs: range) -> Callable[[], Sequence[Claim]]:
    """All claims, as the reproduction decides them."""
    named = evidence.named(batch, runs[: evidence.few_runs(len(runs))])
    found = evidence.evidence(batch, DEFAULT, runs)
    return lambda: [claims.blocks(named), *claims.read(found)]


SPACE = Space(
    "Ripple",
    DEFAULT,
    axes("ripple"),
    ask,
    runs=LEAST,
    confirm=2 * LEAST,
    beside=beside,
    few=1,
    beside_drawn=10,
    settings=100,
    whole=whole,
)
