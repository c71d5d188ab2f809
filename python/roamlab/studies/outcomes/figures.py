"""The figures: for each paper its results, and under each condition a deciding measure of each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from roamlab.base.figures import COLOURS, new_figure, save
from roamlab.base.quantities import named
from roamlab.studies.figures import lines, points
from roamlab.studies.outcomes.cases import PRINTED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from roamlab.base.figures import SavedFigure
    from roamlab.statistics.claims import Claim, Claimed
    from roamlab.studies.outcomes.cases import Question, Results

_MARKERS = ("o", "s", "^", "D")
_LONG = 80
"""Characters of a title."""


def draw(question: Question, found: dict[str, dict[str, Claim]], folder: Path) -> list[SavedFigure]:
    """A figure for each paper, a panel for each of its claims, with one measure of it."""
    return [_of(each, question, found, folder) for each in question.results()]


def _of(of: Results, question: Question, found: dict[str, dict[str, Claim]], folder: Path) -> SavedFigure:
    rows = len(of.claims)
    with new_figure(rows, share_x=False, row_inches=1.7) as (figure, axes):
        for axis, name in zip(axes, of.claims, strict=True):
            at = _shown([found[condition][name] for condition in question.names])
            measures = [found[condition][name].measures[at] for condition in question.names]
            for place, (measure, marker) in enumerate(zip(measures, _MARKERS, strict=False)):
                points(axis, [place], [measure.measured], marker, measure.verdict, COLOURS[place])
            lines(axis, question.axis, question.names)
            _mark(axis, measures[0].claimed)
            what = measures[0].what
            axis.set_title(name)
            axis.set_xlabel(named(what if len(what) <= _LONG else f"{what[:_LONG]}…", measures[0].unit))
        runs = next(iter(found[PRINTED].values())).measures[0].measured.runs
        caption = (
            f"{of.what[0].upper()}{of.what[1:]}, by the {question.axis}. Means of {runs} runs or more, with "
            "95 % intervals; the shaded range is the one that the paper claims."
        )
        return save(figure, folder, of.paper, caption)


def _shown(claims: Sequence[Claim]) -> int:
    """The first measure whose verdict changes from law to law, otherwise the one with the worst verdict."""
    worst = {"contradicted": 0, "undecided": 1, "holds": 2}
    verdicts = list(zip(*([each.verdict for each in claim.measures] for claim in claims), strict=True))
    return min(range(len(verdicts)), key=lambda at: (len(set(verdicts[at])) == 1, worst[verdicts[at][0]]))


def _mark(axis: Axes, claimed: Claimed) -> None:
    bounds = [bound for bound in (claimed.low, claimed.high) if math.isfinite(bound)]
    low, high = min([axis.get_xlim()[0], *bounds]), max([axis.get_xlim()[1], *bounds])
    margin = 0.05 * (high - low)
    axis.set_xlim(low - margin, high + margin)
    axis.axvspan(max(claimed.low, low - margin), min(claimed.high, high + margin), alpha=0.12, zorder=0)
