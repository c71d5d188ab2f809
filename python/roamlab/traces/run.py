"""Our own runs: a run folder, or one of its Parquet tables.

`deliveries` give the arrivals, `drops` the losses, `tcp` the windows. A loss with number 0 is left out: it is that of
an ACK or a SYN, or of the first segment where there is no SYN. What a sender puts on the wire is not recorded.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import polars as pl

from roamlab.errors import BadInput
from roamlab.store import MANIFEST, open_run
from roamlab.traces.event import Event, number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from roamlab.results import Results

_OFFERED = {"deliveries": ("A",), "drops": ("D",), "tcp": ("cwnd", "ssthresh")}
_TABLE_OF = {"A": "deliveries", "D": "drops", "V": "tcp"}


def recognises(path: Path, _head: list[str]) -> bool:
    """A folder with a manifest, or a table beside one."""
    folder = path if path.is_dir() else path.parent
    return (path.is_dir() or path.suffix == ".parquet") and (folder / MANIFEST).exists()


def offers(path: Path) -> frozenset[str]:
    """What the tables hold."""
    return frozenset(token for table in _tables(path) for token in _OFFERED[table])


def events(path: Path) -> Iterator[Event]:
    """The rows of the tables, in the order of time."""
    readers = {"deliveries": _arrivals, "drops": _losses, "tcp": _windows}
    chosen = [readers[table] for table in _tables(path)]
    results = open_run(path if path.is_dir() else path.parent)
    return heapq.merge(*(read(results) for read in chosen), key=lambda event: event.time_ns)


def locate(path: Path, event: Event) -> str:
    """The row of the table."""
    folder = path if path.is_dir() else path.parent
    return f"{folder / _TABLE_OF[event.kind]}.parquet, row {event.line}"


def _tables(path: Path) -> tuple[str, ...]:
    if path.is_dir():
        return tuple(_OFFERED)
    if path.stem not in _OFFERED:
        raise BadInput(
            path,
            "the table holds no events of senders and receivers",
            expected=f"one of {', '.join(_OFFERED)}",
            remedy="give the run folder instead",
        )
    return (path.stem,)


def _arrivals(results: Results) -> Iterator[Event]:
    rows = results.deliveries.select("time_ns", pl.col("flow").cast(pl.String), "seq", "fresh")
    for line, (time, flow, seq, fresh) in enumerate(rows.iter_rows(), start=1):
        yield Event(time, "A", flow, str(seq), "", "" if fresh else "again", line)


def _losses(results: Results) -> Iterator[Event]:
    flows = results.flows["flow"].cast(pl.String).implode()
    text = (pl.col(name).cast(pl.String) for name in ("flow", "place", "reason"))
    rows = results.drops.with_row_index("line", offset=1).select("line", "time_ns", "seq", *text)
    chosen = rows.filter(
        pl.col("flow").is_in(flows) & (pl.col("seq") > 0) & (pl.col("reason") != "copy-released")
    )
    for line, time, seq, flow, place, reason in chosen.iter_rows():
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
