"""The figures of the study of schemes: a line for each scheme, with means and 95 % intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from roamlab.base.figures import new_figure, save
from roamlab.base.quantities import named
from roamlab.studies.measures import COST, FELT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from roamlab.base.figures import SavedFigure
    from roamlab.statistics.stats import Interval
    from roamlab.studies.means import Quantity

Found: TypeAlias = "dict[tuple[str, str, str], list[float]]"
"""Values of the runs by scheme, application and name of the quantity."""

_MARKERS = {"download": "o", "call": "s", "video": "^"}
_ROW_INCHES = 3.9


def draw(names: list[str], found: Found, folder: Path) -> list[SavedFigure]:
    """Effect on each application, and the cost."""
    captions = {
        "download": "What a download feels: its goodput after the move, and the longest time without data.",
        "call": "What a call feels: its quality, and the packets that were lost or too late.",
        "video": "Effect on a video: frames that were never whole, and how long the picture was frozen.",
    }
    chosen = {
        "download": ("goodput", "silence"),
        "call": ("r", "lost", "late"),
        "video": ("frames", "freeze"),
    }
    made = [
        _figure(
            names,
            found,
            [
                ((application,), quantity)
                for quantity in FELT[application]
                if quantity.name in chosen[application]
            ],
            (folder, application, captions[application]),
        )
        for application in FELT
    ]
    costs = {
        "signalling": (
            ("messages", "signalling"),
            "What the move costs in signalling, for each application.",
        ),
        "data": (
            ("forwarded", "copies", "held"),
            "What the move costs in data that is forwarded, copied and held, for each application.",
        ),
    }
    for name, (wanted, caption) in costs.items():
        rows = [(tuple(FELT), quantity) for quantity in COST if quantity.name in wanted]
        made.append(_figure(names, found, rows, (folder, name, caption)))
    return made


def _figure(
    names: list[str],
    found: Found,
    rows: list[tuple[tuple[str, ...], Quantity]],
    saved: tuple[Path, str, str],
) -> SavedFigure:
    with new_figure(len(rows), share_x=False, row_inches=_ROW_INCHES) as (figure, axes):
        for axis, (applications, quantity) in zip(axes, rows, strict=True):
            for at, application in enumerate(applications):
                shift = 0.25 * (at - (len(applications) - 1) / 2)
                means = [quantity.mean(found[name, application, quantity.name]) for name in names]
                places = [place + shift for place in range(len(names))]
                points(axis, places, means, _MARKERS[application], application)
            axis.set_xlabel(named(quantity.what, quantity.unit))
            lines(axis, "scheme", names)
            if len(applications) > 1:
                axis.legend(loc="best")
        runs = len(next(iter(found.values())))
        folder, name, caption = saved
        return save(
            figure,
            folder,
            name,
            f"{caption} Means of {runs} runs, with 95 % intervals where there are several.",
        )


def lines(axis: Axes, what: str, names: Sequence[str]) -> None:
    """A line for each name, the first one above."""
    axis.set_ylabel(what)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)


def points(
    axis: Axes,
    places: Sequence[float],
    means: Sequence[Interval],
    marker: str,
    label: str,
    colour: str | None = None,
) -> None:
    """Means at these places, with intervals where there are several runs."""
    several = means[0].runs > 1
    spans = [[mean.effect - mean.low for mean in means], [mean.high - mean.effect for mean in means]]
    axis.errorbar(
        [mean.effect for mean in means],
        places,
        xerr=spans if several else None,
        fmt=marker,
        markersize=3.5,
        capsize=2,
        linestyle="none",
        label=label,
        color=colour,
    )
