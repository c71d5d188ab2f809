"""Open points of the paper, and how its claims are decided under a setting of it; the axes are in `axes.toml`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.ipf import claims, evidence
from roamlab.papers.ipf.experiments import DEFAULT, PLAN_S, Interpretation
from roamlab.papers.spaces import Space, axes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.runs import Batch
    from roamlab.statistics.claims import Claim


SEARCHED_PLAN_S = PLAN_S[2]
"""Of figs. 16 and 17 a search runs the first two of three visits."""


def ask(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that depend on an interpretation."""
    found = evidence.evidence(batch, interpretation, runs)
    return partial(
        claims.read, found, evidence.swept(batch, interpretation, runs, plan_span_s=SEARCHED_PLAN_S)
    )


def beside(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that few of the axes touch."""
    return partial(claims.alone, evidence.anatomy(batch, runs, interpretation))


def whole(batch: Batch, runs: range) -> Callable[[], Sequence[Claim]]:
    """All claims, as the reproduction decides them."""
    anatomy = evidence.anatomy(batch, runs[: evidence.few_runs(len(runs))])
    found, sweep = evidence.evidence(batch, DEFAULT, runs), evidence.swept(batch, DEFAULT, runs)
    return partial(claims.decide, anatomy, found, sweep)


SPACE = Space("IPF", DEFAULT, axes("ipf"), ask, runs=5, confirm=10, beside=beside, settings=65, whole=whole)
