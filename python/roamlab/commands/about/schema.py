"""`roamlab schema`."""

from __future__ import annotations

import click

from roamlab.base.screen import say


@click.command("schema")
@click.argument(
    "of", metavar="[scenario|sweep]", type=click.Choice(["scenario", "sweep"]), default="scenario"
)
def command(of: str) -> None:
    """Print the JSON Schema of scenarios, or of sweeps, for editors."""
    from roamlab.scenarios import editors

    say(editors.text(of).rstrip("\n"))
