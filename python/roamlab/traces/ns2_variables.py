"""ns-2's traced variables, in both of its forms.

`Trace/Var` and `trace` write nam's lines, `f -t0.188448 -a_o84 -ncwnd_ -v2` (with or without the dashes).
Agents are numbered from 0 in order of appearance, as flows usually are. An agent with a separate file
(`attach`) writes `0.18845 0 0 3 0 cwnd_ 2.000`: time, source and port, destination and port, name, value. The
flow is the number of the sender, again in order of appearance.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from roamlab.traces.event import Event, number
from roamlab.traces.text import bad, lines, locate, nanoseconds, real

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["events", "locate", "offers", "recognises"]

_NAM = re.compile(r"f -?t ?(\S+) -?a ?(\S+) -?n ?(\S+) -?v ?(\S+)(?: .*)?$")
_AGENT = re.compile(r"(\S+)\s+(-?\d+\s+-?\d+)\s+-?\d+\s+-?\d+\s+([A-Za-z]\w*)\s+(\S+)\s*$")
_TRACED = frozenset(
    [
        *("cwnd", "ssthresh", "rtt", "srtt8", "rttvar4", "backoff", "nrexmit", "ncwndcuts"),
        *("maxseq", "seqno", "t_seqno", "ack", "dupacks"),
    ]
)
_SCALED = {"srtt": "srtt8", "rttvar": "rttvar4"}
"""srtt_ and rttvar_ are fixed-point numbers of ticks, with this factor."""


def recognises(_path: Path, head: list[str]) -> bool:
    """By the first line that is no comment."""
    first = next((line for line in head if not line.startswith("#")), "")
    return bool(_NAM.match(first) or _AGENT.match(first))


def offers(_path: Path) -> frozenset[str]:
    """The variables that Agent/TCP traces."""
    return _TRACED


def events(path: Path) -> Iterator[Event]:
    """The values, each time one is set."""
    senders: dict[str, int] = {}
    for line, text in lines(path):
        if not text.strip() or text.startswith("#"):
            continue
        found = _NAM.match(text)
        if found:
            seconds, sender, name, value = found.groups()
        elif found := _AGENT.match(text):
            seconds, sender, name, value = found[1], found[2], found[3], found[4]
        else:
            raise bad(
                path,
                line,
                1,
                f"found {text[:60]!r}",
                "`f -t TIME -a AGENT -n NAME -v VALUE`, or time, two addresses with ports, name and value",
            )
        time, real_value = nanoseconds(seconds), real(value)
        if time is None:
            raise bad(path, line, text.index(seconds) + 1, f"found {seconds!r}", "a time in s")
        if real_value is None:
            raise bad(path, line, text.rindex(value) + 1, f"found {value!r}", "a number")
        flow = str(senders.setdefault(sender, len(senders)))
        name = name.rstrip("_")
        yield Event(time, "V", flow, _SCALED.get(name, name), number(real_value), "", line)
