"""`roamlab new`."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from roamlab.base.screen import console, say, shown


def _complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of examples with their questions, for the shell."""
    from roamlab.scenarios import examples

    found = examples.questions()
    return [CompletionItem(name, help=found[name]) for name in found if name.startswith(begun)]


@click.command("new")
@click.argument("name", required=False, shell_complete=_complete)
def command(name: str | None) -> None:
    """Copy an example into this folder, or list the examples.

    Each example answers a question. It comes with the files that it needs, and with its schema for editors. Files that
    are there are not overwritten.
    """
    from roamlab.scenarios import examples

    if name is None:
        from rich.table import Table
        from rich.text import Text

        table = Table(show_header=False, box=None)
        for each, question in examples.questions().items():
            table.add_row(Text(each, "bold"), Text(question))
        console().print(table)
        say("copy one with its files: roamlab new NAME", err=True)
        return
    for path in examples.copy(name, Path()):
        say(f"new: {shown(path)}")
