"""`roamlab schedule`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.quantities import counted
from roamlab.base.screen import say
from roamlab.commands.options import AMOUNT, ANY_PATH, FILE, fields_of, where

if TYPE_CHECKING:
    from pathlib import Path


@click.command("schedule")
@click.argument("log", type=ANY_PATH)
@click.option(
    "--as",
    "kind",
    type=click.Choice(["moves", "rate", "delay", "loss"]),
    default="moves",
    show_default=True,
    help="What the log is of: handovers of hosts, or the rate, the delay or the loss of a link over time.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="OURS=THEIRS",
    callback=fields_of,
    help="What the log calls a column: time_s (or _ms, _us, _ns; time: dates of ISO 8601); for moves host, from, to, "
    "gap_s, or cell and level_db; rate_mbit_s (_kbit_s, _bit_s); delay_ms (_s) or rtt_ms (_s); loss, loss_percent.  "
    "[default: the same]",
)
@where("records")
@click.option(
    "--begin",
    help="The log's time at which a run begins: in its unit, or a date and time.  "
    "[default: 0; of a rate, a delay or a loss the first time of the log]",
)
@click.option("--host", default="", help="The host, of samples of cells that name none.")
@click.option(
    "--hysteresis-db",
    type=AMOUNT,
    default=0.0,
    show_default=True,
    help="How much stronger another cell is at a handover, of samples of levels.",
)
@click.option("--figure", type=FILE, help="Also draw what was understood into this file, as SVG.")
def command(
    log: Path,
    kind: str,
    columns: dict[str, str],
    only: dict[str, str],
    begin: str | None,
    host: str,
    hysteresis_db: float,
    figure: Path | None,
) -> None:
    """Print a log as a schedule: of handovers, which a host's plan follows, or of a rate, a delay or a loss of a link.

    LOG is a table with a line of names, or has a JSON object on each line (.jsonl, .ndjson, .json). For handovers it
    has a record for each, or samples of serving cells or of levels. A delay may also be the output of `ping -D`, a rate
    that of `iperf3 -J`. What was understood is on standard error.
    """
    from roamlab.base.errors import BadInput

    if kind != "moves":
        if host or hysteresis_db:
            raise BadInput(
                "--host" if host else "--hysteresis-db",
                f"a {kind} of a link is of no host and has no cells",
                expected="this option for moves alone",
                remedy="leave it out, or write --as moves",
            )
        return _print_series(log, kind, columns, only, begin, figure)
    return _print_moves(log, columns, only, begin or "0", (host, hysteresis_db), figure)


def _print_moves(
    log: Path,
    columns: dict[str, str],
    only: dict[str, str],
    begin: str,
    serving: tuple[str, float],
    figure: Path | None,
) -> None:
    from roamlab.traces import logs
    from roamlab.traces import schedule as schedules

    fields = schedules.Fields.of(columns)
    how = schedules.Serving(*serving)
    text, count = schedules.convert(log, fields, only, logs.number("--begin", begin), how)
    if figure:
        from roamlab.base.output import write_chart
        from roamlab.traces.log_figures import of_moves

        write_chart(figure, of_moves(text, log.name))
    say(text.removesuffix("\n"))
    say(counted(count, "handover"), err=True)


def _print_series(
    log: Path,
    kind: str,
    columns: dict[str, str],
    only: dict[str, str],
    begin: str | None,
    figure: Path | None,
) -> None:
    from roamlab.traces import series as reading

    series = reading.read(log, reading.QUANTITIES[kind], columns, only, begin)
    if figure:
        from roamlab.base.output import write_chart
        from roamlab.traces.log_figures import of_series

        write_chart(figure, of_series(series, log.name))
    for piece in series.text():
        say(piece)
    for said in series.summary():
        say(said, err=True)
