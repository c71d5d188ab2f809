"""ns-2's trace of packets on links, which `roamlab.traces.ns2` reads back.

`+`: a packet is passed to a link; `-`: its transmission begins; `r`: it arrives; `d`: it is lost. Columns:
event, time, from node, to node, type, size on the wire, flags, flow identifier, source and destination as
node.port, number, serial number. An ACK's number is the last segment that it acknowledges, as in ns-2.
Broadcasts on the air are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from roamlab.exports.capture import AIR, CAME, HANDED, LOST, SENT, Captured, Network, capture
from roamlab.records.constants import NO_LOSS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roamlab.records.results import Results

TRACE = "trace.tr"
_TYPES = {"data": "tcp", "syn": "syn", "ack": "ack", "datagram": "udp", "signal": "signal"}
_STEPS = {CAME: (0, "r"), HANDED: (1, "+"), LOST: (2, "d"), SENT: (3, "-")}
"""The order of a packet's steps at one time, and their letters."""


def write(results: Results) -> dict[str, str]:
    """The trace, and the meaning of its numbers of flows and nodes: files by their names."""
    captured = capture(results, None, Network.of(results))
    return {
        TRACE: "".join(f"{line}\n" for line in _lines(captured, results)),
        "flows.csv": _listed("flow", _flows(results)),
        "nodes.csv": _listed("node", _nodes(captured)),
    }


def _listed(what: str, numbers: dict[str, int]) -> str:
    rows = (f"{number},{name}\n" for name, number in numbers.items())
    return f"number,{what}\n{''.join(rows)}"


def _flows(results: Results) -> dict[str, int]:
    names = results.flows["flow"].cast(pl.String).to_list()
    return {name: number for number, name in enumerate(names, start=1)}


def _nodes(captured: Captured) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted(captured.network.nodes))}


def _lines(captured: Captured, results: Results) -> Iterator[str]:
    network, nodes, flows = captured.network, _nodes(captured), _flows(results)
    ranks = {stop: rank for stop, (rank, _) in _STEPS.items()}
    spare = (pl.col("stop") == LOST) & pl.col("reason").is_in(NO_LOSS)
    released = captured.frames.filter(spare).select("time_ns", "serial")
    # A host takes a copy of what it has off the air only to let it go: to its endpoint it does not arrive.
    spared = captured.frames.filter(captured.received).filter(~spare)
    came = spared.filter(pl.col("stop") == CAME).join(released, on=["time_ns", "serial"], how="semi")
    rows = (
        spared.join(came, on=["time_ns", "serial", "stop"], how="anti", maintain_order="left")
        .with_columns(
            at=pl.when(pl.col("stop") == SENT).then("started_ns").otherwise("time_ns"),
            rank=pl.col("stop").replace_strict(ranks, return_dtype=pl.UInt8),
        )
        .sort("at", "rank", maintain_order=True)
    )
    links = {queue: link for link in network.links for queue in network.queues(link)}
    pairs: dict[tuple[str, str], int] = {}
    columns = "at", "stop", "place", "next", "kind", "wire_bytes", "flow", "source", "destination", "number"
    for at, stop, place, following, kind, size, flow, source, destination, number, serial in rows.select(
        *columns, "serial"
    ).iter_rows():
        link = links.get(place)
        here = place if link is None else network.source(link)
        there = place if link is None else following if link.endswith(AIR) else link.split(">")[-1]
        if there not in nodes or destination not in nodes:
            continue
        if kind == "signal":
            ends = min(source, destination), max(source, destination)
            fid = -1 - pairs.setdefault(ends, len(pairs))
        else:
            fid = flows[flow]
        seconds, rest = divmod(at, 10**9)
        seq = number - 1 if kind == "ack" else number
        yield (
            f"{_STEPS[stop][1]} {seconds}.{rest:09d} {nodes[here]} {nodes[there]} {_TYPES[kind]} {size} ------- "
            f"{fid} {nodes[source]}.{abs(fid)} {nodes[destination]}.{abs(fid)} {seq} {serial}"
        )
