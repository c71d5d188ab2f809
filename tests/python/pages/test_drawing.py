"""Papers draw in parallel, and load the drawing modules while runs are made."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from roamlab.base.figures import SavedFigure, label, new_figure, save
from roamlab.papers import drawing

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 4


def _curve(power: int, folder: Path) -> SavedFigure:
    with new_figure() as (figure, (axis,)):
        axis.plot(np.arange(9), np.arange(9) ** power)
        label(axis, drawing.TIME, ("queue", "pkt"))
        return save(figure, folder, f"power{power}", f"By process {os.getpid()}.")


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _bad() -> SavedFigure:
    raise ValueError("nothing to draw")


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processors, whatever the machine has."""
    monkeypatch.setattr(drawing, "processors", lambda: 2)


@pytest.mark.usefixtures("two")
def test_figures_of_other_processes_are_those_of_this_one(tmp_path: Path) -> None:
    beside = drawing.draw_all([partial(_curve, power, tmp_path / "beside") for power in range(COUNT)])
    alone = [_curve(power, tmp_path / "alone") for power in range(COUNT)]
    assert [found.svg.name for found in beside] == [found.svg.name for found in alone]
    assert _contents(tmp_path / "beside") == _contents(tmp_path / "alone")
    if sys.platform == "linux":
        assert str(os.getpid()) not in " ".join(found.caption for found in beside)


@pytest.mark.usefixtures("two")
def test_what_cannot_be_drawn_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        drawing.draw_all([partial(_curve, 1, tmp_path), _bad])


@pytest.mark.parametrize("paper", ["mblue", "ipf", "lte", "ripple", "bcmp"])
def test_a_paper_begins_without_what_draws(paper: str) -> None:
    late = "{'matplotlib', 'scipy.stats'}"
    program = f"import sys, roamlab.papers.{paper}; print(sorted({late} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
