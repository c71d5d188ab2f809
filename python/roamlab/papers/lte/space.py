"""Open points of the paper, and how its claims are decided under a setting of it; the axes are in `axes.toml`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.lte import claims, evidence
from roamlab.papers.lte.experiments import DEFAULT, Interpretation
from roamlab.papers.spaces import Space, axes
from roamlab.statistics.stats import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.runs import Batch
    from roamlab.statistics.claims import Claim


def ask(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that depend on an interpretation."""
    return partial(claims.read, evidence.evidence(batch, interpretation, runs))


def beside(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    """The claims that few of the axes touch."""
    standard = evidence.evidence(batch, interpretation, runs)
    return partial(claims.beside, standard, evidence.anatomy(batch, runs, interpretation))


def whole(batch: Batch, runs: range) -> Callable[[], Sequence[Claim]]:
    """All claims, as the reproduction decides them."""
    anatomy = evidence.anatomy(batch, runs)
    return partial(claims.decide, anatomy, evidence.evidence(batch, DEFAULT, runs))


SPACE = Space(
    "LTE",
    DEFAULT,
    axes("lte"),
    ask,
    runs=12,
    confirm=30,
    beside=beside,
    few=LEAST,
    beside_drawn=10,
    settings=80,
    whole=whole,
)
