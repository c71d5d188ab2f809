"""`roamlab demo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import say, shown
from roamlab.commands.options import STORE, out

if TYPE_CHECKING:
    from pathlib import Path


@click.command("demo")
@out("out/demo", "Folder for the figure.")
@STORE
def command(out: Path, store: Path) -> None:
    """Draw a first figure: a download around a move, under four mobility protocols. Takes seconds.

    Its scenarios are next to it, to be run and changed.
    """
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.running.ensemble import processors
    from roamlab.studies import demo as showing

    refuse_foreign(out, store)
    with whole_folder(out) as draft:
        lines, first = showing.demonstrate(store, processors(), draft)
    say("\n".join(lines))
    say(f"figure: {shown(out / showing.FIGURE)}")
    say(f"report: {shown(out / showing.PAGE)}")
    say(f"next: roamlab run {shown(out / first)}, then roamlab chart")
