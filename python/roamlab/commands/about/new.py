"""`roamlab new`."""

from __future__ import annotations

from pathlib import Path

import click

from roamlab.base.screen import say, shown
from roamlab.commands import completion
from roamlab.commands.output import print_questions


@click.command("new")
@click.argument("name", required=False, shell_complete=completion.examples)
def command(name: str | None) -> None:
    """Copy an example into this folder, or list the examples.

    Each example answers a question. It comes with the files that it needs, and with its schema for editors. Files that
    are there are not overwritten.
    """
    from roamlab.scenarios import examples

    if name is None:
        print_questions(examples.questions())
        say("copy one with its files: roamlab new NAME", err=True)
        return
    for path in examples.copy(name, Path()):
        say(f"new: {shown(path)}")
