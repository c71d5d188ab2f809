"""The style of figures. The same data give the same files, byte for byte.

Matplotlib is imported when something is drawn: loading it takes a second, which papers spend while runs are
made.
"""

from __future__ import annotations

import base64
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

from cycler import cycler

from roamlab.base.quantities import named
from roamlab.base.screen import escape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FONT = "'DejaVu Sans',Verdana,sans-serif"
"""The font of pages and drawings; Matplotlib's figures bring its first one with them."""

BLUE, VERMILION, GREEN, PINK, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
"""Okabe and Ito's colours: distinct with any colour vision; the line styles distinguish them in grey."""

HATCHES = {BLUE: "", VERMILION: "///", GREEN: "...", PINK: "xxx", ORANGE: "\\\\\\", SKY: "+++"}
"""The pattern of a bar of each colour, which tells it apart in grey."""

COLOURS = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY)
_DASHES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3))]

STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=COLOURS) + cycler(linestyle=_DASHES),
    "axes.spines.right": False,
    "axes.spines.top": False,
    # On top of the axes, without a search for what might be in its way.
    "axes.titley": 1.0,
    "figure.dpi": 100,
    "figure.figsize": (7.0, 3.6),
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "savefig.dpi": 160,
    "svg.fonttype": "path",
    "svg.hashsalt": "roamlab",
    # Names are the user's: a dollar in one is no formula.
    "text.parse_math": False,
}


def bar(colour: str) -> dict[str, Any]:
    """How a bar of this colour is filled."""
    return {"color": colour, "hatch": HATCHES[colour], "edgecolor": "0.2", "linewidth": 0.5}


@dataclass(frozen=True)
class SavedFigure:
    """A figure on disk, as SVG and mostly as PNG, with the sentence under it."""

    caption: str
    png: Path | None
    svg: Path

    @property
    def name(self) -> str:
        """Difference from the other figures of its folder."""
        return self.svg.stem

    def _repr_html_(self) -> str:
        """The picture and the sentence under it, for a notebook."""
        file, kind = (self.svg, "svg+xml") if self.png is None else (self.png, "png")
        image = base64.b64encode(file.read_bytes()).decode()
        picture = f'<img alt="{escape(self.name)}" src="data:image/{kind};base64,{image}">'
        return f"<figure>{picture}<figcaption>{escape(self.caption)}</figcaption></figure>"


@cache
def _notebook_figure() -> type[Figure]:
    """Figures that a notebook shows where they are a cell's value, once: pyplot does not know them."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        def _repr_png_(self) -> bytes:
            content = BytesIO()
            self.savefig(content, format="png")
            return content.getvalue()

    return NotebookFigure


@contextmanager
def new_figure(
    rows: int = 1, *, share_x: bool = True, row_inches: float | None = None
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure in the house style with `rows` axes below each other, which share their x axis or do not.

    Draw and save inside the block.
    """
    from matplotlib import style

    with style.context(STYLE, after_reset=True):
        width, height = STYLE["figure.figsize"]
        total = height if rows == 1 else 0.65 * height * rows
        figure = _notebook_figure()(figsize=(width, row_inches * rows if row_inches else total))
        axes = figure.subplots(rows, 1, sharex=share_x, squeeze=False)
        yield figure, list(axes[:, 0])


def label(axes: Axes, x: tuple[str, str], y: tuple[str, str]) -> None:
    """Name both axes: (quantity, unit). An axis without a unit is refused; "1" is not shown."""
    for quantity, unit in (x, y):
        if not quantity.strip() or not unit.strip():
            raise ValueError(f"an axis needs a quantity and a unit, got {quantity!r} and {unit!r}")
    axes.set_xlabel(named(*x))
    axes.set_ylabel(named(*y))


def save(figure: Figure, folder: Path, name: str, caption: str) -> SavedFigure:
    """Write `name`.png and `name`.svg, without dates or program versions in them."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    for axes in figure.axes:
        if not axes.get_ylabel() or not (
            axes.get_xlabel() or axes.get_shared_x_axes().get_siblings(axes)[1:]
        ):
            raise ValueError(f"figure {name}: an axis has no label")
    folder.mkdir(parents=True, exist_ok=True)
    png = folder / f"{name}.png"
    saved = SavedFigure(caption, png, folder / f"{name}.svg")
    # Once for both files: an engine that the figure itself has would work, and draw, before each.
    figure.set_dpi(STYLE["savefig.dpi"])
    ConstrainedLayoutEngine().execute(figure)
    figure.savefig(png, metadata={"Software": None})
    figure.savefig(saved.svg, metadata={"Date": None, "Creator": None})
    return saved
