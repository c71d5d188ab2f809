"""xgraph's input: sets of pairs of x and y, separated by empty lines, each with its name on a line `"name`.

x is the time in s. The name is that of a variable, or a flow and a variable ("1 cwnd"); a set without a name
has the name of the file. Lines of settings (`TitleText: ...`) and the words `move` and `draw` before a pair
are allowed.
"""

from __future__ import annotations

import heapq
import re
from typing import TYPE_CHECKING

from roamlab.traces.event import Event, number
from roamlab.traces.text import bad, column, lines, locate, nanoseconds, real

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["events", "locate", "offers", "recognises"]

_SETTING = re.compile(r"[A-Za-z][\w.]*\s*:")
_FLOW = "0"
"""The flow of a set whose name is one word."""


def recognises(_path: Path, head: list[str]) -> bool:
    """By a pair of numbers, where everything before it is a name, a setting or a comment."""
    for line in head:
        words = _pair(line)
        if len(words) == 2 and all(real(word) is not None for word in words):
            return True
        if not (line.startswith(('"', "#")) or _SETTING.match(line)):
            return False
    return False


def offers(path: Path) -> frozenset[str]:
    """The names of the sets."""
    return frozenset(points[0].what for points in _sets(path) if points)


def events(path: Path) -> Iterator[Event]:
    """The points of all sets, in the order of time."""
    return heapq.merge(*_sets(path), key=lambda event: event.time_ns)


def _sets(path: Path) -> list[list[Event]]:
    stem = path.name.partition(".")[0]
    flow, name = _FLOW, stem
    sets: list[list[Event]] = [[]]
    for line, text in lines(path):
        if not text.strip():
            sets.append([])
            flow, name = _FLOW, stem
        elif text.startswith('"'):
            first, _, rest = text.strip('" ').partition(" ")
            flow, name = (first, rest) if rest else (_FLOW, first or stem)
            sets.append([])
        elif not (text.startswith("#") or _SETTING.match(text)):
            sets[-1].append(_point(path, line, text, flow, name))
    return sets


def _point(path: Path, line: int, text: str, flow: str, name: str) -> Event:
    words = _pair(text)
    time = nanoseconds(words[0]) if words else None
    value = real(words[1]) if len(words) == 2 else None
    if time is None or value is None:
        at = len(text.split()) - len(words) + (0 if time is None else 1)
        raise bad(path, line, column(text, at), f"found {text[:60]!r}", "a time in s and a value")
    return Event(time, "V", flow, name, number(value), "", line)


def _pair(text: str) -> list[str]:
    words = text.split()
    return words[1:] if words and words[0] in ("move", "draw") else words
