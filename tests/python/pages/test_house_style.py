"""One design of figures and pages, which those who see colours otherwise, or none, can read."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest

from conftest import ROOT
from roamlab.base import figures, quantities
from roamlab.showing.page import html

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PACKAGE = ROOT / "python/roamlab"
_SIMULATED = {
    # Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision Deficiency",
    # severity 1: on linear RGB.
    "any": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = _XYZ.sum(axis=1)
_LEAST = 12.0
"""In CIELAB; just noticed is some 2."""


def _linear(colour: str) -> NDArray[np.float64]:
    of = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(of <= 0.04045, of / 12.92, ((of + 0.055) / 1.055) ** 2.4)


def _lab(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    of = _XYZ @ np.clip(linear, 0.0, 1.0) / _WHITE
    f = np.where(of > (6 / 29) ** 3, np.cbrt(of), of * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", _SIMULATED)
def test_the_colours_are_told_apart_with_any_colour_vision(sight: str) -> None:
    seen = {name: _lab(np.array(_SIMULATED[sight]) @ _linear(name)) for name in figures.COLOURS}
    distances = {pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]])) for pair in combinations(seen, 2)}
    assert min(distances.values()) > _LEAST, min(distances, key=distances.__getitem__)
    red, green = (_lab(np.array(_SIMULATED["protanopia"]) @ _linear(name)) for name in ("#C00000", "#606000"))
    assert (
        np.linalg.norm(red - green) < np.linalg.norm(_lab(_linear("#C00000")) - _lab(_linear("#606000"))) / 2
    )


def test_lines_and_bars_differ_without_colour() -> None:
    cycle = [(each["color"], str(each["linestyle"])) for each in figures.STYLE["axes.prop_cycle"]]
    assert [colour for colour, _ in cycle] == list(figures.COLOURS)
    assert len({dashes for _, dashes in cycle}) == len(cycle)
    patterns = [figures.bar(colour)["hatch"] for colour in figures.COLOURS]
    assert len(set(patterns)) == len(patterns)


def test_drawings_take_their_colours_from_the_house_style() -> None:
    drawing = [
        *_PACKAGE.glob("**/figures.py"),
        *_PACKAGE.glob("**/*draw*.py"),
        *_PACKAGE.glob("**/diagrams.py"),
    ]
    own = {
        str(path.relative_to(_PACKAGE)): found
        for path in drawing
        if path != _PACKAGE / "base/figures.py"
        and (found := re.findall(r'"#[0-9A-Fa-f]{6}"', path.read_text(encoding="utf-8")))
    }
    assert len(drawing) > 8
    assert own == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_on_a_page_stand_out(theme: str) -> None:
    """WCAG 2.2, 1.4.3: a contrast of 4.5 at least, on the page and on a card."""
    rules = html("", "").partition("@media(prefers-color-scheme:dark)")[0 if theme == "light" else 2]
    colours = dict(re.findall(r"--(\w+):(#[0-9a-f]{3,6})", rules.partition("}}")[0]))
    of = {name: _linear(code if len(code) == 7 else "#" + code[1:] * 2) for name, code in colours.items()}
    light = {name: float(_XYZ[1] @ each) + 0.05 for name, each in of.items()}
    for ground in ("ground", "card"):
        for ink in ("ink", "quiet", "link", "holds", "contradicted", "undecided"):
            assert max(light[ink], light[ground]) / min(light[ink], light[ground]) >= 4.5, (ink, ground)


def test_pages_and_drawings_have_one_font() -> None:
    assert figures.FONT.startswith(f"'{figures.STYLE['font.family']}'")
    assert f"--font:{figures.FONT}" in html("", "")


def test_one_of_a_kind_is_singular() -> None:
    assert [quantities.counted(count, "handover") for count in (0, 1, 2)] == [
        "0 handovers",
        "1 handover",
        "2 handovers",
    ]
    assert quantities.counted(1, "run is", "runs are") == "1 run is"
    assert quantities.with_unit("1", "buffers") == "1 buffer"
    assert quantities.with_unit("0.02296", "1") == "0.02296"
