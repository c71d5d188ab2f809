"""`roamlab play`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import say, shown
from roamlab.commands.options import ANY_PATH, out

if TYPE_CHECKING:
    from pathlib import Path


@click.command("play")
@click.argument("scenario", type=ANY_PATH, required=False)
@out("out/play.html", "The page to write.", ANY_PATH)
@click.option("--open/--no-open", "opens", default=True, show_default=True, help="Open it in the browser.")
def command(scenario: Path | None, out: Path, *, opens: bool) -> None:
    """Write the playground and open it: a page that runs a scenario in the browser, with sliders and a film.

    The page is one file that needs no network and no server. Without SCENARIO it begins with an example.
    """
    from roamlab.playground import command

    command.write(scenario, out)
    say(f"page: {shown(out)}")
    if opens:
        click.launch(out.resolve().as_uri())
