"""`roamlab chart`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import say, shown
from roamlab.commands.inputs import find_run
from roamlab.commands.options import FILE, NUMBER, RUN, out, read_with, unread_with

if TYPE_CHECKING:
    from pathlib import Path


@click.command("chart")
@RUN
@click.option("--host", metavar="NAME", help="Mobile host.  [default: the only one that moved]")
@click.option(
    "--handover", type=NUMBER, help="Number of the visit it leads to; 0: the first cell.  [default: 1]"
)
@out("chart.svg", "File for the drawing.", FILE, ("-o",))
@click.option("--text", is_flag=True, help="Print the rows instead: time in s, from -> to, what.")
@click.option("--all", "everything", is_flag=True, help="With --text: also the messages about no host.")
@read_with("--all", "--text")
@unread_with("--out", "--text")
def command(
    run_folder: Path | None,
    host: str | None,
    handover: int | None,
    out: Path,
    *,
    text: bool,
    everything: bool,
) -> None:
    """Draw the messages of a handover as a sequence chart.

    Messages with size and duration, lost ones with the reason, the phases of the handover, and the packets at
    its borders. They are from the tables in the run folder RUN; without one it is the newest in out/runs.
    """
    from roamlab.base.errors import within
    from roamlab.base.output import write_chart
    from roamlab.records.storage.store import open_run
    from roamlab.showing import chart as charts
    from roamlab.showing.chart_svg import svg

    folder = find_run(run_folder)
    with within(folder):
        made = charts.chart(open_run(folder), host, handover)
    if text:
        say(made.text(everything=everything).removesuffix("\n"))
        return
    write_chart(out, svg(made))
    say(f"chart: {shown(out)}")
