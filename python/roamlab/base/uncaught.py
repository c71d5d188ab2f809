"""Uncaught errors in a script or a notebook: the lines of the user and the report, and none of our frames.

Our reports have the place, the problem and what to write. Frames of this package between the user's line and the report
add nothing. An internal error, which is no report, keeps all of them, and so does everything under `python -X dev`.
"""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

from roamlab import _roamlab
from roamlab.base.errors import NoAttribute, RoamlabError
from roamlab.base.screen import say

if TYPE_CHECKING:
    from types import FrameType, TracebackType

_REPORTS: tuple[type[Exception], ...] = (
    RoamlabError,
    NoAttribute,
    _roamlab.ScenarioError,
    _roamlab.SimulationError,
)
"""Errors whose text is the whole report."""

_PACKAGE = __name__.partition(".")[0]
_NOTEBOOKS = ("IPython", "ipykernel")
"""Packages that call a cell."""


def lines(error: BaseException) -> list[str]:
    """An error as Python prints it, with the user's frames alone, and without the error that it was raised from."""
    frames = []
    for frame, number in traceback.walk_tb(error.__traceback__):
        package = _package(frame)
        if package == _PACKAGE:
            break
        if package not in _NOTEBOOKS:
            frames.append((frame, number))
    told = traceback.StackSummary.extract(iter(frames)).format()
    head = ["Traceback (most recent call last):\n"] if told else []
    return [line for part in (*head, *told, f"{type(error).__name__}: {error}") for line in part.splitlines()]


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


_before = sys.excepthook


def _print(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, _REPORTS):
        say("\n".join(lines(error)), err=True)
    else:
        _before(kind, error, trace)


def install() -> None:
    """Print reports so from now on. Python asks `sys.excepthook`, and IPython a method of the error."""
    if sys.excepthook is _print or sys.flags.dev_mode:
        return
    sys.excepthook = _print
    for kind in _REPORTS:
        setattr(kind, "_render_traceback_", lines)  # noqa: B010  (the engine's types have no such method for mypy)
