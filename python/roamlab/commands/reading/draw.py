"""`roamlab draw`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import say, shown
from roamlab.commands.inputs import load
from roamlab.commands.options import FILE, REPETITION, SCENARIO, SET, out, seed

if TYPE_CHECKING:
    from pathlib import Path


@click.command("draw")
@SCENARIO
@seed("Seed that random plans are drawn from.")
@REPETITION
@out("network.svg", "File for the drawing.", FILE, ("-o",))
@SET
def command(scenario: Path, seed: int, repetition: int, out: Path, changes: tuple[str, ...]) -> None:
    """Draw a scenario's network: nodes, links, cells, and how hosts move, as SVG."""
    from roamlab.base.output import write_chart
    from roamlab.showing.network_drawing import drawing

    write_chart(out, drawing(load(scenario, changes), seed, repetition))
    say(f"drawing: {shown(out)}")
