"""`roamlab schema`."""

from __future__ import annotations

import click

from roamlab.base.screen import say


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of scenarios, for editors."""
    from roamlab import _roamlab

    say(_roamlab.schema())
