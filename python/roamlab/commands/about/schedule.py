"""`roamlab schedule`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.quantities import counted
from roamlab.base.screen import say
from roamlab.commands.options import ANY_PATH, fields_of

if TYPE_CHECKING:
    from pathlib import Path


@click.command("schedule")
@click.argument("log", type=ANY_PATH)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="OURS=THEIRS",
    callback=fields_of,
    help="What the log calls a column: time_s (or _ms, _us, _ns; time: dates of ISO 8601), host, from, to, gap_s.  "
    "[default: the same]",
)
@click.option(
    "--where",
    "only",
    multiple=True,
    metavar="FIELD=VALUE",
    callback=fields_of,
    help="Only records with this value.",
)
@click.option(
    "--begin",
    default="0",
    show_default=True,
    help="The log's time at which a run begins: in its unit, or a date and time.",
)
def command(log: Path, columns: dict[str, str], only: dict[str, str], begin: str) -> None:
    """Print a log of handovers as a schedule, which a host's plan can follow.

    LOG has a record for each handover: it is CSV with a line of names, or has a JSON object on each line
    (.jsonl, .ndjson, .json).
    """
    from roamlab.traces import schedule as schedules

    fields = schedules.Fields.of(columns)
    text, count = schedules.convert(log, fields, only, schedules.number("--begin", begin))
    say(text.removesuffix("\n"))
    say(counted(count, "handover"), err=True)
