"""Movement files of ns-2, as its program `setdest`, BonnMotion and SUMO's traceExporter write them.

They have three kinds of statements: `$node_(0) set X_ 10.0`, `$ns_ at 2.0 "$node_(0) set X_ 10.0"`, and
`$ns_ at 2.0 "$node_(0) setdest 50.0 20.0 1.5"`: at 2 s the node begins to move to (50, 20) m at 1.5 m/s (manual of
ns-2, "Mobile Networking"; `Ns2MobilityHelper` of ns-3). Other statements are ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.inputs import text_lines
from roamlab.imports.movement import Track
from roamlab.imports.nodes import chosen
from roamlab.running.runprogress import measured
from roamlab.traces.logs import QUOTED, bad, decimal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXPECTED = "a movement file of ns-2: a text file in UTF-8"
_NODE = r"\$\w+\(\s*(?P<node>[^\s()]+)\s*\)"
_PLACED = re.compile(rf"\s*{_NODE}\s+set\s+(?P<axis>[XYZ])_\s+(?P<x>\S+?)\s*;?\s*$")
_AT = re.compile(
    rf'\s*\$\w+\s+at\s+(?P<time>\S+)\s+["{{]\s*{_NODE}\s+'
    rf"(?:set\s+(?P<axis>[XYZ])_\s+(?P<x>\S+?)|setdest\s+(?P<to_x>\S+)\s+(?P<to_y>\S+)\s+(?P<speed>\S+?))"
    rf'\s*["}}]\s*;?\s*$'
)
_MOVES = re.compile(r"\bsetdest\b|\bset\s+[XYZ]_")
_LOOKED_AT = 1000
"""Lines in which the first statement of a movement file is."""


def recognises(log: Path) -> bool:
    """True if the file has a statement that places or moves a node. Raises `BadInput`."""
    for line, text in enumerate(text_lines(log, EXPECTED)):
        if _MOVES.search(text) and "$" in text:
            return True
        if line > _LOOKED_AT:
            break
    return False


@dataclass(frozen=True)
class _Statement:
    """A position on one axis, or a way to a place: (x, y, speed)."""

    time_s: float
    line: int
    axis: str
    values: tuple[float, ...]


def read(log: Path, node: str) -> Track:
    """The track of a node; of the only one without its name. Raises `BadInput` with file and line."""
    names: dict[str, None] = {}
    statements = list(_statements(log, node, names))
    name = chosen(log, node, names, "node")
    return _track(log, name, sorted(statements, key=lambda each: each.time_s))


def _statements(log: Path, wanted: str, names: dict[str, None]) -> Iterator[_Statement]:
    """The statements of the wanted node, or of the first one if none is wanted. `names` takes those of all nodes."""
    with measured("read", log.stat().st_size) as tell:
        done = 0
        for line, text in enumerate(text_lines(log, EXPECTED), start=1):
            done += len(text)
            if line % _TOLD == 0:
                tell(done, partial(_megabytes, done))
            name = text.partition("(")[2].partition(")")[0].strip()
            # Statements of other nodes are not looked at: this is much faster.
            if name in names and name != (wanted or next(iter(names))):
                continue
            if text.lstrip().startswith("#") or not _MOVES.search(text):
                continue
            statement = _statement(log, line, text)
            names.setdefault(name)
            if name == (wanted or next(iter(names))):
                yield statement


_TOLD = 10_000
"""Lines between two reports of the progress."""


def _megabytes(done: int, _seconds: float) -> str:
    return f"{done / 1e6:.0f} MB"


def _statement(log: Path, line: int, text: str) -> _Statement:
    """The statement of a line. Raises `BadInput`."""
    found = _AT.match(text) or _PLACED.match(text)
    if found is None:
        raise bad(
            log,
            line,
            f"this statement has another form: {text.strip()[:QUOTED]!r}",
            '$ns_ at 2.0 "$node_(0) setdest 50.0 20.0 1.5", or $node_(0) set X_ 10.0',
            "write numbers and names: loops and expressions of Tcl are not run",
        )
    parts = found.groupdict()
    time = _number(log, line, "the time", parts.get("time") or "0", least=0.0)
    if parts["axis"]:
        values: tuple[float, ...] = (_number(log, line, f"{parts['axis']}_", parts["x"]),)
    else:
        values = (
            _number(log, line, "x of setdest", parts["to_x"]),
            _number(log, line, "y of setdest", parts["to_y"]),
            _number(log, line, "the speed of setdest", parts["speed"], least=0.0),
        )
    return _Statement(time, line, parts["axis"] or "", values)


def _number(log: Path, line: int, what: str, text: str, least: float = -1e9) -> float:
    found = decimal(text)
    if found is None or not least <= found <= 10**9:
        expected = "a number from 0 on" if least == 0.0 else "a number of metres"
        raise bad(log, line, f"{what} is {text[:QUOTED]!r}", expected, "correct it")
    return float(found)


class _Node:
    """A node on its way. `breaks` are the times and places at which its motion changes."""

    def __init__(self) -> None:
        self.place = np.zeros(2)
        self.breaks: list[tuple[float, Any]] = []
        self._from, self._to, self._speed = 0.0, self.place, 0.0

    def advance(self, time_s: float) -> None:
        """Move until a time."""
        way = self._to - self.place
        length = float(np.hypot(*way))
        if self._speed > 0 and length > 0:
            arrival = self._from + length / self._speed
            if arrival <= time_s:
                self.place = self._to
                self.breaks.append((arrival, self.place))
            else:
                self.place = self.place + way * ((time_s - self._from) / (arrival - self._from))
        self._from = time_s
        if time_s != float("inf"):
            self.breaks.append((time_s, self.place))

    def go(self, x: float, y: float, speed: float) -> None:
        """Begin a way. Without a speed it stays."""
        self._to, self._speed = np.array([x, y]), speed


def _track(log: Path, name: str, statements: list[_Statement]) -> Track:
    node = _Node()
    height = False
    placed = {each.axis for each in statements if each.time_s == 0.0}
    if not {"X", "Y"} <= placed:
        first = statements[0]
        missing = "X_" if "X" not in placed else "Y_"
        expected = f"its place at 0: $node_({name}) set {missing} 0.0"
        raise bad(log, first.line, f"the node {name!r} has no {missing} at 0 s", expected, "add that line")
    start = {each.axis: each.values[0] for each in statements if each.time_s == 0.0 and each.axis}
    node.place = np.array([start["X"], start["Y"]])
    node.advance(0.0)
    for each in statements:
        if each.axis in ("X", "Y") and each.time_s > 0.0:
            node.advance(each.time_s)
            axis = "XY".index(each.axis)
            if abs(node.place[axis] - each.values[0]) > _JUMP_M:
                raise bad(
                    log,
                    each.line,
                    f"the node {name!r} jumps from {node.place[axis]:.10g} to {each.values[0]:.10g} m",
                    "a node that moves, setdest, and a place at its begin alone",
                    "remove the line, or make a file of each part between jumps",
                )
        elif not each.axis:
            node.advance(each.time_s)
            node.go(*each.values)
        height = height or (each.axis == "Z" and each.values[0] != 0.0)
    node.advance(float("inf"))
    times = np.array([time for time, _ in node.breaks])
    places = np.array([place for _, place in node.breaks])
    kept = np.concatenate((np.diff(times) > 0, [True]))
    notes = ("heights (Z_) are left out",) if height else ()
    return Track(name, times[kept], places[kept], notes)


_JUMP_M = 0.01
