"""Positions of a node over time, as the trajectory of a host."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted, number
from roamlab.scenarios.changes import inline_toml

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.imports.places import Numbers

_GAP = 5
"""A step longer than this number of usual ones is a gap."""
_SAME_M = 0.1
"""A smaller distance of two places is not reported."""
_FASTEST_M_PER_S = 150.0
"""The fastest train for which mobile networks are specified, 500 km/h (TS 22.261 §7.1), with a margin."""


@dataclass(frozen=True)
class Track:
    """Positions of one node. Between two times it moves on a straight line."""

    node: str
    times_s: Numbers
    """The times of the log, in s, rising."""
    places_m: Numbers
    """The position at each time, in m: a row of x and y."""
    notes: tuple[str, ...] = ()
    """Differences between the log and the track."""

    def between(self, log: Path, begin_s: float | None, end_s: float | None) -> Track:
        """The part from `begin_s` to `end_s`, from 0 on; None: from its first time, to its last. Raises `BadInput`."""
        first, last = float(self.times_s[0]), float(self.times_s[-1])
        begin = first if begin_s is None else begin_s
        end = last if end_s is None else end_s
        if begin > last or end < first or end < begin:
            raise BadInput(
                "--end" if begin <= last else "--begin",
                f"{self.node!r} is in {log.name} from {number(first)} to {number(last)} s",
                expected="a begin before the end, and both in this time",
                remedy=f"write --begin {first:.10g}",
            )
        inside = self.times_s[(self.times_s > begin) & (self.times_s < end)]
        times = np.unique(np.concatenate(([begin], inside, [end])))
        places = np.column_stack([np.interp(times, self.times_s, axis) for axis in self.places_m.T])
        return Track(self.node, times - begin, places, self.notes)

    def gaps(self) -> list[str]:
        """Sentences about gaps between positions, and about speeds that no vehicle has."""
        if len(self.times_s) < 2:
            return []
        steps = np.diff(self.times_s)
        usual = float(np.median(steps))
        gaps = np.flatnonzero(steps > _GAP * usual)
        said = []
        if len(gaps):
            longest = int(gaps[np.argmax(steps[gaps])])
            said.append(
                f"{counted(len(gaps), 'gap')} longer than {_GAP} usual steps of {number(usual)} s, the longest "
                f"{number(float(steps[longest]))} s from {number(float(self.times_s[longest]))} s on: the way is "
                "straight there"
            )
        speeds = np.hypot(*np.diff(self.places_m, axis=0).T) / steps
        fastest = int(np.argmax(speeds))
        if speeds[fastest] > _FASTEST_M_PER_S:
            said.append(
                f"at {number(float(self.times_s[fastest]))} s it moves with {number(float(speeds[fastest]))} m/s: "
                "see the unit of the positions (--geo: degrees)"
            )
        return said


@dataclass(frozen=True)
class Trajectory:
    """The way of a host with its times, and the track that it is made of."""

    track: Track
    waypoints_m: Numbers
    """The points of the way in m: a row of x and y."""
    times_s: Numbers
    """When the host is at each point, in s; of a host that does not move, empty."""
    off_m: Numbers = field(repr=False)
    """Distance from the track at each of its times, in m."""

    def toml(self) -> str:
        """The field of a host, in one line."""
        table: dict[str, Any] = {"waypoints_m": self.waypoints_m.tolist()}
        if len(self.times_s):
            table["times"] = [_duration(time) for time in self.times_s.tolist()]
        return f"trajectory = {inline_toml(table)}"

    def length_m(self) -> float:
        """The length of the way."""
        return float(_steps(self.waypoints_m).sum())

    def summary(self) -> list[str]:
        """Sentences about the way: its length, its time, and how far it is from the track."""
        track = self.track
        said = f"{track.node}: {counted(len(track.times_s), 'position')} in {number(float(track.times_s[-1]))} s; "
        if not len(self.times_s):
            said += "it does not move"
            if self.off_m.any():
                said += f" more than the tolerance, {number(float(self.off_m.max()))} m (--geo: degrees)"
            return [said, *track.notes]
        points = counted(len(self.waypoints_m), "point")
        said += f"a way of {points} and {number(self.length_m())} m"
        worst = int(np.argmax(self.off_m))
        if self.off_m[worst] >= _SAME_M:
            said += (
                f", up to {number(float(self.off_m[worst]))} m from the log, at "
                f"{number(float(track.times_s[worst]))} s (--tolerance-m)"
            )
        return [said, *track.gaps(), *track.notes]


def trajectory(track: Track, tolerance_m: float) -> Trajectory:
    """The trajectory of a track that begins at 0.

    Points are left out without which the host is nearer than `tolerance_m` to its place at each time of the log. The
    rule is that of Douglas and Peucker (1973), with the distance at equal times (Meratnia and de By, 2004).
    """
    places, times = track.places_m, track.times_s
    still = np.hypot(*(places - places[0]).T)
    if still.max() <= max(tolerance_m, 1e-6):
        return Trajectory(track, np.round(places[:1], 2) + 0.0, np.empty(0), still)
    kept = _kept(times, places, max(tolerance_m, 1e-6))
    points, at = np.round(places[kept], 2) + 0.0, np.round(times[kept], 9)
    host = np.column_stack([np.interp(times, at, axis) for axis in points.T])
    return Trajectory(track, points, at, np.hypot(*(places - host).T))


def _duration(seconds: float) -> str:
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + " s"


def _steps(places: Numbers) -> Numbers:
    """The distance from each place to the next."""
    return np.asarray(np.hypot(*np.diff(places, axis=0).T))


def _kept(times: Numbers, places: Numbers, tolerance_m: float) -> list[int]:
    """The places that make the way, by their numbers."""
    kept, parts = {0, len(places) - 1}, [(0, len(places) - 1)]
    while parts:
        first, last = parts.pop()
        if last - first < 2:
            continue
        part = (times[first + 1 : last] - times[first]) / (times[last] - times[first])
        line = places[first] + part[:, None] * (places[last] - places[first])
        distances = np.hypot(*(places[first + 1 : last] - line).T)
        furthest = int(np.argmax(distances))
        if distances[furthest] > tolerance_m:
            middle = first + 1 + furthest
            kept.add(middle)
            parts += [(first, middle), (middle, last)]
    return sorted(kept)
