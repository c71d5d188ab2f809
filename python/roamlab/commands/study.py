"""`roamlab study`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import console, say, shown
from roamlab.commands.options import JSON, STORE, THREADS, out
from roamlab.commands.output import print_json

if TYPE_CHECKING:
    from pathlib import Path


@click.group("study")
def command() -> None:
    """Compare schemes beyond any one paper."""


@command.command("schemes")
@out("out/schemes", "Folder for page and CSV.")
@STORE
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Of each scheme with each application.",
)
@THREADS
@JSON
def _schemes(out: Path, store: Path, runs: int, threads: int | None, *, as_json: bool) -> None:
    """All mobility schemes on one network and one move: what a download, a call and a video feel, and the cost.

    Interrupted, it goes on where it stopped when called again.
    """
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.running.ensemble import processors
    from roamlab.showing import report
    from roamlab.studies import schemes

    refuse_foreign(out, store)
    with whole_folder(out) as draft:
        found, means = schemes.study(runs, store, threads or processors(), draft)
        report.write(found, draft / "report.html")
    page = shown(out / "report.html")
    if as_json:
        print_json({"report": page, "means": means})
        return
    console().print(schemes.terminal_table(means))
    say(f"report: {page}")
