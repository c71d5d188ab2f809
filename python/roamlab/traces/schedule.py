"""A log of handovers of any program, as the schedule that a host's plan reads (docs/import.md)."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput
from roamlab.base.inputs import read_text
from roamlab.base.quantities import seconds
from roamlab.traces.text import LATEST_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
_QUOTED = 40
"""Characters of a value that are quoted in an error."""

_LONGEST_NUMBER, _MOST_DIGITS = 100, 30
"""Characters of a number, and digits before its point: a time of the log in ns since 1970 has 19."""

_LINES = (".jsonl", ".ndjson", ".json")


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

    @staticmethod
    def of(named: Mapping[str, str]) -> Fields:
        """From `{"time_ms": "timestamp", ...}`; what is not named is called as in a schedule. Raises `BadInput`."""
        known = {
            *(f"{what}_{unit}" for what in ("time", "gap") for unit in UNITS),
            "time",
            "host",
            "from",
            "to",
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
        )


_WRITTEN = {
    "--where": "a field of the log and the value that it has there, --where type=handover",
    "--column": "our name of a column and that of the log, --column time_ms=timestamp",
}


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` of `--where` or `--column`, each. Raises `BadInput`."""
    for each in given:
        if "=" not in each:
            raise BadInput(
                f"{option} {each}",
                "there is no `=`",
                expected="NAME=VALUE",
                remedy=f"write in one argument {_WRITTEN[option]}, for example",
            )
    return {name: value for name, _, value in (each.partition("=") for each in given)}


def instant(text: str) -> str | None:
    """The seconds since 1970 of a date and time in ISO 8601, as text; None if it is none. Without a zone it is UTC."""
    parts = _DATED.fullmatch(text)
    if parts is None:
        return None
    try:
        time = datetime.fromisoformat(parts[1] + (parts[3] or "Z"))
    except ValueError:
        return None
    whole = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    return str(Decimal(whole) + Decimal(f"0.{(parts[2] or '0')}"))


_DATED = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,12}))?(Z|[+-]\d\d(?::?\d\d)?)?")


def number(option: str, given: str) -> Decimal:
    """A number of an option, or the seconds of a date and time. Raises `BadInput`."""
    given = instant(given) or given
    found = decimal(given)
    if found is None:
        raise BadInput(
            f"{option} {given[:_QUOTED]}",
            "this is no number, or one that no time in ns can be",
            expected="a number",
            remedy=f"{option} 1700000000",
        )
    return found


def decimal(text: str) -> Decimal | None:
    """A number whose every unit of time fits what a schedule may hold, with some room; None for any other text."""
    if len(text) > _LONGEST_NUMBER:
        return None
    try:
        found = Decimal(text)
    except InvalidOperation:
        return None
    return found if found.is_finite() and abs(found) < 10**_MOST_DIGITS else None


def convert(log: Path, fields: Fields, only: Mapping[str, str], begin: Decimal) -> tuple[str, int]:
    """The schedule as text, and how many handovers it has.

    `only`: fields and the values that a record must have to count. `begin`: the log's time in its unit at which a run
    begins. The log is CSV with a line of names, or has a JSON object on each line. `BadInput` has file and line.
    """
    rows = []
    for line, record in records(log):
        if matches(record, only):
            rows.append((*_row(log, line, record, fields, begin), line))
    if not rows:
        raise BadInput(
            log,
            "no record is a handover" if only else "there are no records",
            expected="a record for each handover",
            remedy="look at what --where asks for" if only else "name a log with handovers",
        )
    rows.sort(key=lambda row: (row[0], row[-1]))
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["time_s", "host", "from", "to", "gap_s"])
    for time, host, old, new, gap, _ in rows:
        writer.writerow([_seconds(time), host, old, new, "" if gap is None else _seconds(gap)])
    return written.getvalue(), len(rows)


def matches(record: Mapping[str, Any], only: Mapping[str, str]) -> bool:
    """True if the record has these values in these fields, as text."""
    return all(text_of(record.get(field)) == value for field, value in only.items())


def records(
    log: Path, what: str = "a log of handovers", separator: str = ","
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each record with its line: of CSV with a line of names, or of JSON objects on lines. Raises `BadInput`."""
    text = read_text(log, f"{what}: a text file in UTF-8").removeprefix("\ufeff")
    if log.suffix.lower() not in _LINES:
        before = re.match(r"(?:[ \t]*(?:#[^\n]*)?\n)*", text)
        skipped = before.end() if before else 0
        reader = csv.DictReader(io.StringIO(text[skipped:]), strict=True, delimiter=separator)
        try:
            for record in reader:
                yield text.count("\n", 0, skipped) + reader.line_num, record
        except csv.Error as error:
            raise _bad(
                log, reader.line_num, f"this is no CSV: {error}", "a row of a table", "mend it"
            ) from None
        return
    for line, content in enumerate(text.splitlines(), start=1):
        if not content.strip():
            continue
        try:
            found: Any = json.loads(content, parse_float=str, parse_int=str)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise _bad(
                log, line, "this is no JSON object", 'a record, {"time": 1.5, …}', "name a file of that kind"
            )
        yield line, found


def _row(
    log: Path, line: int, record: Mapping[str, Any], fields: Fields, begin: Decimal
) -> tuple[int, str, str, str, int | None]:
    """Time and gap in ns, host, and the cells that it leaves and enters."""
    for field in (fields.time, fields.host, fields.old, fields.new):
        if field not in record:
            _refuse_other(log, line, record)
            if all(str(name).strip().isdigit() for name in record if name is not None):
                raise _bad(
                    log,
                    line - 1,
                    "the first line has numbers, and no names of columns",
                    "time_s,host,from,to",
                    "write names of columns as the first line; a recorded rate (Mahimahi) is no log of handovers: "
                    f'name it in a cell, rate = {{ trace = "{log.name}" }}',
                )
            known = ", ".join(str(name) for name in record if name is not None) or "none"
            raise _bad(
                log, line, f"the record has no field {field!r}", f"one of: {known}", "name it with --column"
            )
    host, old, new = (text_of(record[field]) for field in (fields.host, fields.old, fields.new))
    when = text_of(record[fields.time])
    dated = instant(when)
    if (dated is not None) != fields.dated:
        expected = "a date and time in ISO 8601" if fields.dated else "a number"
        remedy = "write 2026-05-01T12:00:00.5Z" if fields.dated else f"write --column time={fields.time}"
        raise _bad(log, line, f"{fields.time} is {when!r}", expected, remedy)
    if dated is not None and begin == 0:
        problem = f"{fields.time} is {when!r}, and a run begins at 0"
        raise _bad(log, line, problem, "the time at which a run begins", f"write --begin {when}")
    time = _nanoseconds(log, line, fields.time, dated or when, fields.unit, begin)
    if not host or old == new:
        wrong = f"from {old!r} to {new!r}" if host else "no host"
        raise _bad(log, line, wrong, "a host, and two cells that differ", "choose records with --where")
    for name in (host, old, new):
        if any(letter in ',"' for letter in name) or not name.isprintable():
            expected = "one without commas, quotes, line breaks and characters that cannot be printed"
            raise _bad(log, line, f"the name {name[:_QUOTED]!r}", expected, "rename it")
    given = text_of(record.get(fields.gap)) if fields.gap else ""
    gap = _nanoseconds(log, line, str(fields.gap), given, fields.gap_unit, Decimal(0)) if given else None
    return time, host, old, new, gap


_PING = re.compile(r"^(\[\d+\.\d+\] )?(PING |\d+ bytes from )")
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
    if _PING.match(first):
        raise _bad(
            log,
            line - 1,
            "this is the output of ping, which has no handovers",
            "a log of handovers: time, host, and the cells that it leaves and enters",
            "write a row for each gap in the replies by hand: time_s,host,from,to,gap_s and 1.5,phone,a,b,0.4",
        )
    for separator, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if separator in first and first.count(separator) >= first.count(","):
            raise _bad(
                log,
                line - 1,
                f"the columns are separated by {called}",
                "commas, and numbers with a decimal point",
                f"replace each {separator!r} by a comma, and put quotes around values with a comma; dates are "
                "written 2025-05-03T10:00:00.5Z",
            )
    cells = [name for name in names if _CELLS.search(name)]
    if len(cells) > 1:
        time = next((name for name in names if "time" in name.lower()), names[0])
        host = next((name for name in names if name not in (time, *cells)), "NAME")
        raise _bad(
            log,
            line - 1,
            "its columns have other names",
            "the columns time_s, host, from and to",
            f"name them: --column time_s={time} --column host={host} --column from={cells[0]} --column to={cells[1]}",
        )
    if cells and not {"from", "to"} & {*names}:
        raise _bad(
            log,
            line - 1,
            "this is a series of serving cells, one for each sample",
            "a record for each handover, with the cell before and the one behind it",
            "write a row where the cell changes: time_s,host,from,to and 1.5,phone,301,57",
        )


def _nanoseconds(log: Path, line: int, field: str, value: Any, unit: str, begin: Decimal) -> int:
    found = decimal(text_of(value))
    time = None if found is None else (found - begin) * (10**9 // UNITS[unit])
    if time is None or not 0 <= time < LATEST_S * 10**9:
        raise _bad(
            log,
            line,
            f"{field} is {text_of(value)[:_QUOTED]!r}",
            f"a number of {unit}, not before the begin and at most {LATEST_S} s behind it",
            "see --begin",
        )
    return int(time.to_integral_value())


def text_of(value: Any) -> str:
    """A value of a record as text, without spaces around it."""
    return "" if value is None else str(value).strip()


def _seconds(nanoseconds: int) -> str:
    return seconds(nanoseconds).rstrip("0").rstrip(".")


def _bad(log: Path, line: int, problem: str, expected: str, remedy: str) -> BadInput:
    return BadInput(f"{log}:{line}", problem, expected=expected, remedy=remedy)
