"""A log of handovers of any program, as the schedule that a host's plan reads (docs/import.md)."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from roamlab.base.errors import BadInput
from roamlab.base.quantities import seconds
from roamlab.traces.logs import (
    QUOTED,
    UNITS,
    bad,
    columns,
    decimal,
    instant,
    matches,
    missing,
    names_of,
    records,
    text_of,
    whole,
)
from roamlab.traces.text import LATEST_S
from roamlab.traces.tools import PING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Fields:
    """Names of the columns of a schedule in the log. A time's unit is that of the log."""

    time: str
    unit: str
    host: str
    old: str
    new: str
    gap: str | None
    gap_unit: str
    dated: bool = False
    """Times are ISO 8601: date and time of day."""
    cell: str | None = None
    """The serving cell of a sample, in place of the two cells of a handover."""
    level: str | None = None
    """The level of the cell of a sample, in dB: the strongest serves."""

    @staticmethod
    def of(named: Mapping[str, str]) -> Fields:
        """From `{"time_ms": "timestamp", ...}`; what is not named is called as in a schedule. Raises `BadInput`."""
        known = {
            *(f"{what}_{unit}" for what in ("time", "gap") for unit in UNITS),
            "time",
            "host",
            "from",
            "to",
            "cell",
            "level_db",
        }
        for ours in named:
            if ours not in known:
                raise BadInput(
                    f"--column {ours}={named[ours]}",
                    "a schedule has no such column",
                    expected=f"one of {', '.join(sorted(known))}",
                    remedy="write --column time_ms=timestamp, for a field `timestamp` in milliseconds",
                )
        times = [ours for ours in named if ours == "time" or ours.startswith("time_")] or ["time_s"]
        gaps = [ours for ours in named if ours.startswith("gap_")]
        if len(times) > 1 or len(gaps) > 1:
            raise BadInput(
                f"--column {(times if len(times) > 1 else gaps)[1]}",
                "this column is named twice",
                expected="one field for the time and at most one for the gap",
                remedy="leave one out",
            )
        if "level_db" in named and "cell" not in named:
            raise BadInput(
                f"--column level_db={named['level_db']}",
                "a level is that of a cell",
                expected="the field of the cell too",
                remedy="write --column cell=pci, for a field `pci`",
            )
        (time,) = times
        gap = gaps[0] if gaps else None
        return Fields(
            named.get(time, time),
            time.partition("_")[2] or "s",
            named.get("host", "host"),
            named.get("from", "from"),
            named.get("to", "to"),
            named[gap] if gap else None,
            gap.partition("_")[2] if gap else "s",
            dated=time == "time",
            cell=named.get("cell"),
            level=named.get("level_db"),
        )


@dataclass(frozen=True)
class Serving:
    """How samples of cells become handovers."""

    host: str = ""
    """The host of a log that names none."""
    hysteresis_db: float = 0.0
    """How much stronger than the serving cell another one is at a handover, of a log of levels."""


def convert(
    log: Path, fields: Fields, only: Mapping[str, str], begin: Decimal, serving: Serving | None = None
) -> tuple[str, int]:
    """The schedule as text, and how many handovers it has.

    `only`: fields and the values that a record must have to count. `begin`: the log's time in its unit at which a run
    begins. The log is CSV with a line of names, or has a JSON object on each line. It has a record for each handover.
    If `fields` names a cell, it has samples of serving cells or of levels, and handovers follow by `serving`.
    `BadInput` has file and line.
    """
    if fields.cell is not None:
        rows = _of_samples(log, fields, only, begin, serving or Serving())
    else:
        counted = ((line, record) for line, record in records(log) if matches(record, only))
        rows = [(*_row(log, line, record, fields, begin), line) for line, record in counted]
    if not rows:
        raise BadInput(
            log,
            "the cell never changes"
            if fields.cell
            else "no record is a handover"
            if only
            else "there are no records",
            expected="samples of more than one cell" if fields.cell else "a record for each handover",
            remedy="look at what --where asks for" if only else "name a log with handovers",
        )
    rows.sort(key=lambda row: (row[0], row[-1]))
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["time_s", "host", "from", "to", "gap_s"])
    for time, host, old, new, gap, _ in rows:
        writer.writerow([_seconds(time), host, old, new, "" if gap is None else _seconds(gap)])
    return written.getvalue(), len(rows)


def _row(
    log: Path, line: int, record: Mapping[str, Any], fields: Fields, begin: Decimal
) -> tuple[int, str, str, str, int | None]:
    """Time and gap in ns, host, and the cells that it leaves and enters."""
    for field in (fields.time, fields.host, fields.old, fields.new):
        if field not in record:
            _refuse_other(log, line, record)
            if all(str(name).strip().isdigit() for name in record if name is not None):
                raise bad(
                    log,
                    line - 1,
                    "the first line has numbers, and no names of columns",
                    "time_s,host,from,to",
                    "write names of columns as the first line; a recorded rate (Mahimahi) is no log of handovers: "
                    f'name it in a cell, rate = {{ trace = "{log.name}" }}',
                )
            raise missing(log, line, field, record)
    host, old, new = (text_of(record[field]) for field in (fields.host, fields.old, fields.new))
    time = _time(log, line, text_of(record[fields.time]), fields, begin)
    if not host or old == new:
        wrong = f"from {old!r} to {new!r}" if host else "no host"
        raise bad(log, line, wrong, "a host, and two cells that differ", "choose records with --where")
    _check_names(log, line, (host, old, new))
    given = text_of(record.get(fields.gap)) if fields.gap else ""
    gap = _nanoseconds(log, line, str(fields.gap), given, fields.gap_unit, Decimal(0)) if given else None
    return time, host, old, new, gap


@lru_cache(maxsize=1000)
def _is_plain(name: str) -> bool:
    """True for a name that a schedule can hold; rows of a log often have the same names."""
    return name.isprintable() and "," not in name and '"' not in name


def _check_names(log: Path, line: int, names: tuple[str, ...]) -> None:
    for name in names:
        if not _is_plain(name):
            expected = "one without commas, quotes, line breaks and characters that cannot be printed"
            raise bad(log, line, f"the name {name[:QUOTED]!r}", expected, "rename it")


def _time(log: Path, line: int, when: str, fields: Fields, begin: Decimal) -> int:
    """The time of a record in ns from the begin."""
    dated = instant(when)
    if (dated is not None) != fields.dated:
        expected = "a date and time in ISO 8601" if fields.dated else "a number"
        remedy = "write 2026-05-01T12:00:00.5Z" if fields.dated else f"write --column time={fields.time}"
        raise bad(log, line, f"{fields.time} is {when!r}", expected, remedy)
    if dated is not None and begin == 0:
        problem = f"{fields.time} is {when!r}, and a run begins at 0"
        raise bad(log, line, problem, "the time at which a run begins", f"write --begin {when}")
    return _nanoseconds(log, line, fields.time, dated or when, fields.unit, begin)


class _Sample(NamedTuple):
    time: int
    host: str
    cell: str
    level: float
    line: int


_Row = tuple[int, str, str, str, int | None, int]
"""Time of a handover in ns, host, the cell that it leaves and the one that it enters, its gap, and the line."""


class _UnorderedError(Exception):
    """A sample is older than one before it of the same host."""


def _of_samples(
    log: Path, fields: Fields, only: Mapping[str, str], begin: Decimal, serving: Serving
) -> list[_Row]:
    """The handovers of a log of samples. A log in the order of time is not kept whole."""
    hysteresis = serving.hysteresis_db if fields.level else None
    try:
        return list(_handovers(log, _samples(log, fields, only, begin, serving), hysteresis))
    except _UnorderedError:
        samples = sorted(_samples(log, fields, only, begin, serving), key=lambda each: (each.time, each.line))
        return list(_handovers(log, samples, hysteresis))


def _samples(
    log: Path, fields: Fields, only: Mapping[str, str], begin: Decimal, serving: Serving
) -> Iterator[_Sample]:
    """The samples of cells. Without a cell the host is in none."""
    wanted = [fields.time, str(fields.cell)]
    wanted += [fields.level] if fields.level else []
    names = names_of(log)
    if not serving.host:
        if names and fields.host not in names:
            raise bad(log, 1, "the log names no host", f"one of: {', '.join(names)}", "write --host phone")
        wanted.append(fields.host)
    at_host = None if serving.host else len(wanted) - 1
    last, time = "", 0
    for line, values in columns(log, wanted, only):
        host = serving.host if at_host is None else values[at_host].strip()
        cell = values[1].strip()
        _check_names(log, line, (host, cell))
        if not host:
            raise bad(log, line, "no host", "the name of a host", "write --host phone")
        level = _level(log, line, fields.level, values[2].strip()) if fields.level else 0.0
        when = values[0].strip()
        if when != last:
            last, time = when, _time(log, line, when, fields, begin)
        yield _Sample(time, host, cell, level, line)


def _level(log: Path, line: int, field: str, text: str) -> float:
    found = decimal(text)
    if found is None:
        problem = f"{field} is {text[:QUOTED]!r}"
        raise bad(log, line, problem, "a number of dB or dBm", "correct it, or choose records with --where")
    return float(found)


class _Host:
    """A host, whose samples come in the order of time. `hysteresis_db` is None of samples of one cell at each time.

    Of several cells at one time the serving one stays, until another is stronger by more than the hysteresis, or until
    it is not among them.
    """

    def __init__(self, log: Path, first: _Sample, hysteresis_db: float | None) -> None:
        self._log, self._hysteresis_db = log, hysteresis_db
        self._serving: str | None = None
        self._last = first
        self._levels = {first.cell: first.level}

    def add(self, sample: _Sample) -> _Row | None:
        """The handover at the time before, if the sample is of another one and there was a handover."""
        if sample.time < self._last.time:
            raise _UnorderedError
        found = None
        if sample.time > self._last.time:
            if sample.cell == self._serving and len(self._levels) == 1 and sample.cell in self._levels:
                # The usual case: the cell that serves, and no other.
                self._last, self._levels[sample.cell] = sample, sample.level
                return None
            found = self.end()
            self._levels = {}
        self._last = sample
        log, line, levels = self._log, sample.line, self._levels
        if levels.setdefault(sample.cell, sample.level) != sample.level:
            expected = "one level of each cell at each time"
            raise bad(log, line, f"the cell {sample.cell!r} has two levels", expected, "remove one")
        if self._hysteresis_db is None and len(levels) > 1:
            expected, remedy = "one cell at each time, or levels", "write --column level_db=rsrp"
            raise bad(log, line, "there are two cells at one time", expected, remedy)
        return found

    def end(self) -> _Row | None:
        """The handover at the last time, if there was one."""
        levels, before = self._levels, self._serving
        best = max(levels, key=lambda cell: levels[cell])
        if before in levels and levels[best] <= levels[before] + (self._hysteresis_db or 0.0):
            best = before
        self._serving = best
        if before is None or best == before:
            return None
        return self._last.time, self._last.host, before, best, None, self._last.line


def _handovers(log: Path, samples: Iterable[_Sample], hysteresis_db: float | None) -> Iterator[_Row]:
    """A row for each change of the cell of a host. The samples of each host are in the order of time."""
    hosts: dict[str, _Host] = {}
    for sample in samples:
        host = hosts.get(sample.host)
        if host is None:
            hosts[sample.host] = _Host(log, sample, hysteresis_db)
        elif row := host.add(sample):
            yield row
    for host in hosts.values():
        if row := host.end():
            yield row


_CELLS = re.compile(r"(^|[\W_])(pci|cell|cellid|cell_id|eci|enb|bssid|gnb|nci)($|[\W_])", re.IGNORECASE)


def _refuse_other(log: Path, line: int, record: Mapping[str, Any]) -> None:
    """Raise `BadInput` for a file that is no log of handovers, if its first line shows its kind."""
    names = [str(name) for name in record if name is not None]
    first = ",".join(names)
    if log.suffix.lower() == ".toml":
        raise BadInput(
            log,
            "this is TOML, perhaps a scenario",
            expected="a log of handovers: a table with a header, or a JSON object in each line",
            remedy="name the log; a scenario names the schedule that this command prints, as `plan.file`",
        )
    if PING.match(first):
        raise bad(
            log,
            line - 1,
            "this is the output of ping, which has no handovers",
            "a log of handovers: time, host, and the cells that it leaves and enters",
            "write --as delay for its delays; for handovers write a row for each gap in the replies by hand: "
            "time_s,host,from,to,gap_s and 1.5,phone,a,b,0.4",
        )
    cells = [name for name in names if _CELLS.search(name)]
    if len(cells) > 1:
        time = next((name for name in names if "time" in name.lower()), names[0])
        host = next((name for name in names if name not in (time, *cells)), "NAME")
        raise bad(
            log,
            line - 1,
            "its columns have other names",
            "the columns time_s, host, from and to",
            f"name them: --column time_s={time} --column host={host} --column from={cells[0]} --column to={cells[1]}",
        )
    if cells and not {"from", "to"} & {*names}:
        time = next((name for name in names if "time" in name.lower()), names[0])
        raise bad(
            log,
            line - 1,
            "this is a series of serving cells, one for each sample",
            "a record for each handover, or the name of the column of the cell",
            f'name it: --column time="{time}" --column cell="{cells[0]}" --host phone, with time_s, time_ms, … for '
            "numbers; a handover is where the cell changes",
        )


_POWERS_NS = {"s": 9, "ms": 6, "us": 3, "ns": 0}
"""The power of ten that makes a time of a unit ns."""
_LATEST_NS = LATEST_S * 10**9


@lru_cache(maxsize=2)
def _start_ns(begin: Decimal, power: int) -> int | Decimal:
    start = begin * 10**power
    return int(start) if start == int(start) else start


def _nanoseconds(log: Path, line: int, field: str, value: Any, unit: str, begin: Decimal) -> int:
    power, text = _POWERS_NS[unit], text_of(value)
    start = _start_ns(begin, power)
    if isinstance(start, int):
        found = whole(text, power)
        time = None if found is None else found - start
    else:
        exact = decimal(text)
        time = None if exact is None else int((exact * 10**power - start).to_integral_value())
    if time is None or not 0 <= time < _LATEST_NS:
        raise bad(
            log,
            line,
            f"{field} is {text_of(value)[:QUOTED]!r}",
            f"a number of {unit}, not before the begin and at most {LATEST_S} s behind it",
            "see --begin",
        )
    return time


def _seconds(nanoseconds: int) -> str:
    return seconds(nanoseconds).rstrip("0").rstrip(".")
