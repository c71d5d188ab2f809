"""The output of `roamlab run`, as tables for the terminal and as data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab.base.quantities import number, scale
from roamlab.records import live

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import JustifyMethod, RenderableType
    from rich.table import Table

    from roamlab.records.results import Results

FIRST, WORST = 20, 5
"""Most flows shown: the first, and of the others those with the least goodput."""

COLUMNS = {
    "flow": "flow",
    "kind": "kind",
    "delivered_pkts": "delivered [pkt]",
    "lost_data_pkts": "dropped [pkt]",
    "retransmitted_pkts": "sent again [pkt]",
    "timeouts": "timeouts",
}


def shown(flows: pl.DataFrame) -> pl.DataFrame:
    """The table `flows` with a column of lost data packets, which counts no acknowledgements."""
    lost = pl.col("dropped_pkts") - pl.col("dropped_ack_pkts")
    return flows.select(lost.alias("lost_data_pkts"), pl.exclude("lost_data_pkts"))


def tables(results: Results, folder: Path) -> Iterator[RenderableType]:
    """The flows and the drops of a run that is kept in `folder`."""
    yield _flow_table(results.flows, folder)
    yield _drop_table(drops(results), folder)


def _flow_table(flows: pl.DataFrame, folder: Path) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Flows")
    for column, heading in COLUMNS.items():
        justify: JustifyMethod = "left" if column in ("flow", "kind") else "right"
        table.add_column(Text(heading), justify=justify, overflow="fold")
    factor, unit = scale(flows["goodput_bps"], "bit/s")
    table.add_column(Text(f"goodput [{unit}]"), justify="right")

    def add(rows: pl.DataFrame) -> None:
        for row in shown(rows).select(*COLUMNS, "goodput_bps").iter_rows(named=True):
            table.add_row(
                *(Text(str(row[column])) for column in COLUMNS), number(row["goodput_bps"] / factor)
            )

    if flows.height <= FIRST + WORST:
        add(flows)
        return table
    add(flows.head(FIRST))
    table.add_section()
    add(flows.slice(FIRST).bottom_k(WORST, by="goodput_bps").sort("goodput_bps"))
    table.caption = (
        f"{flows.height} flows: the first {FIRST}, and the {WORST} of the others with the least goodput.\n"
        f"All: roamlab.open_run({str(folder)!r}).flows"
    )
    return table


def _drop_table(lost: pl.DataFrame, folder: Path) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    if lost.is_empty():
        return "No drops."
    table = Table(title="Drops")
    for heading in ("place", "reason"):
        table.add_column(heading, overflow="fold")
    table.add_column("packets", justify="right")
    shown = lost
    if lost.height > FIRST + WORST:
        shown = lost.top_k(FIRST, by="packets").sort("packets", descending=True)
        table.caption = (
            f"The {FIRST} with most packets of {lost.height}. All: roamlab.open_run({str(folder)!r}).drops"
        )
    for place, reason, count in shown.iter_rows():
        table.add_row(Text(place), Text(reason), str(count))
    return table


def live_table(results: Results) -> Table:
    """How a run in real time went."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Real time", show_header=False)
    for name, value in live.facts(results.manifest.live):
        table.add_row(Text(name), Text(value))
    return table


def drops(results: Results) -> pl.DataFrame:
    """Lost packets by place and reason.

    A copy that is released, or arrives twice, is not a loss, and no flow counts it.
    """
    lost = results.drops.select(pl.col("place", "reason").cast(pl.String)).filter(
        ~pl.col("reason").is_in(["copy-released", "duplicate"])
    )
    return lost.group_by("place", "reason").agg(pl.len().alias("packets")).sort("place", "reason")


def as_data(results: Results, folder: Path) -> dict[str, Any]:
    """A run for `--json`: where it is kept, what determined it, its flows and its drops."""
    manifest = results.manifest
    return {
        "result": str(folder),
        "scenario": manifest.scenario_name,
        "seed": manifest.seed,
        "run": manifest.run,
        "flows": rows(results.flows),
        "drops": rows(drops(results)),
        "warnings": results.warnings,
    }


def rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """A frame as JSON has it: what is not finite is null."""
    return [
        {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }
        for row in frame.iter_rows(named=True)
    ]
