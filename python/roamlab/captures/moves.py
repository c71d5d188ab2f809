"""A log of a host's moves or of radio events of the time of a capture: which stalls begin at one of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted
from roamlab.base.screen import shown
from roamlab.traces import logs
from roamlab.traces.text import LATEST_S

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NEAR_S = 0.5
"""A move may be so long before the begin of what it explains: packets are on the way, and clocks differ."""
_TIMES = {"time": 1} | {f"time_{unit}": parts for unit, parts in logs.UNITS.items()}
_GAPS = {f"gap_{unit}": parts for unit, parts in logs.UNITS.items()}
_EXPECTED = (
    "columns time_s, from and to, or time_s, event and cell; time_ms, time_us, time_ns, or time with dates"
)
_HOUR_NS = 3_600_000_000_000
_ZONES = 14
"""Hours that a zone may be from UTC."""


@dataclass(frozen=True)
class Event:
    """A move of a host, or another event of its radio."""

    time_s: float
    """From the first packet of the capture."""
    name: str
    """As a part of a sentence."""
    host: str
    """The host of the log; empty: it names none."""
    gap_s: float | None
    """How long the host had no link, as the log has it."""

    def words(self) -> str:
        """With its time."""
        gap = f" (gap {self.gap_s:.3f} s)" if self.gap_s is not None else ""
        return f"{self.name} at {self.time_s:.3f} s{gap}"


@dataclass(frozen=True)
class _Row:
    time_ns: int
    name: str
    host: str
    gap_ns: int | None


@dataclass(frozen=True)
class Moves:
    """The events of a log that are in the time of a capture."""

    log: Path
    clock: str
    """The clock of the log's times, in words."""
    events: list[Event]
    """In the order of time."""
    outside: int
    """Events before the capture or behind it."""

    def within(self, start_s: float, end_s: float) -> list[Event]:
        """Events that may have caused what lasted from start to end, the nearest to its start first."""
        gap = max((event.gap_s or 0.0 for event in self.events), default=0.0)
        times = [event.time_s for event in self.events]
        first = bisect_left(times, start_s - NEAR_S - gap)
        found = self.events[first : bisect_right(times, end_s)]
        near = (each for each in found if each.time_s + (each.gap_s or 0.0) >= start_s - NEAR_S)
        return sorted(near, key=lambda event: abs(event.time_s - start_s))

    def tie(self, start_s: float, end_s: float) -> tuple[dict[str, Any] | None, str]:
        """The nearest event for programs, and a sentence; None and no sentence: none is near."""
        found = self.within(start_s, end_s)
        if not found:
            return None, ""
        after = start_s - found[0].time_s
        where = f"{abs(after):.3f} s {'before' if after < 0 else 'after'}"
        others = f"; {len(found) - 1} more near it" if len(found) > 1 else ""
        data = asdict(found[0]) | {"begins_after_s": after, "more": len(found) - 1}
        return data, f"it begins {where} {found[0].words()}{others}"

    def summary(self, silences: list[tuple[float, float]]) -> tuple[dict[str, Any], str]:
        """How many events have a silence and how many silences an event, for programs and as a sentence."""
        tied = [self.within(*silence)[:1] for silence in silences]
        caused = {event for found in tied for event in found}
        near = sum(map(bool, tied))
        outside = f", {self.outside} more outside of the capture" if self.outside else ""
        said = (
            f"moves: {counted(len(self.events), 'event', 'events')} in {shown(self.log)} by {self.clock}{outside}; "
            f"{len(caused)} with a stall; {near} of {counted(len(silences), 'stall', 'stalls')} near one"
        )
        data = {"clock": self.clock, "events": [asdict(event) for event in self.events]}
        return data | {"outside": self.outside, "with_stall": len(caused), "stalls_near": near}, said


def tie(flows: list[dict[str, Any]], moves: Moves) -> tuple[dict[str, Any], str]:
    """Ties the stalls and spikes of flows to moves; the summary for programs and as a sentence."""
    silences = []
    for flow in flows:
        for stall in flow["stalls"]:
            silences.append((stall["start_s"], stall["end_s"]))
            stall["move"], said = moves.tie(*silences[-1])
            stall["sentences"] += [said] if said else []
        for spike in flow["spikes"]:
            # The packet of this round trip was sent so much earlier.
            spike["move"], _ = moves.tie(spike["time_s"] - spike["rtt_ns"] / 1e9, spike["time_s"])
    return moves.summary(silences)


def read(log: Path, start_ns: int, length_s: float) -> Moves:
    """The events of a log with a capture whose first packet is at `start_ns` of its clock. Raises `BadInput`.

    Times are those of the capture's clock (seconds since 1970), or count from its first packet. The first that puts an
    event into the capture holds.
    """
    rows = sorted(_rows(log), key=lambda row: row.time_ns)
    for clock, first_ns in (("the capture's clock", start_ns), ("the time since the first packet", 0)):
        times = [(row, (row.time_ns - first_ns) / 1e9) for row in rows]
        inside = [(row, time) for row, time in times if -NEAR_S <= time <= length_s + NEAR_S]
        if inside:
            several = len({row.host for row in rows}) > 1
            events = [_event(row, time, several=several) for row, time in inside]
            return Moves(log, clock, events, len(rows) - len(inside))
    raise _apart(log, rows, start_ns, length_s)


def _event(row: _Row, time_s: float, *, several: bool) -> Event:
    name = f"{row.name} of {row.host}" if several and row.host else row.name
    return Event(time_s, name, row.host, None if row.gap_ns is None else row.gap_ns / 1e9)


def _apart(log: Path, rows: list[_Row], start_ns: int, length_s: float) -> BadInput:
    """The log and the capture have no time in common."""
    spans = " to ".join(f"{row.time_ns / 1e9:.3f}" for row in (rows[0], rows[-1])[: min(2, len(rows))])
    start_s = start_ns / 1e9
    remedy = "write the times of the capture's clock, or take the log of the same day"
    for hours in range(-_ZONES, _ZONES + 1):
        moved = [(row.time_ns + hours * _HOUR_NS - start_ns) / 1e9 for row in rows]
        if any(-NEAR_S <= time <= length_s + NEAR_S for time in moved):
            zone = f"{-hours:+03d}:00"
            remedy = (
                f"its times fit if {hours:+d} h are added: write their zone, as in 2026-05-01T12:00:00{zone}"
            )
            break
    return BadInput(
        log,
        f"its events are at {spans} s, and none is within the capture",
        expected=(
            f"times by the capture's clock, {start_s:.3f} to {start_s + length_s:.3f} s since 1970, "
            f"or 0 to {length_s:.3f} s from its first packet"
        ),
        remedy=remedy,
    )


def _rows(log: Path) -> list[_Row]:
    """The records of a log; of a series of serving cells those at which the cell changes."""
    rows: list[_Row] = []
    cells: dict[str, str] = {}
    for line, record in logs.records(log):
        time = _one(log, line, record, _TIMES)
        if time is None or not ({"from", "to"} <= record.keys() or {"event", "cell"} & record.keys()):
            known = ", ".join(str(name) for name in record if name is not None) or "none"
            raise _bad(log, line, f"its columns are {known}", _EXPECTED, "rename the columns of the log")
        host = _text(record, "host")
        name = _name(record, cells.get(host, ""))
        cells[host] = _text(record, "cell") or cells.get(host, "")
        if name:
            rows.append(_Row(time, name, host, _one(log, line, record, _GAPS)))
    if not rows:
        raise BadInput(
            log, "it has no event", expected="a record for each move or event", remedy="name another log"
        )
    return rows


def _name(record: Mapping[str, Any], before: str) -> str:
    """A record as a part of a sentence; empty for a sample of the cell that was there before."""
    if {"from", "to"} <= record.keys():
        return _move(_text(record, "from"), _text(record, "to"))
    cell = _text(record, "cell")
    if event := _text(record, "event"):
        return f"the event {event} (cell {cell})" if cell else f"the event {event}"
    return _move(before, cell) if before and cell not in ("", before) else ""


def _move(old: str, new: str) -> str:
    if old and new:
        return f"the move from {old} to {new}"
    if old or new:
        return f"the move to {new}" if new else f"the move out of {old}"
    return ""


def _one(log: Path, line: int, record: Mapping[str, Any], names: Mapping[str, int]) -> int | None:
    """The time that one of these columns has, in ns; None without one, or if it is empty."""
    for name, parts in names.items():
        if text := _text(record, name):
            found = logs.decimal(logs.instant(text) or text)
            if found is None or not 0 <= found / parts < LATEST_S:
                problem = f"{name} is {text[:40]!r}"
                expected = f"a number of at most {LATEST_S} s, or a date and time in ISO 8601"
                raise _bad(
                    log,
                    line,
                    problem,
                    expected,
                    "write its unit in the column's name: time_ms, time_us, time_ns",
                )
            return int((found * (10**9 // parts)).to_integral_value())
    return None


def _text(record: Mapping[str, Any], name: str) -> str:
    return str(record.get(name) or "").strip()


def _bad(log: Path, line: int, problem: str, expected: str, remedy: str) -> BadInput:
    return BadInput(f"{shown(log)}:{line}", problem, expected=expected, remedy=remedy)
