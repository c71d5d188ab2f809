"""An event of a trace."""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """Kind, time and flow of an event. `roamlab.traces` explains the letters."""

    time_ns: int
    kind: str
    flow: str
    what: str
    """The packet's number, or a variable's name."""
    value: str
    note: str
    """For the reader; not compared."""
    line: int
    """Line or row in its file, from 1."""

    @property
    def token(self) -> str:
        """Its name in `--events`: its letter, or the variable's name."""
        return self.what if self.kind in "VR" else self.kind

    @property
    def stream(self) -> tuple[str, str, str]:
        """The sequence that it belongs to: all of one kind and flow, or all values of one variable."""
        return (self.flow, self.kind, self.what if self.kind in "VR" else "")

    @property
    def content(self) -> tuple[str, str]:
        """Values that must be equal for two events to be the same."""
        return (self.what, self.value)


def number(value: float) -> str:
    """A variable's value with six significant digits, as ns-2 prints it."""
    return f"{value:.6g}"
