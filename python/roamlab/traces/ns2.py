"""ns-2's trace of packets on wired links: `+ - r d` and 12 columns or more.

The columns are event, time, from node, to node, type, size, flags, flow, source address.port, destination
address.port, sequence number, packet number. The TCP header follows if it is shown. An ACK is a packet of
type `ack`, whose sequence number is the one that it acknowledges. Every other type carries data, except
`syn`, which only Roamlab writes. A flow is a flow identifier (`fid_`). Addresses are flat: the source's
address is the number of its node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.traces.event import Event
from roamlab.traces.text import bad, column, lines, locate, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["events", "locate", "offers", "recognises"]

_HEADERS_BYTES = 40
"""A TCP packet of this size or less carries no data: a SYN."""
_KINDS = "+-rdehvE"
_FIELDS = {
    0: "one of + - r d",
    1: "a time in s",
    2: "the number of a node",
    3: "the number of a node",
    5: "a size in bytes",
    7: "a flow identifier",
    8: "address.port",
    9: "address.port",
    10: "a sequence number",
    11: "a packet number",
}


def recognises(_path: Path, head: list[str]) -> bool:
    """By the event at the beginning of a line and the number of columns."""
    return any(line[0] in "+-rd" and len(line.split()) >= 12 for line in head if line[1:2] == " ")


def offers(_path: Path) -> frozenset[str]:
    """Events that ends and links show; queue lengths would need the name of a bottleneck."""
    return frozenset("SKADB")


def events(path: Path) -> Iterator[Event]:
    """Sending, arriving and being lost; what links do between is left out."""
    ends: dict[str, frozenset[str]] = {}
    highest: dict[str, int] = {}
    for line, text in lines(path):
        if not text or text[0] == "#" or (text[0] in "vE" and text[1:2] == " "):
            continue
        fields = text.split()
        if (wrong := _wrong(fields)) is not None:
            missing = wrong == len(fields)
            found = f"{wrong} columns" if missing else repr(fields[wrong])
            expected = "12 columns or more" if missing else _FIELDS[wrong]
            raise bad(path, line, column(text, wrong), f"found {found}", expected)
        step, seconds, here, there, kind, size, _, flow, source, destination, seq = fields[:11]
        _check_ends(path, line, text, ends.setdefault(flow, frozenset((source, destination))), fields)
        is_ack = kind == "ack"
        if step == "d":
            made = ("B" if is_ack else "D", "")
        elif step == "+" and here == _node(source):
            if is_ack:
                made = ("K", size)
            else:
                again = int(seq) <= highest.get(flow, -1)
                highest[flow] = max(highest.get(flow, -1), int(seq))
                made = ("S", str(int(again)))
        elif step == "r" and there == _node(destination) and not is_ack:
            if kind == "syn" or (kind == "tcp" and int(size) <= _HEADERS_BYTES):
                continue
            made = ("A", "")
        else:
            continue
        note = f"{here}->{there}" if step == "d" else ""
        time = nanoseconds(seconds)
        assert time is not None, "checked above"
        yield Event(time, made[0], flow, seq, made[1], note, line)


def _node(address: str) -> str:
    return address.rpartition(".")[0]


def _check_ends(path: Path, line: int, text: str, known: frozenset[str], fields: list[str]) -> None:
    found = frozenset(fields[8:10])
    if found != known:
        raise bad(
            path,
            line,
            column(text, 7),
            f"flow {fields[7]} is between {' and '.join(sorted(found))} here, and was between "
            f"{' and '.join(sorted(known))}",
            "a flow identifier for each connection (`$tcp set fid_ 1`)",
        )


def _wrong(fields: list[str]) -> int | None:
    """The first column that cannot be."""
    if not fields or len(fields[0]) != 1 or fields[0] not in _KINDS:
        return 0
    if len(fields) < 12:
        return len(fields)
    good = {
        1: nanoseconds(fields[1]) is not None,
        2: fields[2].isdecimal(),
        3: fields[3].isdecimal(),
        5: fields[5].isdecimal(),
        7: fields[7].removeprefix("-").isdecimal(),
        8: "." in fields[8],
        9: "." in fields[9],
        10: fields[10].removeprefix("-").isdecimal(),
        11: fields[11].isdecimal(),
    }
    return next((index for index, fine in good.items() if not fine), None)
