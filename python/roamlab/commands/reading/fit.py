"""`roamlab fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import say
from roamlab.commands.options import ANY_PATH, FILE, where

if TYPE_CHECKING:
    from pathlib import Path


def _time(_context: click.Context, _option: click.Parameter, given: str | None) -> float | None:
    from roamlab.commands.durations import threshold_s

    return None if given is None else threshold_s(given)


@click.command("fit")
@click.argument("file", type=ANY_PATH)
@click.option("--column", metavar="NAME", help="Column of the durations.  [default: the one with a unit]")
@click.option(
    "--unit", type=click.Choice(("s", "ms", "us", "ns")), help="Its unit, if its name does not end in one."
)
@click.option("--time", metavar="NAME", help="Column of the times of the events, for the test for groups.")
@where("rows")
@click.option(
    "--what",
    type=click.Choice(("gap", "interval")),
    help="How long events last, or from one to the next.  [default: gap]",
)
@click.option(
    "--above",
    "above_s",
    metavar="TIME",
    callback=_time,
    help="Shortest silence between answers of ping, for example 0.3 s.  [default: 0.2 s]",
)
@click.option("--figure", type=FILE, help="File for a figure, .svg or .png.")
@click.option(
    "--as",
    "kind",
    type=click.Choice(("duration", "channel")),
    default="duration",
    show_default=True,
    help="What to fit: a law of durations, or a channel to rates over time.",
)
@click.option(
    "--step",
    "step_s",
    metavar="TIME",
    callback=_time,
    help="Step of a channel.  [default: that of the file, or 0.1 s]",
)
@click.option(
    "--states",
    type=click.IntRange(1, 64),
    help="Number of its states.  [default: as many as there are rows for]",
)
def command(
    file: Path,
    column: str | None,
    unit: str | None,
    time: str | None,
    only: dict[str, str],
    what: str | None,
    above_s: float | None,
    figure: Path | None,
    kind: str,
    step_s: float | None,
    states: int | None,
) -> None:
    """Print a law of durations, or a channel, that fits a file, as TOML for a scenario.

    FILE is a table (CSV with a line of names, or a JSON object on each line) with a column of durations, the output of
    `ping -D`, or a schedule of handovers (`roamlab schedule`). The law is the simplest that fits: uniform, exponential,
    a mixture of two exponential laws, or quantiles. The report on standard error has the distance of each law to data
    that it was not fitted to.

    With `--as channel` FILE has rates over time, or is a Mahimahi trace. The result is a chain of states. The report
    has a chain of its first half next to the second one.
    """
    if kind == "channel":
        _refuse("channel", {"column": column, "unit": unit, "time": time, "what": what, "above": above_s})
        _channel(file, only, figure, (step_s, states))
        return
    _refuse("duration", {"step": step_s, "states": states})
    import numpy as np

    from roamlab.commands.durations import Wanted, read
    from roamlab.scenarios.changes import inline_toml
    from roamlab.showing import durations as showing
    from roamlab.statistics.durations import fitted

    if figure:
        showing.check_name(figure)
    sample = read(file, Wanted(column, unit, time, what, above_s, only))
    values, series = np.array(sample.values_s), [np.array(times) for times in sample.series_s]
    found = fitted(values)
    report = showing.lines(sample.what, values, series, found)
    if figure:
        showing.write_figure(figure, sample.what, values, found)
    say(inline_toml(found.law.toml))
    say("\n".join(report), err=True)


def _refuse(kind: str, given: dict[str, object]) -> None:
    """Raise `BadInput` for options of the other kind."""
    from roamlab.base.errors import BadInput

    for name, value in given.items():
        if value is not None:
            other = "duration" if kind == "channel" else "channel"
            raise BadInput(
                f"--{name}",
                f"it changes nothing of a {kind}",
                expected=f"this option with --as {other}",
                remedy=f"leave it out, or write --as {other}",
            )


def _channel(
    file: Path, only: dict[str, str], figure: Path | None, wanted: tuple[float | None, int | None]
) -> None:
    from roamlab.scenarios.changes import inline_toml
    from roamlab.showing import channels as showing
    from roamlab.showing.durations import check_name
    from roamlab.statistics.channels import fitted, judged
    from roamlab.traces.steps import read

    if figure:
        check_name(figure)
    rates, step_s = read(file, wanted[0], only)
    chain, found = fitted([rates], step_s, wanted[1]), judged(rates, step_s, wanted[1])
    report = showing.lines(rates, chain, found)
    if figure:
        showing.write_figure(figure, chain, found)
    say(inline_toml(chain.toml()))
    say("\n".join(report), err=True)
