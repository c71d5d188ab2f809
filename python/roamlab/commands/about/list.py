"""`roamlab list`."""

from __future__ import annotations

import click

from roamlab.base.screen import console
from roamlab.commands.options import JSON, read_with
from roamlab.commands.output import print_json


def _complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Names of TCP profiles, for the shell."""
    from roamlab.scenarios import profiles

    return [name for name in profiles.names() if name.startswith(begun)]


@click.command("list")
@click.option(
    "--profile",
    metavar="NAME",
    shell_complete=_complete,
    help="Show every parameter of this TCP profile instead.",
)
@click.option(
    "--variant", metavar="NAME", default="reno", show_default=True, help="TCP variant of the profile."
)
@JSON
@read_with("--variant", "--profile")
def command(profile: str | None, variant: str, as_json: bool) -> None:
    """List what a scenario can name, and the papers.

    With --profile: a TCP profile's parameters with value, unit, meaning and source, and what the profile rfc has
    where it differs.
    """
    import json

    from rich.table import Table
    from rich.text import Text

    from roamlab import _roamlab, papers
    from roamlab.scenarios import profiles

    if profile is not None:
        if as_json:
            print_json(profiles.profile(profile, variant))
        else:
            console(least_width=120).print(profiles.terminal_table(profile, variant))
        return
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
