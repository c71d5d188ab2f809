"""Runs of Roamlab: a run folder, or one of its Parquet tables.

`deliveries` give the arrivals and `tcp` the windows. `packets`, if `record.packets` is on, give
transmissions, queue entries and losses. Without it `drops` give the losses of data. A loss with number 0 is
left out: it is that of an ACK or a SYN, or of the first segment if there is no SYN.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import polars as pl

from roamlab.base.errors import BadInput
from roamlab.records.constants import NO_LOSS
from roamlab.records.manifest import MANIFEST
from roamlab.records.storage.store import open_run
from roamlab.traces.event import Event, number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from roamlab.records.results import Results

_OFFERED = {
    "deliveries": ("A",),
    "drops": ("D",),
    "packets": ("S", "K", "Q", "D", "B"),
    "tcp": ("cwnd", "ssthresh"),
}
_SENT = {"data": "S", "syn": "S", "datagram": "S", "ack": "K"}


def recognises(path: Path, _head: list[str]) -> bool:
    """A folder with a manifest, or a table next to one."""
    return (path.is_dir() or path.suffix == ".parquet") and (_folder(path) / MANIFEST).exists()


def offers(path: Path) -> frozenset[str]:
    """Content of the tables. Q only if data pass one recorded queue: of several it would not be known which."""
    results = _results(path)
    tables = _tables(path, results)
    tokens = {token for table in tables for token in _OFFERED[table]}
    return frozenset(tokens - {"Q"} if "packets" in tables and not _has_bottleneck(results) else tokens)


def events(path: Path) -> Iterator[Event]:
    """The rows of the tables, in the order of time."""
    readers = {"deliveries": _arrivals, "drops": _losses, "packets": packets, "tcp": _windows}
    results = _results(path)
    chosen = [readers[table](results) for table in _tables(path, results)]
    return heapq.merge(*chosen, key=lambda event: event.time_ns)


def locate(path: Path, event: Event) -> str:
    """The row of the table."""
    tables = _tables(path, _results(path))
    table = next(table for table in tables if event.token in _OFFERED[table])
    return f"{_folder(path) / table}.parquet, row {event.line}"


def packets(results: Results) -> Iterator[Event]:
    """Packets that endpoints send, recorded queues are handed and the network loses, if recorded: S, K, Q, D and B."""
    reasons = results.drops.select("serial", "reason")
    rows = (
        results.table("packets")
        .with_row_index("line", offset=1)
        .join(reasons, on="serial", how="left", maintain_order="left")
        .with_columns(pl.col("event", "place", "flow", "kind", "reason").cast(pl.String))
        .filter(pl.col("kind").is_in(list(_SENT)))
    )
    for row in rows.iter_rows(named=True):
        is_ack = row["kind"] == "ack"
        note = ""
        if row["event"] == "send":
            kind, value = _SENT[row["kind"]], row["wire_bytes"] if is_ack else int(row["retransmission"])
        elif row["event"] == "enqueue" and not is_ack:
            kind, value = "Q", row["waiting"]
        elif row["event"] == "drop" and row["reason"] not in NO_LOSS:
            kind, value, note = "B" if is_ack else "D", "", f"{row['place']} {row['reason']}"
        else:
            continue
        number = row["number"] - 1 if is_ack else row["number"]
        yield Event(row["time_ns"], kind, row["flow"], str(number), str(value), note, row["line"])


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _results(path: Path) -> Results:
    return open_run(_folder(path))


def _tables(path: Path, results: Results) -> list[str]:
    """The tables that are read: those that were recorded, losses from one of them, or the one that `path` is."""
    missing = {"deliveries", "packets", "tcp"} - set(results.manifest.outline.recorded)
    if path.is_dir():
        losses = "drops" if "packets" in missing else "packets"
        return [table for table in ("deliveries", losses, "tcp") if table not in missing]
    if path.stem not in _OFFERED:
        raise BadInput(
            path,
            "the table holds no events of senders and receivers",
            expected=f"one of {', '.join(_OFFERED)}",
            remedy="give the run folder instead",
        )
    if path.stem in missing:
        raise BadInput(
            path,
            "the table is empty",
            expected="a run that recorded it",
            remedy=f"run with `record.{path.stem} = true`",
        )
    return [path.stem]


def _has_bottleneck(results: Results) -> bool:
    """True if there is one recorded queue that data are handed."""
    handed = pl.col("event").cast(pl.String) == "enqueue"
    is_data = ~pl.col("kind").cast(pl.String).is_in(["ack", "signal"])
    return results.table("packets").filter(handed & is_data)["place"].n_unique() == 1


def _arrivals(results: Results) -> Iterator[Event]:
    rows = results.deliveries.select("time_ns", pl.col("flow").cast(pl.String), "seq", "fresh")
    for line, (time, flow, seq, fresh) in enumerate(rows.iter_rows(), start=1):
        yield Event(time, "A", flow, str(seq), "", "" if fresh else "again", line)


def _losses(results: Results) -> Iterator[Event]:
    flows = results.flows["flow"].cast(pl.String).implode()
    text = (pl.col(name).cast(pl.String) for name in ("flow", "place", "reason"))
    rows = results.drops.with_row_index("line", offset=1).select("line", "time_ns", "seq", "data", *text)
    is_loss = ~pl.col("reason").is_in(NO_LOSS)
    chosen = rows.filter(pl.col("flow").is_in(flows) & pl.col("data") & is_loss)
    for line, time, seq, _, flow, place, reason in chosen.iter_rows():
        yield Event(time, "D", flow, str(seq), "", f"{place} {reason}", line)


def _windows(results: Results) -> Iterator[Event]:
    """Values after each fact. Before a sender's first, which an ACK that opens cwnd is, ssthresh was the same."""
    rows = results.tcp.select(
        "time_ns", pl.col("flow").cast(pl.String), pl.col("event").cast(pl.String), "cwnd", "ssthresh"
    )
    first = rows.with_row_index("line", offset=1).unique("flow", keep="first", maintain_order=True)
    for line, flow, ssthresh in (
        first.filter(pl.col("event") == "window").select("line", "flow", "ssthresh").iter_rows()
    ):
        yield Event(0, "V", flow, "ssthresh", number(ssthresh), "", line)
    for line, (time, flow, event, cwnd, ssthresh) in enumerate(rows.iter_rows(), start=1):
        note = "" if event == "window" else event
        yield Event(time, "V", flow, "cwnd", number(cwnd), note, line)
        yield Event(time, "V", flow, "ssthresh", number(ssthresh), note, line)
