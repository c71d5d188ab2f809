"""`roamlab report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import say, shown
from roamlab.commands.inputs import find_run
from roamlab.commands.options import RUN, out

if TYPE_CHECKING:
    from pathlib import Path


@click.command("report")
@RUN
@out("out/report", "Folder for page and figures.")
def command(run_folder: Path | None, out: Path) -> None:
    """Write a run as one page: who moved, what stalled and why, what each flow received, and every message.

    Read from the run folder RUN; without one it is the newest in out/runs. A run that lacks the tables for stalls is
    made again with them from its manifest.
    """
    from roamlab.base.errors import within
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.explorer import files

    folder = find_run(run_folder)
    refuse_foreign(out)
    with whole_folder(out) as draft, within(folder):
        made, note = files.report(folder, draft)
    if note:
        say(f"note: {note}", err=True)
    say(made.headline)
    say(f"report: {shown(out / 'report.html')}")
