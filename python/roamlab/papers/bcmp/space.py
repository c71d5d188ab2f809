"""Open points of the paper, and how its claims are decided under a setting of it; the axes are in `axes.toml`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.bcmp import claims, evidence
from roamlab.papers.bcmp.experiments import DEFAULT, Interpretation
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
    """One run of all procedures; no and planned handovers."""
    procedures = evidence.procedures(batch, runs[:1], interpretation)
    still = evidence.still(batch, runs, interpretation)
    return lambda: [claims.login(procedures, interpretation.moves), claims.nomove(still, str(interpretation))]


def whole(batch: Batch, runs: range) -> Callable[[], Sequence[Claim]]:
    """All claims, as the reproduction decides them."""
    found, still = evidence.evidence(batch, DEFAULT, runs), evidence.still(batch, runs, DEFAULT)
    procedures = evidence.procedures(batch, runs[: evidence.few_runs(len(runs))])
    return lambda: [
        claims.login(procedures, DEFAULT.moves),
        claims.nomove(still, str(DEFAULT)),
        *claims.read(found),
    ]


SPACE = Space(
    "BCMP",
    DEFAULT,
    axes("bcmp"),
    ask,
    runs=LEAST,
    confirm=6,
    beside=beside,
    beside_drawn=5,
    settings=55,
    whole=whole,
)
