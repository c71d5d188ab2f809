"""The output of `roamlab run`, as tables for the terminal and as data."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from roamlab.base.quantities import number, scale
from roamlab.records import live
from roamlab.records.totals import Row, Totals, finite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl
    from rich.console import JustifyMethod, RenderableType
    from rich.table import Table

    from roamlab.records.manifest import Manifest
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
NEEDED = (
    *("flow", "kind", "delivered_pkts", "dropped_pkts", "dropped_ack_pkts", "retransmitted_pkts", "timeouts"),
    "goodput_bps",
)
"""Columns of the table `flows` that are shown."""


def shown(flow: Row) -> list[str]:
    """The cells of a flow, without its goodput. Lost packets are those of data, and no acknowledgements."""
    cells = flow | {"lost_data_pkts": flow["dropped_pkts"] - flow["dropped_ack_pkts"]}
    return [str(cells[column]) for column in COLUMNS]


def tables(totals: Totals, folder: Path) -> Iterator[RenderableType]:
    """The flows and the drops of a run that is kept, or will be, in `folder`."""
    yield _flow_table(totals.flows, folder)
    yield _drop_table(totals.drops, folder)


def _flow_table(flows: list[Row], folder: Path) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Flows")
    for column, heading in COLUMNS.items():
        justify: JustifyMethod = "left" if column in ("flow", "kind") else "right"
        table.add_column(Text(heading), justify=justify, overflow="fold")
    factor, unit = scale((flow["goodput_bps"] for flow in flows), "bit/s")
    table.add_column(Text(f"goodput [{unit}]"), justify="right")

    def add(rows: list[Row]) -> None:
        for row in rows:
            table.add_row(*map(Text, shown(row)), number(row["goodput_bps"] / factor))

    if len(flows) <= FIRST + WORST:
        add(flows)
        return table
    add(flows[:FIRST])
    table.add_section()
    add(sorted(flows[FIRST:], key=itemgetter("goodput_bps"))[:WORST])
    table.caption = (
        f"{len(flows)} flows: the first {FIRST}, and the {WORST} of the others with the least goodput.\n"
        f"All: roamlab.open_run({str(folder)!r}).flows"
    )
    return table


def _drop_table(lost: list[Row], folder: Path) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    if not lost:
        return "No drops."
    table = Table(title="Drops")
    for heading in ("place", "reason"):
        table.add_column(heading, overflow="fold")
    table.add_column("packets", justify="right")
    shown = lost
    if len(lost) > FIRST + WORST:
        shown = sorted(lost, key=itemgetter("packets"), reverse=True)[:FIRST]
        table.caption = (
            f"The {FIRST} with most packets of {len(lost)}. All: roamlab.open_run({str(folder)!r}).drops"
        )
    for row in shown:
        table.add_row(Text(row["place"]), Text(row["reason"]), str(row["packets"]))
    return table


def live_table(results: Results) -> Table:
    """How a run in real time went."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Real time", show_header=False)
    for name, value in live.facts(results.manifest.live):
        table.add_row(Text(name), Text(value))
    return table


def as_data(manifest: Manifest, folder: Path, totals: Totals, warnings: list[str]) -> dict[str, Any]:
    """A run for `--json`: where it is kept, what determined it, its flows and its drops."""
    return {
        "result": str(folder),
        "scenario": manifest.scenario_name,
        "seed": manifest.seed,
        "run": manifest.run,
        **totals._asdict(),
        "warnings": warnings,
    }


def rows(frame: pl.DataFrame) -> list[Row]:
    """A frame as JSON has it: what is not finite is null."""
    return [*map(finite, frame.iter_rows(named=True))]
