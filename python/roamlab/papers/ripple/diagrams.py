"""Time-sequence diagrams of one handover: under the interpretation in which an effect occurs, and without its cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roamlab.base.figures import BLUE, GREEN, ORANGE, SKY, VERMILION, label, new_figure
from roamlab.papers.drawing import saved
from roamlab.papers.ripple.claims import NAMES
from roamlab.papers.ripple.handover import KINDS

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from roamlab.base.figures import SavedFigure
    from roamlab.papers.ripple.explanations import Effect, Explained, Panel
    from roamlab.papers.ripple.handover import Handover

TIME = ("time since the host turned to its new cell", "s")
SEGMENTS = ("segment, from the first shown", "segments")

_HOLLOW = {"markerfacecolor": "none"}
_MARKS: dict[str, dict[str, Any]] = {
    "sent": {"marker": "o", "color": SKY, "markersize": 3.0, **_HOLLOW},
    "sent again": {"marker": "^", "color": VERMILION, "markersize": 5.0, **_HOLLOW},
    "lost": {"marker": "x", "color": "black", "markersize": 4.5},
    "arrives directly": {"marker": ".", "color": BLUE, "markersize": 4.0},
    "arrives directly, again": {"marker": "v", "color": BLUE, "markersize": 3.0, **_HOLLOW},
    "arrives from a buffer": {"marker": "s", "color": ORANGE, "markersize": 3.0},
    "arrives from a buffer, again": {"marker": "s", "color": ORANGE, "markersize": 3.5, **_HOLLOW},
    "acknowledgement sent": {"marker": "_", "color": GREEN, "markersize": 5.0},
}
"""Shape and colour of each of `KINDS`."""

_DASHES = {"timeout": "-", "fast-retransmit": ":"}


def diagram(explained: Explained, folder: Path) -> SavedFigure:
    """The handovers of an effect below each other."""
    effect, handovers = explained.effect, explained.handovers
    with new_figure(rows=len(effect.panels), row_inches=2.9) as (figure, axes):
        for axis, panel, handover in zip(axes, effect.panels, handovers, strict=True):
            _draw(axis, effect, panel, handover)
            label(axis, TIME, SEGMENTS)
            axis.label_outer()
        axes[0].legend(loc="lower right", ncols=2, fontsize=7)
        return saved(
            "ripple",
            figure,
            folder,
            f"why-{effect.name}",
            "why",
            of=explained,
            count=len(handovers[0].progress),
        )


def _draw(axis: Axes, effect: Effect, panel: Panel, handover: Handover) -> None:
    tcp, mechanism, delay = panel.case
    kind = "gap" if delay <= 0 else "overlap"
    axis.axvspan(0, abs(delay) / 1000, color="0.88", zorder=0)
    for at, cut in handover.cuts:
        axis.axvline(at, color="black", linestyle=_DASHES[cut], linewidth=1.0)
    base = min(of.numbers.min() for of in handover.points.values() if of.numbers.size)
    for mark in KINDS:
        of = handover.points[mark]
        axis.plot(of.times_s, of.numbers - base, linestyle="none", label=mark, **_MARKS[mark])
    without = f"; without the cause: {panel.without}" if panel.without else ""
    title = f"{NAMES[tcp]}, {mechanism}, {kind} of {abs(delay)} ms{without} (handover {handover.number})"
    axis.set_title(title, loc="left", fontsize=8)
    axis.set_xlim(-effect.before_s, effect.after_s)
