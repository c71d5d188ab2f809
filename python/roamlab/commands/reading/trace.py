"""`roamlab trace`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import say
from roamlab.commands.inputs import find_run
from roamlab.commands.options import NUMBER, RUN

if TYPE_CHECKING:
    from pathlib import Path


@click.command("trace")
@RUN
@click.option("--packet", type=NUMBER, required=True, help="Serial number of the packet.")
def command(run_folder: Path | None, packet: int) -> None:
    """Print a packet's way through a run, stop by stop.

    A line has the time in s, the stop, the place, the packet's serial number, its bytes on the wire, the
    number of tunnel headers it has, and a detail where there is one. The run is made again from the manifest
    in its folder RUN; without one it is the newest in out/runs.
    """
    from roamlab.base.errors import within
    from roamlab.records.manifest import build_of
    from roamlab.records.storage.store import open_run
    from roamlab.running.run import simulate
    from roamlab.scenarios.scenario import Scenario

    folder = find_run(run_folder)
    made = open_run(folder).manifest
    if made.build_hash != build_of(made.parameters_text):
        say("note: another build of the engine made this run; this is the present one's trace", err=True)
    with within(folder):
        again = simulate(Scenario(made.scenario_text, made.scenario_name), made.seed, made.run, trace=packet)
    for row in again.table("trace").iter_rows(named=True):
        seconds, nanoseconds = divmod(row["time_ns"], 10**9)
        line = (
            f"{seconds:>2}.{nanoseconds:09d} {row['stop']:<17} {row['place']:<9} {row['serial']:>6} "
            f"{row['wire_bytes']:>4} {row['tunnels']} {row['detail']}"
        )
        say(line.rstrip())
