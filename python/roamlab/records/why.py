"""The chain of causes behind a row of a run's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab.base.calls import RESULTS, called
from roamlab.base.errors import BadInput
from roamlab.records.tables import TABLES

if TYPE_CHECKING:
    from roamlab.records.results import Results

WITH_CAUSES = tuple(table.name for table in TABLES.values() if "cause" in table.columns)
"""Tables whose rows can be asked about."""


@called(results=RESULTS)
def why(results: Results, table: str, row: int) -> pl.DataFrame:
    """Causes of a row, step by step to the root.

    `table` is one with a column `cause`: drops, tcp, packets, handovers, path_changes, releases, signalling or causes
    itself;
    `row` its number from 0. The frame has the columns of `causes` behind `id`, the number of each row there: first the
    row itself or what it leads to directly, last the root. It is empty if the row has no cause (`cause` is -1
    there), for example when a window opens. A wrong table or row raises `BadInput`.
    """
    if table not in WITH_CAUSES:
        raise BadInput(
            f"table {table!r}",
            "its rows have no causes",
            expected=f"one of {', '.join(WITH_CAUSES)}",
            remedy="docs/tables.md lists the tables with a column `cause`",
        )
    frame = results.table(table)
    if not 0 <= row < frame.height:
        raise BadInput(
            f"row {row}",
            f"the table {table} has {frame.height} rows",
            expected=f"a number from 0 to {frame.height - 1}" if frame.height else "a table with rows",
            remedy=f"look for the row in {table}.parquet of the run, or in `results.{table}`",
        )
    causes = results.causes
    parents = causes["cause"].to_list()
    at = row if table == "causes" else frame["cause"][row]
    chain: list[int] = []
    while at >= 0:
        chain.append(at)
        at = parents[at]
    return causes[chain].insert_column(0, pl.Series("id", chain, dtype=pl.Int64))


def lines(results: Results, table: str, row: int) -> list[str]:
    """The chain of `why` as text: the row, and below it, each further to the right, what led to it."""
    chain = why(results, table, row)
    asked = results.table(table).row(row, named=True)
    shown = [f"{table} {row}: {_words(asked, skip=('cause', *_TIMES))}"]
    shown += [
        f"{'  ' * depth}{_seconds(step['time_ns'])} {step_words(step)}"
        for depth, step in enumerate(chain.iter_rows(named=True), start=1)
    ]
    return shown if chain.height else [*shown, "  nothing led to it that is recorded"]


_TIMES = ("rto_ns", "cwnd", "ssthresh")


def step_words(step: dict[str, Any]) -> str:
    """`loss early-drop at bs2/air, flow moving, segment 7, packet 12`."""
    parts = [" ".join(filter(None, (step["kind"], step["name"])))]
    if step["place"]:
        parts[0] += f" at {step['place']}"
    parts += [f"{word} {step[word]}" for word in ("host", "flow") if step[word]]
    if step["flow"]:
        parts.append(f"segment {step['seq']}")
    if step["serial"]:
        parts.append(f"packet {step['serial']}")
    return ", ".join(parts)


def _words(row: dict[str, Any], skip: tuple[str, ...]) -> str:
    return ", ".join(
        f"{column} {value}" for column, value in row.items() if column not in skip and value != ""
    )


def _seconds(nanoseconds: int) -> str:
    whole, rest = divmod(nanoseconds, 10**9)
    return f"{whole}.{rest:09d}"
