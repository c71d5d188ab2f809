"""Capture files in pcapng (draft-ietf-opsawg-pcapng): the packets of a node's interfaces, or of links.

One interface for each one-way link, raw IP, times in nanoseconds. Packets have the bytes of their headers;
their zeros are counted in the original length. Comments name the reason of a loss, the message of a packet,
and the phases of a handover.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from roamlab import _roamlab
from roamlab.base.errors import BadInput
from roamlab.exports.capture import AIR, CAME, LOST, SENT, Captured, Network, capture
from roamlab.records.why import step_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roamlab.records.results import Results

_RAW_IP = 101
_INBOUND, _OUTBOUND = 1, 2
_STEPS = 4
"""Of a chain of causes, the steps that a comment has room for."""


@dataclass(frozen=True)
class Interface:
    """A link, or what a node does with packets inside; `node`: whose capture this is a part of."""

    name: str
    node: str | None = None


@dataclass
class Selection:
    """Which packets are in the file."""

    interfaces: list[Interface] = field(default_factory=list)
    places: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, network: Network, nodes: Sequence[str], links: Sequence[str]) -> Selection:
        """The links that are named, and all at the nodes that are."""
        if not nodes and not links:
            raise BadInput(
                "--format pcapng",
                "neither a node nor a link is named",
                expected="--node or --link, each as often as you like",
                remedy=f"write --node {sorted(network.nodes)[0]}, for example",
            )
        network.check("--node", nodes, network.nodes)
        network.check("--link", links, network.links)
        made = cls([Interface(link) for link in dict.fromkeys(links)])
        for node in dict.fromkeys(nodes):
            at = [
                link for link in network.links if node == network.source(link) or network.ends_at(link, node)
            ]
            made.interfaces += [Interface(link, node) for link in at]
            made.interfaces.append(Interface(node, node))
        seen = {interface.name for interface in made.interfaces}
        made.places = [place for name in sorted(seen) for place in network.queues(name)]
        return made


SEEN_FILE, LOST_FILE = "capture.pcapng", "lost.pcapng"
"""The packets that a card at the places would have seen, and those that were lost there."""


def write(
    results: Results, nodes: Sequence[str], links: Sequence[str], *, payload: bool = False
) -> dict[str, tuple[bytes, int]]:
    """The two files, and how many packets each has. `payload`: the zeros of packets are written too."""
    network = Network.of(results)
    selection = Selection.of(network, nodes, links)
    captured = capture(results, selection.places, network)
    rows = _rows(captured, selection)
    is_lost = pl.col("stop") == LOST
    parts = {SEEN_FILE: rows.filter(~is_lost), LOST_FILE: rows.filter(is_lost)}
    return {
        name: (b"".join(_blocks(captured, selection, part, payload=payload)), part.height)
        for name, part in parts.items()
    }


def _rows(captured: Captured, selection: Selection) -> pl.DataFrame:
    """The packets of the file: rows of `frames` with interface and direction."""
    network = captured.network
    frames = captured.frames.with_row_index("row").filter(captured.received)
    parts = []
    for number, interface in enumerate(selection.interfaces):
        name, node = interface.name, interface.node
        is_here = pl.col("place").is_in(network.queues(name))
        comes = node is not None and name != node and network.source(name) != node
        shown = frames.filter(is_here & pl.col("stop").is_in([CAME if comes else SENT, LOST]))
        if comes and name.endswith(AIR):
            shown = shown.filter(pl.col("next") == node)
        direction = pl.lit(_INBOUND if comes else _OUTBOUND, pl.UInt32)
        parts.append(shown.with_columns(direction=direction, interface=pl.lit(number, pl.UInt32)))
    # A link may be named in addition to its node: every interface has its own packets.
    return pl.concat(parts).sort("row", "interface")


def _blocks(
    captured: Captured, selection: Selection, rows: pl.DataFrame, *, payload: bool
) -> Iterator[bytes]:
    made = captured.results.manifest
    about = f"{made.scenario_name}, seed {made.seed}, run {made.run}"
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    yield block(0x0A0D0D0A, section + options((1, about), (4, f"roamlab {_roamlab.version()}")))
    for interface in selection.interfaces:
        shown = struct.pack("<HHI", _RAW_IP, 0, 0)
        where = f"at node {interface.node}" if interface.node else "one-way link"
        yield block(1, shown + options((2, interface.name), (3, where), (9, b"\x09")))
    content = captured.content
    yield _names(captured, content)
    comments = _comments(captured, rows)
    ends = [0, *captured.frames["end"].to_list()]
    columns = ("row", "interface", "time_ns", "length", "wire_bytes", "direction", "serial")
    for at, (row, interface, time, length, wire, direction, serial) in enumerate(
        rows.select(columns).iter_rows()
    ):
        data = content[ends[row] : ends[row + 1]]
        data += bytes(length - len(data)) if payload else b""
        whole = max(length, wire)
        head = struct.pack("<IIIII", interface, time >> 32, time & 0xFFFFFFFF, len(data), whole)
        more = [(1, text) for text in comments.get(at, [])]
        marks = (2, struct.pack("<I", direction)), (5, struct.pack("<Q", serial))
        yield block(6, head + padded(data) + options(*more, *marks))


def _names(captured: Captured, content: bytes) -> bytes:
    """The names of addresses; those of an IPv6 tunnel's ends too, if there is one."""
    records = b""
    addresses = captured.frames.select("source", "destination", "end")
    ends = [0, *addresses["end"].to_list()]
    known: dict[str, bytes] = {}
    for column, offset in (("source", 12), ("destination", 16)):
        for name, at in (
            addresses.with_row_index("row").group_by(column).agg(pl.col("row").first()).iter_rows()
        ):
            inner = _inner(content[ends[at] : ends[at + 1]])
            known[name] = inner[offset : offset + 4]
    for name, address in sorted(known.items()):
        if name in captured.network.nodes:
            for kind, value in ((1, address), (2, bytes([0xFD, *[0] * 11]) + address)):
                value += name.encode() + b"\0"
                records += struct.pack("<HH", kind, len(value)) + padded(value)
    return block(4, records + bytes(4))


def _inner(data: bytes) -> bytes:
    """A packet without its tunnel headers."""
    while True:
        if data[0] >> 4 == 6:
            data = data[40:]
        elif data[9] in {4, 41}:
            data = data[20:]
        elif data[9] == 17 and data[20:24] == b"\x08\x68\x08\x68":
            data = data[36:]
        else:
            return data


def _comments(captured: Captured, rows: pl.DataFrame) -> dict[int, list[str]]:
    """Annotations of packets, by their places in the file."""
    results = captured.results
    said: dict[int, list[str]] = {}
    messages = results.signalling.select(pl.col("message", "host").cast(pl.String)).rows()
    signals = rows.with_row_index("at").filter(pl.col("kind") == "signal").select("at", "number").rows()
    for at, number in signals:
        message, host = messages[number]
        said.setdefault(at, []).append(f"signalling: {message}" + (f", about {host}" if host else ""))
    chains = _Chains(results)
    lost = rows.with_row_index("at").filter(pl.col("stop") == LOST)
    for at, place, reason, serial in lost.select("at", "place", "reason", "serial").iter_rows():
        said.setdefault(at, []).append(chains.loss(place, reason, serial))
    times = rows["time_ns"].to_numpy()
    phases = results.handovers.select("time_ns", pl.col("host", "phase", "node").cast(pl.String), "visit")
    for time, host, phase, node, visit in phases.iter_rows() if len(times) else ():
        after = int(np.searchsorted(times, time))
        near = [at for at in (after - 1, after) if 0 <= at < len(times)]
        at = min(near, key=lambda place: abs(int(times[place]) - time))
        text = f"handover: {host}, visit {visit}, {phase} at {node}, {time / 1e9:.9f} s"
        said.setdefault(at, []).append(text)
    return said


class _Chains:
    """Why packets are lost, in words."""

    def __init__(self, results: Results) -> None:
        self.causes = dict(results.drops.select("serial", "cause").iter_rows())
        self.rows = results.causes

    def loss(self, place: str, reason: str, serial: int) -> str:
        words = [f"lost at {place}: {reason}"]
        at = self.causes.get(serial, -1)
        while at >= 0 and len(words) < _STEPS:
            row = self.rows.row(at, named=True)
            if row["kind"] != "loss":
                words.append(f"{step_words(row)} at {row['time_ns'] / 1e9:.9f} s")
            at = row["cause"]
        return " · because of ".join(words)


def block(kind: int, body: bytes) -> bytes:
    """A block of pcapng: its type, its length, its body, its length again."""
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def options(*pairs: tuple[int, str | bytes]) -> bytes:
    """The options of a block, with the mark of their end."""
    parts = []
    for code, value in pairs:
        data = value.encode() if isinstance(value, str) else value
        parts.append(struct.pack("<HH", code, len(data)) + padded(data))
    return b"".join(parts) + bytes(4)


def padded(data: bytes) -> bytes:
    """Bytes filled up with zeros to a multiple of four."""
    return data + bytes(-len(data) % 4)
