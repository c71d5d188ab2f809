"""`roamlab schema`."""

from __future__ import annotations

import click

from roamlab.base.screen import say


@click.command("schema")
@click.option("--sweep", is_flag=True, help="That of sweeps.")
def command(*, sweep: bool) -> None:
    """Print the JSON Schema of scenarios, for editors."""
    from roamlab.scenarios import editors

    say(editors.text("sweep" if sweep else "scenario").rstrip("\n"))
