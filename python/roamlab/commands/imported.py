"""Parts of scenarios that `roamlab schedule` makes from movement, topologies and orbits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from roamlab.base.errors import BadInput
from roamlab.base.screen import say
from roamlab.commands.options import ANY_PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path
    from types import ModuleType


def place_of(
    _context: click.Context, option: click.Parameter, given: str | None
) -> tuple[float, float] | None:
    """LATITUDE,LONGITUDE in degrees."""
    from roamlab.imports.places import place

    return None if given is None else place(max(option.opts, key=len), given)


def print_trajectory(
    log: Path, columns: dict[str, str], only: dict[str, str], options: Mapping[str, Any]
) -> None:
    """Print the trajectory of a host, from a log of positions."""
    from roamlab.imports import movement
    from roamlab.imports.tracks import read
    from roamlab.traces.logs import number

    begin, end = (
        None if options[each] is None else float(number(f"--{each}", options[each]))
        for each in ("begin", "end")
    )
    track = read(log, options["host"], columns, only, origin=options["origin"], geo=options["geo"])
    way = movement.trajectory(track.between(log, begin, end), options["tolerance_m"])
    _write_figure(options["figure"], lambda drawings: drawings.of_trajectory(way, log.name))
    say(way.toml())
    for said in way.summary():
        say(said, err=True)


def print_links(log: Path, columns: dict[str, str], options: Mapping[str, Any]) -> None:
    """Print the links of a topology."""
    from roamlab.imports import graphml

    topology = graphml.read(log, columns, options["rate"], options["delay"])
    _write_figure(options["figure"], lambda drawings: drawings.of_topology(topology, log.name))
    for table in topology.toml():
        say(table)
    for said in topology.summary():
        say(said, err=True)


def number_option(
    *names: str,
    default: float,
    help: str,  # noqa: A002 - as click names it
    within: click.FloatRange | type[float] = float,
    above_zero: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option with a finite number, perhaps above 0, and a default that its help shows."""

    def finite(_context: click.Context, option: click.Parameter, given: float) -> float:
        if not math.isfinite(given) or (above_zero and given <= 0):
            wanted = "a number above 0" if above_zero else "a number"
            raise click.UsageError(f"{max(option.opts, key=len)} {given:g}: write {wanted}.")
        return given

    return click.option(*names, type=within, default=default, show_default=True, callback=finite, help=help)


_OF_SATELLITES = (
    click.option(
        "--tle", type=ANY_PATH, metavar="FILE", help="Two-line elements of satellites, in place of LOG."
    ),
    click.option("--at", "at", metavar="LAT,LON", callback=place_of, help="Place on the ground, in degrees."),
    number_option(
        "--altitude",
        "altitude_m",
        within=click.FloatRange(-500, 20_000),
        default=0.0,
        help="Its height above the ellipsoid, in m.",
    ),
    click.option(
        "--from",
        "from_",
        metavar="TIME",
        help="Begin, ISO 8601.  [default: the latest epoch of the elements]",
    ),
    number_option("--hours", default=1.0, above_zero=True, help="How long satellites are followed."),
    number_option(
        "--min-elevation",
        within=click.FloatRange(-5, 89.9),
        default=25.0,
        help="A satellite below it is not used, in degrees.",
    ),
    click.option(
        "--serve",
        type=click.Choice(("highest", "longest")),
        default="highest",
        show_default=True,
        help="The satellite that serves: the one with the highest elevation; or at an exit the one with the longest "
        "time until its exit.",
    ),
    number_option("--step", "step_s", default=1.0, above_zero=True, help="Step of time, in s."),
    number_option(
        "--every",
        "every_s",
        default=15.0,
        above_zero=True,
        help="How often the highest satellite is chosen, in s.",
    ),
)


def satellites(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of satellites."""
    for option in reversed(_OF_SATELLITES):
        command = option(command)
    return command


def print_satellites(kind: str, options: Mapping[str, Any]) -> None:
    """Print which satellites serve a place, their delays, their passes or their times to exit."""
    from roamlab.imports import orbits, serving

    begin = _begin(options["from_"])
    latitude, longitude = options["at"]
    station = orbits.Station(
        latitude, longitude, altitude_m=options["altitude_m"], least_elevation=options["min_elevation"]
    )
    step_s = options["step_s"]
    above, begin = orbits.sky(options["tle"], station, begin, options["hours"], step_s)
    found = orbits.passes(above)
    if not found:
        raise BadInput(
            options["tle"],
            f"no satellite is above {station.least_elevation:g} degrees at this place and time",
            expected="a pass",
            remedy="write a lower --min-elevation, more --hours or another --from",
        )
    every = max(1, round(options["every_s"] / step_s))
    visits = serving.served(found, len(above.times_s), options["serve"], every)
    _write_figure(
        options["figure"], lambda drawings: drawings.of_sky(above, found, visits, options["tle"].name)
    )
    said = [f"from {begin.isoformat().replace('+00:00', 'Z')} on", *above.notes]
    said += serving.summary(found, visits, above.times_s)
    if kind == "delay":
        series = serving.delays(visits, above.times_s)
        for piece in series.text():
            say(piece)
        said += series.summary()
    elif kind == "passes":
        say(serving.passes_table(found).removesuffix("\n"))
    elif kind == "exits":
        say(serving.exits_table(visits, above.times_s).removesuffix("\n"))
    else:
        say(serving.moves(visits, above.times_s, options["host"] or "terminal").removesuffix("\n"))
    for each in said:
        say(each, err=True)


def _begin(given: str | None) -> datetime | None:
    """The time at which satellites are followed from on. Raises `BadInput`."""
    from datetime import UTC, datetime

    from roamlab.traces.logs import instant

    if given is None:
        return None
    seconds = instant(given) or instant(f"{given}T00:00:00")
    if seconds is None:
        raise BadInput(
            f"--from {given}",
            "this is no date and time",
            expected="a date and time in ISO 8601",
            remedy="write --from 2026-05-01T12:00:00Z",
        )
    return datetime.fromtimestamp(float(seconds), UTC)


def _write_figure(figure: Path | None, draw: Callable[[ModuleType], str]) -> None:
    if figure:
        from roamlab.base.output import write_chart
        from roamlab.imports import drawings

        write_chart(figure, draw(drawings))
