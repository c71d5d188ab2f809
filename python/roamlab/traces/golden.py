"""Recorded ns-2 runs: CSV `t_us,ev,flow,x,y` with times in whole microseconds, perhaps gzipped.

tests/golden/ns2/README.md describes the columns. A loss of an ACK (D with an `a` after its place) is `B`
here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.traces.event import Event, number
from roamlab.traces.text import LATEST_S, bad, column, lines, locate, real

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["events", "locate", "offers", "recognises"]

HEADER = "t_us,ev,flow,x,y"
_PACKETS, _VARIABLES = "SKQDM", "VR"
_SENDERS = ("cwnd", "ssthresh", "rtt", "srtt8", "rttvar4", "backoff", "nrexmit", "ncwndcuts", "rto")
_TRACED = (*_SENDERS, "ave", "prob1")
_FIELDS = ("a time in whole microseconds", "one of S K Q D M V R", "a flow", "a number or a name", "a value")


def recognises(_path: Path, head: list[str]) -> bool:
    """By the header."""
    return bool(head) and head[0] == HEADER


def offers(_path: Path) -> frozenset[str]:
    """Packets at the ends and at the bottleneck, and the traced variables."""
    return frozenset([*"SKQDBM", *_TRACED])


def events(path: Path) -> Iterator[Event]:
    """The rows."""
    for line, text in lines(path):
        if line == 1:
            if text != HEADER:
                raise bad(path, 1, 1, f"{text[:60]!r} is not the header", HEADER)
            continue
        fields = text.split(",")
        wrong = _wrong(fields)
        if wrong is not None:
            found = repr(fields[wrong]) if wrong < len(fields) else "nothing"
            raise bad(
                path,
                line,
                column(text, wrong, ","),
                f"found {found}",
                _FIELDS[wrong] if wrong < len(_FIELDS) else "5 fields",
            )
        at, kind, flow, what, value = fields
        note = ""
        if kind == "D":
            kind, note, value = ("B" if value.endswith("a") else "D"), value, ""
        elif kind in _VARIABLES:
            value = number(float(value))
        yield Event(int(at) * 1000, kind, flow, what, value, note, line)


def _wrong(fields: list[str]) -> int | None:
    """The first field that cannot be."""
    if len(fields) != len(_FIELDS):
        return min(len(fields), len(_FIELDS))
    at, kind, flow, what, value = fields
    is_variable = kind in _VARIABLES
    good = (
        at.isdecimal() and len(at) < 16 and int(at) < LATEST_S * 10**6,
        len(kind) == 1 and kind in _PACKETS + _VARIABLES,
        flow.isdecimal() or (kind == "R" and not flow),
        bool(what) if is_variable else what.removeprefix("-").isdecimal(),
        real(value) is not None if is_variable else True,
    )
    return next((index for index, fine in enumerate(good) if not fine), None)
