"""Satellites above a place: their elevations, their passes, and which one serves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted, number
from roamlab.imports import tle
from roamlab.imports.places import axes, earth
from roamlab.running.runprogress import measured

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from roamlab.imports.places import Numbers

    Whole = np.ndarray[Any, np.dtype[np.int64]]

LIGHT_M_PER_S = 299_792_458.0
_TOGETHER = 400_000
"""Positions that are computed together: some 30 MB."""
_OLD_DAYS = 14
"""Elements of a low orbit are kilometres off after this number of days (Vallado and Cefola, 2012)."""
_MOST_STEPS = 2_000_000


@dataclass(frozen=True)
class Station:
    """A place on the ground, and the least elevation at which it uses a satellite."""

    latitude: float
    """Degrees."""
    longitude: float
    altitude_m: float = 0.0
    least_elevation: float = 25.0
    """Degrees."""


@dataclass(frozen=True)
class Sky:
    """The visible satellites of a station at equal steps of time."""

    names: Sequence[str]
    """All satellites."""
    times_s: Numbers
    """Steps from the begin on. Samples of passes that end later have further steps."""
    least_elevation: float
    satellite: Whole
    """Of each sample the number of its satellite; samples are in the order of satellites, then of steps."""
    step: Whole
    elevation: Numbers
    """Degrees. Each pass has a sample below the least elevation before and after it."""
    range_m: Numbers
    """The distance from the station."""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Pass:
    """A satellite from its rise above the least elevation, or the begin, to its exit, perhaps behind the end."""

    name: str
    rise_s: float
    exit_s: float
    first: int
    """Its first step."""
    elevation: Numbers
    """Degrees, at each of its steps."""
    delay_s: Numbers
    """From the station to the satellite, at each of its steps."""

    @property
    def last(self) -> int:
        """Its last step."""
        return self.first + len(self.elevation) - 1

    def serves(self, step: int) -> bool:
        """True if it is above the least elevation at a step."""
        return self.first <= step <= self.last


def sky(
    log: Path, station: Station, begin: datetime | None, hours: float, step_s: float
) -> tuple[Sky, datetime]:
    """The sky of a station from `begin` (UTC) on, and this time; None: the latest epoch of the elements.

    SGP4 gives positions in the frame TEME. The station turns in it by the sidereal time (IAU 1982); the motion of the
    poles (10 m) and the difference of UT1 and UTC (400 m) are left out. Raises `BadInput`.
    """
    from sgp4.api import Satrec, jday

    satellites, said = tle.read(log)
    records = [Satrec.twoline2rv(each.one, each.two) for each in satellites]
    epochs = np.array([each.jdsatepoch + each.jdsatepochF for each in records])
    if begin is None:
        begin = datetime(2000, 1, 1, 12, tzinfo=UTC) + timedelta(
            days=round((epochs.max() - _J2000) * 86400) / 86400
        )
    seconds = begin.second + begin.microsecond / 1e6
    whole, part = map(float, jday(begin.year, begin.month, begin.day, begin.hour, begin.minute, seconds))
    count = round(hours * 3600 / step_s) + 1
    if not 2 <= count <= _MOST_STEPS:
        raise BadInput(
            "--hours",
            f"{number(hours)} h have {count} steps of {number(step_s)} s",
            expected=f"2 to {_MOST_STEPS} steps",
            remedy="write another --hours or --step",
        )
    sight = _Sight(station, records, whole, part, step_s)
    found, failed = _found(sight, count)
    who, at, elevation, distance = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.lexsort((at, who))
    notes = [*said, *_ages(epochs - (whole + part))]
    if failed:
        notes.append(f"{counted(failed, 'satellite')} that SGP4 cannot compute left out where it fails")
    times: Numbers = np.arange(count) * np.float64(step_s)
    names = [each.name for each in satellites]
    least = station.least_elevation
    return Sky(names, times, least, who[order], at[order], elevation[order], distance[order], notes), begin


Samples: TypeAlias = "tuple[Whole, Whole, Numbers, Numbers]"
"""Satellites, steps, elevations in degrees and distances in m."""


@dataclass(frozen=True)
class _Sight:
    """A station that looks at satellites at equal steps from a time on, a Julian date in two parts."""

    station: Station
    records: Sequence[Any]
    whole: float
    part: float
    step_s: float

    def samples(self, chosen: Whole, first: int, stop: int) -> tuple[Samples, Whole, Whole]:
        """The samples of some satellites from a step on until the one before `stop`: those above, and one around them.

        Also the satellites that are above in the last step, and those that SGP4 cannot compute.
        """
        from sgp4.api import SatrecArray

        # One step more on either side, so that the crossings of the least elevation are there.
        before = max(first - 1, 0)
        days = np.arange(before, stop + 1) * self.step_s / 86400
        array = SatrecArray([self.records[each] for each in chosen])
        errors, places, _ = array.sgp4(np.full(len(days), self.whole), self.part + days)
        elevation, distance = _seen(self.station, self.whole + self.part + days, places * 1e3)
        above = (elevation >= self.station.least_elevation) & (errors == 0)
        near = above.copy()
        near[:, 1:] |= above[:, :-1]
        near[:, :-1] |= above[:, 1:]
        own = slice(first - before, stop - before)
        who, at = np.nonzero(near[:, own])
        found = (chosen[who], at + first, elevation[:, own][who, at], distance[:, own][who, at])
        return found, chosen[above[:, own][:, -1]], chosen[errors.any(axis=1)]


def _found(sight: _Sight, count: int) -> tuple[list[Samples], int]:
    """The samples of the first steps, and the number of satellites that SGP4 cannot compute.

    Passes that have not ended then are followed until their exit, so that times to exit are right.
    """
    everyone = np.arange(len(sight.records))
    together = max(2, _TOGETHER // len(everyone))
    found, failed = [], set[int]()
    left = everyone
    with measured("computed", count) as tell:
        for first in range(0, count, together):
            stop = min(first + together, count)
            samples, left, wrong = sight.samples(everyone, first, stop)
            found.append(samples)
            failed |= {*wrong.tolist()}
            tell(stop, lambda _: f"{counted(len(everyone), 'satellite')}")
    first, block = count, max(2, round(_BLOCK_S / sight.step_s))
    while len(left) and (first - count) * sight.step_s < _AHEAD_S:
        samples, left, _ = sight.samples(left, first, first + block)
        found.append(samples)
        first += block
    return found, len(failed)


_AHEAD_S, _BLOCK_S = 43_200, 120
"""How long a pass is followed behind the end, and the length of a part: a geostationary satellite has no exit."""

_J2000 = 2_451_545.0
"""The Julian date of 2000-01-01 12:00."""


def _ages(ages: Numbers) -> list[str]:
    oldest = float(np.abs(ages).max())
    if oldest <= _OLD_DAYS:
        return []
    return [
        f"some elements are {number(oldest)} days away: their satellites may be kilometres from where they are"
    ]


def _seen(station: Station, julian: Numbers, places_m: Numbers) -> tuple[Numbers, Numbers]:
    """Elevations (degrees) and distances (m) of satellites at places in TEME: a row for each, a column a time."""
    from sgp4.propagation import gstime

    turned = np.array([gstime(each) for each in julian])
    here = earth(np.array([station.latitude]), np.array([station.longitude]), station.altitude_m)[0]
    up = axes(station.latitude, station.longitude)[2]
    cos, sin = np.cos(turned), np.sin(turned)

    def inertial(vector: Numbers) -> Numbers:
        x, y, z = vector
        return np.column_stack([x * cos - y * sin, x * sin + y * cos, np.full(len(cos), z)])

    away = places_m - inertial(here)[None]
    distance = np.sqrt(np.einsum("ntk,ntk->nt", away, away))
    height = np.einsum("ntk,tk->nt", away, inertial(up))
    with np.errstate(invalid="ignore"):
        elevation = np.degrees(np.arcsin(np.clip(height / distance, -1.0, 1.0)))
    return np.nan_to_num(elevation, nan=-90.0), np.nan_to_num(distance)


def passes(above: Sky) -> list[Pass]:
    """The passes that begin in the time of a sky, by their rise. Rises and exits are interpolated between steps."""
    inside = above.elevation >= above.least_elevation
    found = []
    places = np.flatnonzero(inside)
    if not len(places):
        return []
    breaks = 1 + np.flatnonzero(
        (np.diff(places) != 1) | (np.diff(above.step[places]) != 1) | (np.diff(above.satellite[places]) != 0)
    )
    for run in np.split(places, breaks):
        first, last = int(run[0]), int(run[-1])
        if above.step[first] >= len(above.times_s):
            continue
        found.append(
            Pass(
                above.names[int(above.satellite[first])],
                _crossing(above, first, first - 1),
                _crossing(above, last, last + 1),
                int(above.step[first]),
                above.elevation[run],
                above.range_m[run] / LIGHT_M_PER_S,
            )
        )
    return sorted(found, key=lambda each: (each.rise_s, each.name))


def _crossing(above: Sky, inside: int, outside: int) -> float:
    """When the elevation is the least one, between a sample above it and its neighbour below; at an end the end."""
    step_s = float(above.times_s[1])
    at = float(above.step[inside] * step_s)
    if not 0 <= outside < len(above.step) or above.satellite[outside] != above.satellite[inside]:
        return at
    if abs(int(above.step[outside]) - int(above.step[inside])) != 1:
        return at
    high, low = float(above.elevation[inside]), float(above.elevation[outside])
    part = (high - above.least_elevation) / (high - low)
    return at + part * step_s * float(above.step[outside] - above.step[inside])
