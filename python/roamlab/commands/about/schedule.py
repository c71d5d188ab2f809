"""`roamlab schedule`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from roamlab.base.quantities import counted
from roamlab.base.screen import say
from roamlab.commands.imported import (
    number_option,
    place_of,
    print_links,
    print_satellites,
    print_trajectory,
    satellites,
)
from roamlab.commands.options import AMOUNT, ANY_PATH, FILE, fields_of, given, where

if TYPE_CHECKING:
    from pathlib import Path


KINDS = ("moves", "rate", "delay", "loss", "trajectory", "links", "passes", "exits")


def _quantity(_context: click.Context, option: click.Parameter, given: str) -> str:
    """A rate or a delay as a scenario has it."""
    unit, example = ("[kMGT]?bit/s", "1 Gbit/s") if option.name == "rate" else ("[num]?s", "1 ms")
    if given and not re.fullmatch(rf"\d+(\.\d+)? ?{unit}", given):
        raise click.UsageError(
            f"--{option.name} {given!r}: write a number and a unit, for example '{example}'."
        )
    return given


@click.command("schedule")
@click.argument("log", type=ANY_PATH, required=False)
@click.option(
    "--as",
    "kind",
    type=click.Choice(KINDS),
    default="moves",
    show_default=True,
    help="What is printed: handovers of hosts; the rate, the delay or the loss of a link over time; the trajectory of "
    "a host; links of a topology; the passes of satellites, or their times to exit.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="OURS=THEIRS",
    callback=fields_of,
    help="What the log calls a column: time_s (or _ms, _us, _ns; time: dates of ISO 8601); for moves host, from, to, "
    "gap_s, or cell and level_db; rate_mbit_s (_kbit_s, _bit_s); delay_ms (_s) or rtt_ms (_s); loss, loss_percent; "
    "for a trajectory host, and x_m and y_m or longitude and latitude; for links name, latitude, longitude, rate and "
    "delay as above.  [default: the same]",
)
@where("records")
@click.option(
    "--begin",
    help="The log's time at which a run begins: in its unit, or a date and time.  "
    "[default: 0; of other kinds than moves the first time of the log]",
)
@click.option("--end", help="The log's time at which a trajectory ends, as --begin.  [default: the last one]")
@click.option(
    "--host",
    default="",
    help="The host: of samples of cells that name none, of satellites, or the one whose trajectory is wanted.",
)
@click.option(
    "--hysteresis-db",
    type=AMOUNT,
    default=0.0,
    show_default=True,
    help="How much stronger another cell is at a handover, of samples of levels.",
)
@click.option(
    "--same-time",
    type=click.Choice(("refuse", "first", "last", "mean")),
    default="refuse",
    show_default=True,
    help="The rate, delay or loss of a time that several records have with other values.",
)
@click.option(
    "--geo", is_flag=True, help="The positions of a trajectory are degrees of longitude and latitude."
)
@click.option(
    "--origin",
    metavar="LAT,LON",
    callback=place_of,
    help="The place that is (0, 0) m, of positions in degrees.  [default: the first position]",
)
@number_option(
    "--tolerance-m",
    within=click.FloatRange(0, 1e6),
    default=1.0,
    help="How far the way of a trajectory may be from positions that it leaves out.",
)
@click.option(
    "--rate",
    default="",
    callback=_quantity,
    help="The rate of links that have none in a topology, for example '1 Gbit/s'.",
)
@click.option(
    "--delay",
    default="",
    callback=_quantity,
    help="The delay of links that have none in a topology and no places, for example '1 ms'.",
)
@satellites
@click.option("--figure", type=FILE, help="Also draw what was understood into this file, as SVG.")
def command(
    log: Path | None, kind: str, columns: dict[str, str], only: dict[str, str], **options: Any
) -> None:
    """Print a log as a part of a scenario.

    LOG is a table with a line of names, has a JSON object on each line (.jsonl, .ndjson, .json), or output vectors of
    OMNeT++ (.vec). For handovers it has a record for each, or samples of serving cells or of levels. A delay may also
    be the output of `ping -D`, a rate that of `iperf3 -J`, a trajectory SUMO's floating car data or a movement file of
    ns-2. Links are read from GraphML. Handovers, delays, passes and times to exit of satellites are made with --tle
    FILE --at LAT,LON, without LOG. What was understood is on standard error.
    """
    _refuse_unread(kind)
    begin, figure, host = options["begin"], options["figure"], options["host"]
    if options["tle"] is not None:
        _refuse_log(log, kind, options)
        print_satellites(kind, options)
    elif log is None:
        raise click.MissingParameter(param_type="argument", param_hint="'LOG'")
    elif kind in ("passes", "exits"):
        raise click.UsageError(f"--as {kind} is of satellites: write --tle FILE in place of LOG.")
    elif kind == "moves":
        _print_moves(log, columns, only, begin or "0", (host, options["hysteresis_db"]), figure)
    elif kind == "trajectory":
        print_trajectory(log, columns, only, options)
    elif kind == "links":
        print_links(log, columns, options)
    else:
        _print_series(log, kind, columns, only, options)


_READ = {
    "--host": ("moves", "trajectory"),
    "--hysteresis-db": ("moves",),
    "--end": ("trajectory",),
    "--same-time": ("rate", "delay", "loss"),
    "--geo": ("trajectory",),
    "--origin": ("trajectory",),
    "--tolerance-m": ("trajectory",),
    "--rate": ("links",),
    "--delay": ("links",),
    "--where": ("moves", "rate", "delay", "loss", "trajectory"),
    "--begin": ("moves", "rate", "delay", "loss", "trajectory"),
}
"""Options, and the kinds that read them. Others are read by each kind."""
_OF_SATELLITES = (
    "--at",
    "--altitude",
    "--from",
    "--hours",
    "--min-elevation",
    "--serve",
    "--step",
    "--every",
)
_WITH_SATELLITES = {*_OF_SATELLITES, "--tle", "--as", "--host", "--figure"}


def _refuse_log(log: Path | None, kind: str, options: dict[str, Any]) -> None:
    """Raise `BadInput` for what satellites do not read, or for a place that is missing."""
    from roamlab.base.errors import BadInput

    kinds = ("moves", "delay", "passes", "exits")
    if kind not in kinds:
        remedy = "write --as moves"
        raise BadInput(
            f"--as {kind}", "satellites have none", expected=f"one of {', '.join(kinds)}", remedy=remedy
        )
    for option in sorted(given(click.get_current_context()) - _WITH_SATELLITES):
        raise BadInput(
            option,
            "it changes nothing of satellites",
            expected="options of satellites",
            remedy="leave it out",
        )
    if log is not None:
        raise BadInput(log, "--tle is in place of a log", expected="no other file", remedy="leave it out")
    if options["at"] is None:
        remedy = "write --at 48.2082,16.3738, for example"
        raise BadInput("--at", "there is no place", expected="LATITUDE,LONGITUDE in degrees", remedy=remedy)


def _refuse_unread(kind: str) -> None:
    """Raise `BadInput` for an option that changes nothing."""
    from roamlab.base.errors import BadInput

    there = given(click.get_current_context())
    for option in sorted(there):
        if option in (*_OF_SATELLITES,) and "--tle" not in there:
            problem, expected = "it changes nothing without satellites", "this option with --tle FILE"
            raise BadInput(option, problem, expected=expected, remedy="leave it out, or write --tle")
        kinds = _READ.get(option, (kind,))
        if kind not in kinds:
            raise BadInput(
                option,
                f"a {kind} of a link is of no host and has no cells"
                if kind in ("rate", "delay", "loss") and "moves" in kinds
                else f"it changes nothing of {kind}",
                expected=f"this option with --as {' or '.join(kinds)}",
                remedy=f"leave it out, or write --as {kinds[0]}",
            )


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
    log: Path, kind: str, columns: dict[str, str], only: dict[str, str], options: dict[str, Any]
) -> None:
    from roamlab.traces import series as reading

    quantity, figure = reading.QUANTITIES[kind], options["figure"]
    series = reading.read(log, quantity, columns, only, options["begin"], options["same_time"])
    if figure:
        from roamlab.base.output import write_chart
        from roamlab.traces.log_figures import of_series

        write_chart(figure, of_series(series, log.name))
    for piece in series.text():
        say(piece)
    for said in series.summary():
        say(said, err=True)
