"""Positions of a node over time, as the trajectory of a host."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
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
    """A way at one speed, as a host has it, and the track that it is made of."""

    track: Track
    waypoints_m: Numbers
    """The points of the way in m: a row of x and y."""
    speed_m_per_s: float
    start_s: float
    off_m: Numbers = field(repr=False)
    """Distance from the track at each of its times, in m."""

    def toml(self) -> str:
        """The field of a host, in one line."""
        table: dict[str, Any] = {"waypoints_m": self.waypoints_m.tolist()}
        if self.speed_m_per_s > 0:
            table["speed_m_per_s"] = self.speed_m_per_s
        if self.start_s > 0:
            table["start"] = f"{self.start_s:.9f}".rstrip("0").rstrip(".") + " s"
        return f"trajectory = {inline_toml(table)}"

    def length_m(self) -> float:
        """The length of the way."""
        return float(_steps(self.waypoints_m).sum())

    def summary(self) -> list[str]:
        """Sentences about the way: its length, its speed, and how far it is from the track."""
        track = self.track
        said = f"{track.node}: {counted(len(track.times_s), 'position')} in {number(float(track.times_s[-1]))} s; "
        if self.speed_m_per_s == 0:
            said += "it does not move"
            if self.off_m.any():
                said += f" more than the tolerance, {number(float(self.off_m.max()))} m (--geo: degrees)"
            return [said, *track.notes]
        points = counted(len(self.waypoints_m), "point")
        said += (
            f"a way of {points} and {number(self.length_m())} m at {number(self.speed_m_per_s)} m/s from "
            f"{number(self.start_s)} s on"
        )
        worst = int(np.argmax(self.off_m))
        if self.off_m[worst] < _SAME_M:
            return [said, *track.gaps(), *track.notes]
        mean = float(np.trapezoid(self.off_m, track.times_s) / track.times_s[-1])
        off = (
            f"a trajectory has one speed: the host is up to {number(float(self.off_m[worst]))} m from where the log "
            f"has it, at {number(float(track.times_s[worst]))} s, and {number(mean)} m on average; a shorter part "
            "(--begin, --end) has a smaller difference"
        )
        return [said, off, *track.gaps(), *track.notes]


def trajectory(track: Track, tolerance_m: float) -> Trajectory:
    """The trajectory of a track that begins at 0.

    Points that are nearer than `tolerance_m` to the line of their neighbours are left out (Douglas and Peucker, 1973).
    The speed is the mean from the time at which the node leaves its first place until it reaches its last one.
    """
    places, times = track.places_m, track.times_s
    near = max(tolerance_m, 1e-6)
    left = np.flatnonzero(np.hypot(*(places - places[0]).T) > near)
    away = np.flatnonzero(np.hypot(*(places - places[-1]).T) > near)
    if not len(left) or not len(away):
        return Trajectory(track, np.round(places[:1], 2) + 0.0, 0.0, 0.0, np.hypot(*(places - places[0]).T))
    # A node whose way ends where it began is away from both in between.
    start = float(times[max(int(left[0]) - 1, 0)])
    end = float(times[min(int(away[-1]) + 1, len(times) - 1)])
    points = np.round(places[_kept(places, near)], 2) + 0.0
    points = points[np.concatenate(([True], np.any(np.diff(points, axis=0) != 0, axis=1)))]
    speed = round(float(_steps(points).sum()) / (end - start), 6)
    off = np.hypot(*(places - _along(points, (times - start) * speed)).T)
    return Trajectory(track, points, speed, round(start, 9), off)


def _steps(places: Numbers) -> Numbers:
    """The distance from each place to the next."""
    return np.asarray(np.hypot(*np.diff(places, axis=0).T))


def _along(points: Numbers, gone_m: Numbers) -> Numbers:
    """The place on a way after each distance from its first point."""
    at = np.concatenate(([0.0], np.cumsum(_steps(points))))
    return np.column_stack([np.interp(gone_m, at, axis) for axis in points.T])


def _kept(places: Numbers, tolerance_m: float) -> list[int]:
    """The places that make the way, by their numbers."""
    # A node that waits trembles in a log: only a place that is away from the one before is another one.
    thinned = [0]
    for place in range(1, len(places)):
        if np.hypot(*(places[place] - places[thinned[-1]])) > tolerance_m:
            thinned.append(place)
    if thinned[-1] != len(places) - 1:
        thinned.append(len(places) - 1)
    way = places[thinned]
    steps = np.diff(way, axis=0)
    # The line between two points is not the way where the node turns back on it.
    turns = 1 + np.flatnonzero((steps[1:] * steps[:-1]).sum(axis=1) < 0)
    edges = [0, *turns.tolist(), len(way) - 1]
    kept = {0}
    for first, last in pairwise(edges):
        kept |= _bends(way, first, last, tolerance_m)
    return [thinned[each] for each in sorted(kept)]


def _bends(way: Numbers, first: int, last: int, tolerance_m: float) -> set[int]:
    """The points between two of a way without which it would be further than the tolerance from its points."""
    kept, parts = {first, last}, [(first, last)]
    while parts:
        first, last = parts.pop()
        if last - first < 2:
            continue
        line = way[last] - way[first]
        between = way[first + 1 : last] - way[first]
        squared = float(line @ line)
        part = np.clip(between @ line / squared, 0.0, 1.0) if squared > 0 else np.zeros(len(between))
        distances = np.hypot(*(between - part[:, None] * line).T)
        furthest = int(np.argmax(distances))
        if distances[furthest] > tolerance_m:
            middle = first + 1 + furthest
            kept.add(middle)
            parts += [(first, middle), (middle, last)]
    return kept
