"""`roamlab list`."""

from __future__ import annotations

import click

from roamlab.base.screen import console
from roamlab.commands import completion
from roamlab.commands.options import JSON
from roamlab.commands.output import print_json


@click.group("list", invoke_without_command=True)
@JSON
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List what a scenario can name, and the papers."""
    if context.invoked_subcommand is not None:
        return
    import json

    from rich.table import Table
    from rich.text import Text

    from roamlab import _roamlab, papers

    families = json.loads(_roamlab.catalogue()) | {
        "papers": [{"name": name, "summary": ""} for name in papers.names()]
    }
    if as_json:
        print_json(families)
        return
    for family, rows in families.items():
        table = Table(title=family, title_justify="left", show_header=False, box=None)
        for row in rows:
            table.add_row(Text(row["name"], "bold"), Text(row["summary"]))
        console().print(table)


@command.command("profile")
@click.argument("name", shell_complete=completion.profiles)
@click.option(
    "--variant",
    metavar="NAME",
    help="TCP variant.  [default: that of a flow under this profile that names none]",
)
@JSON
def profile(name: str, variant: str | None, as_json: bool) -> None:
    """Write out a TCP profile as TOML: its rules, and the parameters of a flow.

    Each value has its meaning and source, and the value of the profile rfc where that is another one.
    """
    from roamlab.scenarios import profiles

    if as_json:
        print_json(profiles.profile(name, variant))
    else:
        from rich.text import Text

        # The lines stay whole, and an output without Unicode gets escapes.
        console().print(Text(profiles.as_toml(name, variant)), soft_wrap=True)
