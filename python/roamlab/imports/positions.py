"""Logs of positions: SUMO's floating car data (XML or CSV), and tables of any program with positions over time.

The XML has `<timestep time="1.00">`, and in it `<vehicle id="a" x="5.10" y="498.35" speed="1.92" …/>`, `<person>` or
`<container>` (fcd_file.xsd of SUMO). The CSV has the columns timestep_time, vehicle_id, vehicle_x, vehicle_y, separated
by semicolons (SUMO's pages "FCDOutput" and "Generating tabular output"). With `--fcd-output.geo` x and y are longitude
and latitude.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted
from roamlab.imports.elements import elements
from roamlab.imports.movement import Track
from roamlab.imports.nodes import chosen
from roamlab.imports.places import plane
from roamlab.traces import logs
from roamlab.traces.logs import QUOTED, UNITS, bad, decimal, instant

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from roamlab.imports.places import Numbers

EXPECTED = "positions over time: SUMO's floating car data, a movement file of ns-2, or a table"
_KINDS = ("vehicle", "person", "container")
_SUMO = {"time_s": "time", "host": "id", "x_m": "x", "y_m": "y"}
_PLACES = (("x_m", "y_m"), ("longitude", "latitude"))
_KNOWN = (*(f"time_{unit}" for unit in UNITS), "time", "host", *_PLACES[0], *_PLACES[1])
_LARGEST = 1e9
_DEGREES = 1e-3
"""Steps that are so much shorter than the speed in the log tells are degrees, of which one is some 100 km."""


@dataclass
class _Samples:
    """The positions of the wanted node, with the lines of the log."""

    asked: str
    """The name that the user gives, perhaps empty."""
    geo: bool
    wanted: str = ""
    """The name that the user gives, or the first of the log."""
    names: dict[str, None] = field(default_factory=dict)
    """All nodes of the log, in their order."""
    times: array[float] = field(default_factory=lambda: array("d"))
    x: array[float] = field(default_factory=lambda: array("d"))
    y: array[float] = field(default_factory=lambda: array("d"))
    speeds: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))

    def is_wanted(self, name: str) -> bool:
        """Add a name of the log; true if it is the wanted node, or the first one if none is wanted."""
        if name not in self.names:
            self.names[name] = None
            self.wanted = self.wanted or self.asked or name
        return name == self.wanted

    def add(self, line: int, time: float, place: tuple[float, float], speed: float) -> None:
        """Add a position of the wanted node."""
        self.lines.append(line)
        self.times.append(time)
        self.x.append(place[0])
        self.y.append(place[1])
        self.speeds.append(speed)


def read(
    log: Path,
    node: str,
    named: Mapping[str, str],
    only: Mapping[str, str],
    origin: tuple[float, float] | None,
    *,
    geo: bool,
) -> Track:
    """The track of a node in a table; of the only one without its name.

    `named`: our names of columns and those of the log. `only`: fields and the values that a record must have to count.
    `geo`: x and y are longitude and latitude. `origin`: the place (latitude, longitude) that is (0, 0) m; None: the
    first position of the node. Raises `BadInput` with file and line.
    """
    there = [*logs.names_of(log)]
    kinds = [kind for kind in _KINDS if f"{kind}_id" in there and "id" not in there] or [""]
    each_kind = [_fields(log, named, kind, there) for kind in kinds]
    time_by, theirs = _time_of(each_kind[0]), each_kind[0][_time_of(each_kind[0])]
    samples = _Samples(node, geo or "longitude" in each_kind[0])
    asked = [
        [fields[part] for part in (*_places_of(fields), "host") if part in fields] for fields in each_kind
    ]
    for line, (when, *values) in logs.columns(log, [theirs, *chain(*asked)], only):
        for columns in asked:
            places, values = values[: len(columns)], values[len(columns) :]
            name = places[2].strip() if len(places) > 2 else node or "host"
            if name and samples.is_wanted(name):
                place = (_number(log, line, columns[0], places[0]), _number(log, line, columns[1], places[1]))
                samples.add(line, _time(log, line, theirs, when, time_by), place, -1.0)
    return _track(log, samples, origin)


def read_xml(log: Path, node: str, origin: tuple[float, float] | None, *, geo: bool) -> Track:
    """The track of a node in SUMO's floating car data; arguments as of `read`. Raises `BadInput` with file and line."""
    samples = _Samples(node, geo)

    def kept(name: str, attributes: Mapping[str, str]) -> bool:
        return name not in _KINDS or "id" not in attributes or samples.is_wanted(attributes["id"])

    time: float | None = None
    root = ""
    for name, attributes, _, line in elements(log, EXPECTED, kept=kept):
        if not root:
            root = name
            if root != "fcd-export":
                expected = "<fcd-export>, which `sumo --fcd-output fcd.xml` writes"
                raise bad(log, line, f"the first element is <{root}>", expected, "name another file")
        elif name == "timestep":
            time = _time(log, line, "time", _of(log, line, name, attributes, "time"), "time_s")
        elif name in _KINDS:
            _of(log, line, name, attributes, "id")
            if time is None:
                raise bad(
                    log, line, f"<{name}> is in no time step", '<timestep time="1.00"> around it', "add it"
                )
            place = (
                _number(log, line, "x", _of(log, line, name, attributes, "x")),
                _number(log, line, "y", _of(log, line, name, attributes, "y")),
            )
            speed = attributes.get("speed")
            samples.add(line, time, place, -1.0 if speed is None else _number(log, line, "speed", speed))
    return _track(log, samples, origin)


def _of(log: Path, line: int, element: str, attributes: Mapping[str, str], name: str) -> str:
    """An attribute of an element. Raises `BadInput`."""
    if name not in attributes:
        known = ", ".join(attributes) or "none"
        raise bad(
            log,
            line,
            f"<{element}> has no attribute {name!r} (it has: {known})",
            f'{name}="…"',
            f"write --fcd-output.attributes id,x,y,speed in the call of sumo, or add {name}",
        )
    return attributes[name]


def _fields(log: Path, named: Mapping[str, str], kind: str, there: list[str]) -> dict[str, str]:
    """The columns of a log by our names. Those that are not named are called as here or as SUMO calls them.

    `kind`: the part of SUMO's names before the underscore. `there`: the columns of a table.
    """
    for ours in named:
        if ours not in _KNOWN:
            raise BadInput(
                f"--column {ours}={named[ours]}",
                "a trajectory is not made of such a column",
                expected=f"one of {', '.join(_KNOWN)}",
                remedy="write --column longitude=lon --column latitude=lat, for fields `lon` and `lat`",
            )
    fields = dict(named)
    for ours in _KNOWN:
        by_sumo = _SUMO.get(ours, "")
        tagged = f"timestep_{by_sumo}" if by_sumo == "time" else f"{kind}_{by_sumo}"
        other = ours.startswith("time") and any(each.startswith("time") for each in fields)
        found = next((each for each in (ours, tagged, by_sumo) if each in there), "")
        if found and ours not in fields and not other:
            fields[ours] = found
    for ours in (_time_of(fields), *_places_of(fields)):
        if ours not in fields:
            if there:
                raise logs.missing(log, 1, ours, there)
            fields[ours] = ours
    return fields


def _places_of(fields: Mapping[str, str]) -> tuple[str, str]:
    """Our names of the two columns of positions: degrees if both are there and not both of metres."""
    return _PLACES["x_m" not in fields and bool({"longitude", "latitude"} & fields.keys())]


def _time_of(fields: Mapping[str, str]) -> str:
    """Our name of the column of times."""
    return next((ours for ours in fields if ours.startswith("time")), "time_s")


_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d\d):(\d\d(?:\.\d+)?)")
"""A time of SUMO with `--human-readable-time`: perhaps days, then hours, minutes and seconds."""


def _time(log: Path, line: int, field: str, text: str, ours: str) -> float:
    """A time in s."""
    text = text.strip()
    found = decimal((instant(text) or "") if ours == "time" else text)
    if found is not None:
        return float(found) / UNITS.get(ours.partition("_")[2], 1)
    if ours == "time_s" and (clock := _CLOCK.fullmatch(text)):
        days, hours, minutes, seconds = clock.groups(default="0")
        return ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + float(seconds)
    dated = ours == "time"
    expected = "a date and time in ISO 8601" if dated else "a number"
    remedy = f"write --column time={field}" if instant(text) and not dated else "correct it"
    raise bad(log, line, f"{field} is {text[:QUOTED]!r}", expected, remedy)


def _number(log: Path, line: int, field: str, text: str) -> float:
    # The usual case, much faster than a decimal number.
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not abs(found) <= _LARGEST:
        raise bad(
            log, line, f"{field} is {text.strip()[:QUOTED]!r}", "a number", "correct it, or remove the line"
        )
    return found


def _track(log: Path, samples: _Samples, origin: tuple[float, float] | None) -> Track:
    name = chosen(log, samples.asked, samples.names, "node")
    times, lines = np.array(samples.times), np.array(samples.lines)
    places = np.column_stack([np.array(samples.x), np.array(samples.y)])
    speeds, notes = np.array(samples.speeds), []
    if (np.diff(times) < 0).any():
        order = np.argsort(times, kind="stable")
        times, places, lines, speeds = times[order], places[order], lines[order], speeds[order]
        notes.append("the positions were not in the order of time")
    again = np.diff(times) == 0
    if again.any():
        other = np.flatnonzero(again & np.any(np.diff(places, axis=0) != 0, axis=1))
        if len(other):
            line = int(lines[other[0] + 1])
            problem = f"{name!r} has two positions at {times[other[0]]:.10g} s"
            raise bad(
                log, line, problem, "one position at each time", "remove one, or choose records with --where"
            )
        kept = np.concatenate(([True], ~again))
        times, places, lines, speeds = times[kept], places[kept], lines[kept], speeds[kept]
        notes.append(f"{counted(int(again.sum()), 'record')} of the same time and position left out")
    if samples.geo:
        places, said = _in_plane(log, places, lines, origin)
        notes.append(said)
    else:
        _refuse_degrees(log, times, places, speeds)
    return Track(name, times, places, tuple(notes))


def _in_plane(
    log: Path, places: Numbers, lines: Numbers, origin: tuple[float, float] | None
) -> tuple[Numbers, str]:
    """Longitudes and latitudes as metres, and a sentence about their origin."""
    wrong = np.flatnonzero((np.abs(places[:, 0]) > 180) | (np.abs(places[:, 1]) > 90))
    if len(wrong):
        x, y = places[wrong[0]]
        raise bad(
            log,
            int(lines[wrong[0]]),
            f"longitude {x:.10g} and latitude {y:.10g} are no place",
            "degrees: a longitude from -180 to 180, then a latitude from -90 to 90",
            "leave out --geo if these are metres, or swap the columns with --column",
        )
    latitude, longitude = origin or (float(places[0, 1]), float(places[0, 0]))
    said = f"(0, 0) m is latitude {latitude:.10g}, longitude {longitude:.10g}; x leads east and y north"
    return plane(places[:, 1], places[:, 0], (latitude, longitude)), said


def _refuse_degrees(log: Path, times: Numbers, places: Numbers, speeds: Numbers) -> None:
    """Raise `BadInput` if the way is much shorter than the speeds of the log tell: then it is in degrees."""
    if len(times) < 2 or (speeds < 0).any():
        return
    way = float(np.hypot(*np.diff(places, axis=0).T).sum())
    driven = float((speeds[1:] * np.diff(times)).sum())
    if driven > 1 and way < _DEGREES * driven and np.abs(places[:, 0]).max() <= 180:
        raise BadInput(
            log,
            f"with its speeds the node goes {driven:.0f} m, and its positions are {way:.2g} apart",
            expected="positions in metres",
            remedy="write --geo: these are degrees of longitude and latitude",
        )
