"""Logs of any program: tables with a line of names, JSON objects, output vectors of OMNeT++ (docs/import.md)."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput
from roamlab.base.inputs import text_lines
from roamlab.traces import vectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
"""Units of times, each with its parts of a second."""
BEYOND: Any = None
"""The field of a record with the values for which a table has no name."""
QUOTED = 40
"""Characters of a value that are quoted in an error."""

_LONGEST_NUMBER, _MOST_DIGITS = 100, 30
"""Characters of a number, and digits before its point: a time of the log in ns since 1970 has 19."""

_LINES = (".jsonl", ".ndjson", ".json")
EXPECTED = "a log: a text file in UTF-8"

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
    """The seconds since 1970 of a date and time, as text; None if it is none. Without a zone it is UTC.

    It is in ISO 8601, or in the form of G-NetTrack: 2019.12.14_10.16.30.
    """
    if text[4:5] == "." and (points := _POINTS.fullmatch(text)):
        text = "{}-{}-{}T{}:{}:{}".format(*points.groups())
    parts = _DATED.fullmatch(text)
    whole = None if parts is None else _second(parts[1] + (parts[3] or "Z"))
    if parts is None or whole is None:
        return None
    if whole >= 0:
        return f"{whole}.{parts[2] or '0'}"
    return str(Decimal(whole) + Decimal(f"0.{(parts[2] or '0')}"))


@lru_cache(maxsize=1000)
def _second(text: str) -> int | None:
    """The seconds since 1970 of a date and time without a fraction; rows of a log often have the same second."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)


_DATED = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,12}))?(Z|[+-]\d\d(?::?\d\d)?)?")


_POINTS = re.compile(r"(\d{4})\.(\d\d)\.(\d\d)_(\d\d)\.(\d\d)\.(\d\d(?:\.\d+)?)")


def number(option: str, given: str) -> Decimal:
    """A number of an option, or the seconds of a date and time. Raises `BadInput`."""
    given = instant(given) or given
    found = decimal(given)
    if found is None:
        raise BadInput(
            f"{option} {given[:QUOTED]}",
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


_TENS: list[int] = [10**power for power in range(13)]


def whole(text: str | None, power: int) -> int | None:
    """A number times a power of ten, rounded; None: it is none."""
    if text is None:
        return None
    # The usual cases, much faster than a decimal number.
    if len(text) < _MOST_DIGITS and text.isascii():
        if text.isdecimal():
            return int(text) * _TENS[power]
        before, _, fraction = text.partition(".")
        if fraction.isdecimal() and before.isdecimal() and len(fraction) <= power:
            return int(before + fraction) * _TENS[power - len(fraction)]
    found = decimal(text.strip())
    return None if found is None else int((found * 10**power).to_integral_value())


def of_lines(log: Path) -> bool:
    """True if the log has a JSON object on each line."""
    return log.suffix.lower() in _LINES


def names_of(log: Path) -> Sequence[str]:
    """The fields of each record of a log; none if its records may differ. Raises `BadInput`."""
    if vectors.are_in(log):
        return vectors.NAMES
    return () if of_lines(log) else Table(log).names


def records(log: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each record with its line. `BadInput` has file and line."""
    if vectors.are_in(log):
        yield from vectors.records(log)
        return
    if of_lines(log):
        yield from _objects(log)
        return
    table = Table(log)
    for line, row in table.rows():
        record: dict[str, Any] = dict(zip(table.names, row, strict=False))
        record.update(dict.fromkeys(table.names[len(row) :]))
        if len(row) > len(table.names):
            record[BEYOND] = row[len(table.names) :]
        yield line, record


def matches(record: Mapping[str, Any], only: Mapping[str, str]) -> bool:
    """True if the record has these values in these fields, as text."""
    return all(text_of(record.get(field)) == value for field, value in only.items())


def columns(log: Path, names: Sequence[str], only: Mapping[str, str]) -> Iterator[tuple[int, Sequence[str]]]:
    """The values of some fields, of each record in which those of `only` have their value, with its line.

    `BadInput` has file and line.
    """
    if of_lines(log) or vectors.are_in(log):
        for line, record in records(log):
            if only and not matches(record, only):
                continue
            try:
                yield line, [text_of(record[name]) for name in names]
            except KeyError as absent:
                raise missing(log, line, absent.args[0], record) from None
        return
    table = Table(log)
    for name in (*names, *only):
        if name not in table.names:
            raise missing(log, table.line, name, table.names)
    places = [table.names.index(name) for name in names]
    wanted = [(table.names.index(name), value) for name, value in only.items()]
    chosen = itemgetter(*places)
    longest = max([*places, *(place for place, _ in wanted)])
    for line, row in table.rows():
        if len(row) <= longest:
            problem = f"the row has {len(row)} fields, and the line of names has {len(table.names)}"
            raise bad(log, line, problem, "a field for each name", "complete the row, or remove it")
        if not wanted or all(row[place].strip() == value for place, value in wanted):
            yield line, chosen(row)


class Table:
    """A table with a line of names: separated by commas, or by semicolons, tabs or bars.

    Where commas do not separate, a number may have a decimal comma.
    """

    def __init__(self, log: Path) -> None:
        """Read the line of names. Raises `BadInput`."""
        self._log = log
        self._lines = text_lines(log, EXPECTED)
        self.line = 0
        """The line of the names."""
        header = ""
        for header in self._lines:
            self.line += 1
            if header.strip() and not header.lstrip().startswith("#"):
                break
        others = [
            each for each in ";\t|" if header.count(each) > 0 and header.count(each) >= header.count(",")
        ]
        self._separator = others[0] if others else ","
        self._reader = csv.reader(chain([header], self._lines), delimiter=self._separator, strict=True)
        self.names = [name.strip().removeprefix("% ") for name in self._next() or []]
        """The names of the columns. In files of ns-3 the first one has a percent sign."""

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Each row that is not empty, with its line. Raises `BadInput`."""
        first, reader = self.line - 1, self._reader
        try:
            for row in reader:
                if len(row) > 1 or (row and row[0].strip()):
                    if self._separator != ",":
                        row = [_DECIMAL_COMMA.sub(r"\1.\2", each) if "," in each else each for each in row]
                    yield first + reader.line_num, row
        except csv.Error as error:
            raise self._no_csv(error) from None

    def _next(self) -> list[str] | None:
        try:
            return next(self._reader, None)
        except csv.Error as error:
            raise self._no_csv(error) from None

    def _no_csv(self, error: csv.Error) -> BadInput:
        line = self.line - 1 + self._reader.line_num
        return bad(self._log, line, f"this is no CSV: {error}", "a row of a table", "mend it")


_DECIMAL_COMMA = re.compile(r"^\s*([-+]?\d*),(\d+)\s*$")


_DECODER = json.JSONDecoder(parse_float=str, parse_int=str)
"""One for all lines: `json.loads` makes one for each."""


def _objects(log: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, content in enumerate(text_lines(log, EXPECTED), start=1):
        text = content.strip()
        if not text:
            continue
        try:
            found, end = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            found, end = None, 0
        if not isinstance(found, dict) or end < len(text):
            expected = 'a record, {"time": 1.5, …}'
            raise bad(log, line, "this is no JSON object", expected, "name a file of that kind")
        yield line, found


def missing(log: Path, line: int, name: str, known: Any) -> BadInput:
    """The error for a record, or a table, without a field."""
    names = ", ".join(str(each) for each in known if each is not None) or "none"
    return bad(log, line, f"the record has no field {name!r}", f"one of: {names}", "name it with --column")


def text_of(value: Any) -> str:
    """The value of a field as text."""
    return "" if value is None else str(value).strip()


def bad(log: Path, line: int, problem: str, expected: str, remedy: str) -> BadInput:
    """A fault of a line of a log."""
    return BadInput(f"{log}:{line}", problem, expected=expected, remedy=remedy)
