"""The figures of the study of queues: a panel for each congestion control, a line for each queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.base.figures import COLOURS, new_figure, save
from roamlab.base.quantities import named
from roamlab.studies.figures import lines, points
from roamlab.studies.queues.answer import effect
from roamlab.studies.queues.cases import (
    CONTROLS,
    FAIR_MBPS,
    L4S_CONTROL,
    L4S_QUEUES,
    QUEUES,
    RESIDENTS,
    WAYS,
    Case,
    has_exemption,
)
from roamlab.studies.queues.measures import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from roamlab.base.figures import SavedFigure
    from roamlab.statistics.stats import Interval
    from roamlab.studies.queues.answer import Found

LEAD = "exemption"
_MARKERS = ("s", "o", "^")
_CAPTIONS = {
    "mover_goodput": "What the mover gets in its new cell.",
    "residents_goodput": "What the hosts get that are in the cell already: what the mover gains they lose.",
    "stall": "How long the mover waits for new data at the move.",
    "mover_delay": "How old the mover's packets are when they arrive, behind each queue.",
    "residents_delay": "How old the residents' packets are when they arrive: what the mover's burst costs them.",
}
"""A figure for each of these quantities."""
_FAIR = {"mover_goodput": FAIR_MBPS, "residents_goodput": len(RESIDENTS) * FAIR_MBPS}


def draw(found: Found, folder: Path) -> list[SavedFigure]:
    """Effect of the exemption, effects with each queue, and the fate of L4S."""
    return [
        _exemption(found, folder),
        *(_felt(found, name, folder) for name in _CAPTIONS),
        _l4s(found, folder),
    ]


def _exemption(found: Found, folder: Path) -> SavedFigure:
    queues = [queue for queue in QUEUES if has_exemption(queue)]
    with new_figure(len(CONTROLS), row_inches=2.1) as (figure, axes):
        for axis, control in zip(axes, CONTROLS, strict=True):
            changes = [effect(found, queue, (control,)) for queue in queues]
            axis.axvline(0.0, color="0.4", linewidth=0.8)
            for at, who in enumerate(("mover", "residents")):
                means = [change.mover if who == "mover" else change.residents for change in changes]
                label = who if who == "mover" else "three residents together"
                _marks(axis, means, (at, 2), label)
            lines(axis, "queue", queues)
            axis.set_title(control)
        _legend(figure, axes[0])
        axes[-1].set_xlabel(named("goodput with the exemption minus goodput without", "Mbit/s"))
        caption = "What the exemption of forwarded packets changes: right of the line it gives more."
        return save(figure, folder, LEAD, f"{caption} {_means(found, 'paired differences')}")


def _felt(found: Found, name: str, folder: Path) -> SavedFigure:
    quantity = BY_NAME[name]
    with new_figure(len(CONTROLS), row_inches=2.5) as (figure, axes):
        for axis, control in zip(axes, CONTROLS, strict=True):
            for at, way in enumerate(WAYS):
                queues = [queue for queue in QUEUES if Case(queue, control, way) in found]
                means = [quantity.mean(found[Case(queue, control, way)][name]) for queue in queues]
                _marks(axis, means, (at, len(WAYS)), way, [list(QUEUES).index(queue) for queue in queues])
            if name in _FAIR:
                axis.axvline(_FAIR[name], color="0.4", linewidth=0.8, linestyle=":", label="equal shares")
            lines(axis, "queue", list(QUEUES))
            axis.set_title(control)
        _legend(figure, axes[0])
        axes[-1].set_xlabel(named(quantity.what, quantity.unit))
        axes[-1].set_xlim(left=0.0)
        return save(figure, folder, name.replace("_", "-"), f"{_CAPTIONS[name]} {_means(found, 'means')}")


def _l4s(found: Found, folder: Path) -> SavedFigure:
    of = [(queue, control) for queue in L4S_QUEUES for control in (L4S_CONTROL, *CONTROLS)]
    quantity = BY_NAME["late"]
    with new_figure(row_inches=3.2) as (figure, (axis,)):
        for at, way in enumerate(WAYS):
            means = [quantity.mean(found[Case(*pair, way)][quantity.name]) for pair in of]
            _marks(axis, means, (at, len(WAYS)), way)
        lines(axis, "queue and congestion control", [", ".join(pair) for pair in of])
        _legend(figure, axis)
        axis.set_xlabel(named(quantity.what, quantity.unit))
        axis.set_xlim(left=0.0)
        caption = (
            "Whether the low delay of L4S (Prague) survives a handover: how long packets are late after it."
        )
        return save(figure, folder, "l4s", f"{caption} {_means(found, 'means')}")


def _legend(figure: Figure, axis: Axes) -> None:
    """Below the panels, where it hides no mark."""
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=4)


def _marks(
    axis: Axes,
    means: Sequence[Interval],
    place: tuple[int, int],
    label: str,
    rows: Sequence[int] | None = None,
) -> None:
    """Means on the lines of a panel; `place`: which of how many marks of a line."""
    at, of = place
    shift = 0.24 * (at - (of - 1) / 2)
    places = [row + shift for row in (range(len(means)) if rows is None else rows)]
    points(axis, places, means, _MARKERS[at], label, COLOURS[at])


def _means(found: Found, what: str) -> str:
    runs = len(next(iter(next(iter(found.values())).values())))
    return f"{what.capitalize()} of {runs} runs, with 95 % intervals where there are several."
