"""The figures of the study of procedures: a panel for each thing that the host does, a line for each procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.base.figures import COLOURS, new_figure, save
from roamlab.base.quantities import named
from roamlab.studies.figures import lines, points
from roamlab.studies.procedures.cases import APPLICATIONS, BUDGET, DOWNLOADS, LAWS, Case, procedures
from roamlab.studies.procedures.measures import QUANTITIES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from roamlab.base.figures import SavedFigure
    from roamlab.studies.means import Quantity
    from roamlab.studies.procedures.measures import Found

LEAD = "stall"
_MARKERS = ("o", "s", "^", "D", "v")
_FIGURES: dict[str, tuple[tuple[str, ...], str]] = {
    LEAD: (tuple(APPLICATIONS), "How long the host waits for new data at the move, by procedure."),
    "goodput": (DOWNLOADS, "What a download gets in the seconds after the move, by procedure."),
    "mos": (("call",), "How good a call is that is handed over once."),
    "load": (("pages",), "How long the page takes that is loading at the move."),
    "forwarded": (DOWNLOADS, "What each procedure sends again over the backhaul of the old cell."),
}
"""A figure for each of these quantities: of whom, and its caption."""


def draw(found: Found, folder: Path) -> list[SavedFigure]:
    """Means of the standard's budget, and the stalls by law."""
    return [*(_of(found, name, folder) for name in _FIGURES), _laws(found, folder)]


def quantity(application: str, name: str) -> Quantity:
    """A measure of what the host does, by its name."""
    (only,) = (each for each in QUANTITIES[application] if each.name == name)
    return only


def _of(found: Found, name: str, folder: Path) -> SavedFigure:
    applications, caption = _FIGURES[name]
    names = [each.name for each in procedures()]
    with new_figure(row_inches=4.4) as (figure, (axis,)):
        for at, application in enumerate(applications):
            what = quantity(application, name)
            means = [what.mean(found[Case(each, application, BUDGET)][name]) for each in names]
            shift = 0.8 * (at - (len(applications) - 1) / 2) / max(len(applications), 2)
            places = [place + shift for place in range(len(names))]
            points(axis, places, means, _MARKERS[at], application, COLOURS[at])
        lines(axis, "procedure", names)
        what = quantity(applications[0], name)
        axis.set_xlabel(named(what.what, what.unit))
        if name != "mos":
            axis.set_xlim(left=0.0)
        if len(applications) > 1:
            figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=5)
        return save(figure, folder, name, f"{caption} {_means(found)}")


def _laws(found: Found, folder: Path) -> SavedFigure:
    names = [each.name for each in procedures() if each.law]
    with new_figure(len(DOWNLOADS), row_inches=2.9) as (figure, axes):
        for axis, application in zip(axes, DOWNLOADS, strict=True):
            what = quantity(application, "stall")
            for at, law in enumerate(LAWS):
                means = [what.mean(found[Case(each, application, law)]["stall"]) for each in names]
                places = [place + 0.25 * (at - 1) for place in range(len(names))]
                points(axis, places, means, _MARKERS[at], law, COLOURS[at])
            lines(axis, "procedure", names)
            axis.set_title(application)
            axis.set_xlim(left=0.0)
        axes[-1].set_xlabel(named(what.what, what.unit))
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        caption = "What the law of the handover's duration changes: the standard's budget, and two that were measured."
        return save(figure, folder, "laws", f"{caption} {_means(found)}")


def _means(found: Found) -> str:
    values: Sequence[float] = next(iter(next(iter(found.values())).values()))
    return f"Means of {len(values)} runs, with 95 % intervals where there are several."
