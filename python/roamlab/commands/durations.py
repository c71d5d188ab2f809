"""Durations in a user's file: a column of a table, the silences of `ping -D`, a schedule of handovers."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput, did_you_mean
from roamlab.base.inputs import text_lines
from roamlab.base.quantities import counted
from roamlab.captures import logs
from roamlab.captures.silences import LEAST_S
from roamlab.traces.logs import BEYOND, QUOTED, UNITS, bad, decimal, matches, records, text_of
from roamlab.traces.text import LATEST_S
from roamlab.traces.tools import PING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

WHAT = ("gap", "interval")
"""How long each event lasts, or how long it is from one to the next."""

_EXPECTED = "a table with a column of durations, the output of `ping -D`, or a schedule of handovers"
_SCHEDULE = {"time_s", "host", "from", "to"}
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
_WITH_UNIT = re.compile(r"-?[\d.,]+\s*(ns|us|µs|ms|s|sec|min|h)")


@dataclass
class Sample:
    """Durations in s, and when events happened, as far as the file tells."""

    what: str
    """A name for axes and tables."""
    values_s: Sequence[float]
    series_s: list[list[float]] = field(default_factory=list)
    """Times of the events; one list for each host, or one for all."""


@dataclass(frozen=True)
class Wanted:
    """The request of the user; see the options of `roamlab fit`."""

    column: str | None = None
    unit: str | None = None
    time: str | None = None
    what: str | None = None
    above_s: float | None = None
    only: Mapping[str, str] = field(default_factory=dict)


def threshold_s(given: str) -> float:
    """The seconds of `--above`: a number of seconds, or a time with its unit. Raises `BadInput`."""
    found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(s|ms|us|ns)?\s*", given)
    seconds = float(found[1]) / UNITS[found[2] or "s"] if found else 0.0
    if seconds <= 0:
        raise BadInput(
            f"--above {given[:QUOTED]}",
            "this is no time above 0",
            expected="a time with its unit",
            remedy="write --above '0.3 s'",
        )
    return seconds


def read(path: Path, wanted: Wanted) -> Sample:
    """The durations in a file. `BadInput` has file, line and field."""
    if path.suffix.lower() == ".toml":
        raise BadInput(
            path,
            "this is TOML, perhaps a scenario",
            expected=_EXPECTED,
            remedy="name the file with the durations; a scenario takes the law that this command prints",
        )
    first = next((line for line in _text(path) if line.strip() and not line.lstrip().startswith("#")), "")
    if PING.match(first):
        _refuse(wanted, "the output of ping", "column", "unit", "time", "only")
        return _of_ping(path, wanted)
    if wanted.above_s is not None:
        raise BadInput(
            "--above",
            "this is a table, and has no pings",
            expected="--above with the output of `ping -D`",
            remedy="leave it out",
        )
    rows = ((line, record) for line, record in records(path) if matches(record, wanted.only))
    beginning = next(rows, None)
    if beginning is None:
        raise BadInput(
            path,
            "no row has what --where asks for" if wanted.only else "there are no rows",
            expected="a row for each duration",
            remedy="look at the values of that column" if wanted.only else "name a file with rows",
        )
    if {*beginning[1]} >= _SCHEDULE and wanted.column is None:
        _refuse(wanted, "a schedule", "unit", "time")
        return _of_schedule(path, [beginning, *rows], wanted)
    return _of_table(
        path, [name for name in beginning[1] if name is not BEYOND], chain([beginning], rows), wanted
    )


def _text(path: Path) -> Iterator[str]:
    """The lines of a file. Raises `BadInput` if it is no text."""
    for line in text_lines(path, _EXPECTED):
        if "\0" in line:
            raise BadInput(
                path,
                "this is no text",
                expected=_EXPECTED,
                remedy="name a text file, in UTF-8, without NUL bytes",
            )
        yield line


def _refuse(wanted: Wanted, what: str, *options: str) -> None:
    for option in options:
        if getattr(wanted, option):
            raise BadInput(
                f"--{'where' if option == 'only' else option}",
                f"this is {what}, in which it changes nothing",
                expected="options of this kind of file",
                remedy="leave it out",
            )


def _of_ping(path: Path, wanted: Wanted) -> Sample:
    """Silences, of lost and of held answers; those that overlap are one."""
    least_s = LEAST_S if wanted.above_s is None else wanted.above_s
    spans: list[tuple[float, float]] = []
    for begin, end in sorted(
        (stall.start_s, stall.start_s + stall.length_s)
        for stall in logs.ping(_text(path), path, least_s).stalls
    ):
        if spans and begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((begin, end))
    begins = [begin for begin, _ in spans]
    if _kind(wanted) == "gap":
        values, what = [end - begin for begin, end in spans], "length of a silence"
    else:
        values = [after[0] - before[1] for before, after in pairwise(spans)]
        what = "time from a silence to the next"
    if not values:
        raise BadInput(
            path,
            f"{counted(len(spans), 'silence is', 'silences are')} longer than {least_s:g} s",
            expected=f"{1 if _kind(wanted) == 'gap' else 2} or more",
            remedy="write a shorter time with --above, or record for longer",
        )
    return Sample(what, values, [begins])


def _kind(wanted: Wanted) -> str:
    return wanted.what or "gap"


def _of_schedule(path: Path, rows: Sequence[tuple[int, dict[str, Any]]], wanted: Wanted) -> Sample:
    hosts: dict[str, list[float]] = {}
    for line, record in rows:
        time = _number(path, line, "time_s", record["time_s"], "s")
        hosts.setdefault(text_of(record["host"]), []).append(time)
    series = [sorted(times) for times in hosts.values()]
    if _kind(wanted) == "interval":
        values = [after - before for times in series for before, after in pairwise(times)]
        if not values:
            raise BadInput(
                path,
                "no host has two handovers",
                expected="two handovers of a host",
                remedy="write --what gap, or name a longer schedule",
            )
        return Sample("interval between handovers", values, series)
    given = [(line, record["gap_s"]) for line, record in rows if text_of(record.get("gap_s"))]
    if not given:
        raise BadInput(
            path,
            "no handover has a gap",
            expected="values in the column gap_s",
            remedy="write --what interval for the times between handovers",
        )
    values = [_number(path, line, "gap_s", value, "s") for line, value in given]
    return Sample("gap of a handover", values, series)


def _of_table(
    path: Path, names: Sequence[str], rows: Iterable[tuple[int, dict[str, Any]]], wanted: Wanted
) -> Sample:
    column = wanted.column or _only_column(path, names)
    unit = _unit(path, column, wanted.unit)
    fields = [(column, unit)]
    if wanted.time:
        fields.append((wanted.time, _unit(path, wanted.time, None)))
    found = [array("d") for _ in fields]
    for line, record in rows:
        if BEYOND in record:
            raise bad(
                path,
                line,
                "the row has more values than the line of names",
                "a value for each name",
                "write decimal points, not commas, or separate the columns by semicolons",
            )
        for values, (name, its_unit) in zip(found, fields, strict=True):
            if name not in record:
                remedy = did_you_mean(name, names, f"write --column {names[-1]}")
                raise bad(path, line, f"there is no column {name!r}", f"one of: {', '.join(names)}", remedy)
            values.append(_number(path, line, name, record[name], its_unit))
    values, column = found[0], column.removesuffix(f"_{unit}")
    if wanted.time:
        return Sample(column, values, [sorted(found[1])])
    if wanted.what == "interval":
        return Sample(column, values, [list(accumulate(values, initial=0.0))])
    return Sample(column, values)


def _only_column(path: Path, names: Sequence[str]) -> str:
    """The one column whose name ends with a unit."""
    timed = [name for name in names if name.rpartition("_")[2] in UNITS and "_" in name]
    if len(timed) == 1:
        return timed[0]
    if len(names) == 1:
        return names[0]
    raise BadInput(
        path,
        f"{len(timed)} of its columns end in a unit of time",
        expected="the name of the column with the durations",
        remedy=f"write --column {(timed or list(names))[-1]}",
    )


def _unit(path: Path, column: str, given: str | None) -> str:
    """The unit of a column: by the end of its name, or as given; both if they agree."""
    end = column.rpartition("_")[2] if "_" in column else ""
    named = end if end in UNITS else None
    if named and given and named != given:
        raise BadInput(
            f"--unit {given}",
            f"the column {column!r} is in {named}, by its name",
            expected="one unit",
            remedy="leave --unit out, or rename the column",
        )
    if not (named or given):
        raise BadInput(
            path,
            f"the column {column!r} has no unit",
            expected="a name that ends in _s, _ms, _us or _ns",
            remedy="write --unit ms, for a column in milliseconds; rename a column for --time",
        )
    return named or given or ""


def _number(path: Path, line: int, name: str, value: Any, unit: str) -> float:
    """A time of a table in s."""
    text = text_of(value)
    found = decimal(text)
    remedy = "correct the value, or choose rows with --where"
    if found is None and _WITH_UNIT.fullmatch(text):
        remedy = f"write the number alone, in {unit}: all values of a column have one unit"
    elif found is None and _DECIMAL_COMMA.fullmatch(text):
        remedy = f"write {text.replace(',', '.')}, with a decimal point"
    seconds = None if found is None else float(found) / UNITS[unit]
    if seconds is None or not 0 <= seconds < LATEST_S:
        shown = f"{name} is {text[:QUOTED]!r}" if text else f"{name} has no value"
        raise bad(path, line, shown, f"a number of {unit}, from 0 to {LATEST_S} s", remedy)
    return seconds
