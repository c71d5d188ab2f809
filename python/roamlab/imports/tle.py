"""Two-line elements of satellites, checked column by column (CelesTrak, "NORAD Two-Line Element Set Format")."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from roamlab.base.errors import BadInput
from roamlab.base.inputs import text_lines
from roamlab.base.quantities import counted
from roamlab.imports.nodes import plain
from roamlab.traces.logs import QUOTED, bad

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

EXPECTED = "two-line elements: for each satellite a line with its name, or none, and the lines 1 and 2"
_NUMBER = (3, 7, r"[0-9A-Z ][0-9 ]{4}", "the number of the satellite, for example 25544")
_ANGLE = r"[ \d]{2}\d\.\d{4}"
_SMALL = r"[ +-]\d{5}[+-]\d"
_FIELDS = {
    "1": (
        _NUMBER,
        (19, 20, r"\d\d", "two digits of the year of the epoch"),
        (21, 32, r"[ \d]{2}\d\.\d{8}", "the day of the epoch, for example 264.51782528"),
        (
            34,
            43,
            r"[ +-][ 0]?\.\d{8}",
            "half of the first derivative of the mean motion, for example -.00002182",
        ),
        (45, 52, _SMALL, "the second derivative of the mean motion, for example  00000-0"),
        (54, 61, _SMALL, "the drag term, for example -11606-4"),
        (65, 68, r"[ \d]{3}\d", "the number of the element set"),
    ),
    "2": (
        _NUMBER,
        (9, 16, _ANGLE, "the inclination in degrees, for example  51.6416"),
        (18, 25, _ANGLE, "the right ascension of the ascending node in degrees, for example 247.4627"),
        (27, 33, r"\d{7}", "the eccentricity, for example 0006703"),
        (35, 42, _ANGLE, "the argument of perigee in degrees, for example 130.5360"),
        (44, 51, _ANGLE, "the mean anomaly in degrees, for example 325.0288"),
        (53, 63, r"[ \d]\d\.\d{8}", "the mean motion in turns a day, for example 15.72125391"),
        (64, 68, r"[ \d]{5}", "the number of turns at the epoch"),
    ),
}
"""The first and the last column of each field (from 1), its form, and what it is."""
_LENGTH = 69


class Elements(NamedTuple):
    """The elements of a satellite, and the line of the file in which they begin."""

    name: str
    """A name that a cell of a scenario may have."""
    one: str
    two: str
    line: int


def read(log: Path) -> tuple[list[Elements], Sequence[str]]:
    """The satellites of a file in its order, and sentences about what is not as in the file.

    A satellite with several sets of elements has the one with the latest epoch. Raises `BadInput` with file, line and
    column.
    """
    found: dict[str, Elements] = {}
    again = 0
    name, one, one_at = "", "", 0
    line = 0
    for line, raw in enumerate(text_lines(log, EXPECTED), start=1):
        text = raw.rstrip()
        if not text or text.startswith("#"):
            continue
        if one:
            _check(log, line, text, "2")
            if text[2:7] != one[2:7]:
                problem = f"line 1 is of satellite {one[2:7]}, and line 2 of {text[2:7]}"
                raise bad(log, line, problem, "both lines of one satellite", "remove what is between them")
            number = one[2:7].strip()
            new = Elements(name or f"sat-{number}", one, text, one_at)
            again += number in found
            if number not in found or _epoch(new) >= _epoch(found[number]):
                found[number] = new
            name = one = ""
        elif text.startswith("1 "):
            _check(log, line, text, "1")
            one, one_at = text, line
        elif text.startswith("2 ") and len(text) >= _LENGTH - 1:
            raise bad(
                log,
                line,
                "line 2 of a satellite has no line 1 above it",
                EXPECTED,
                "add line 1, or remove it",
            )
        else:
            if name or "," in text or text[:1] in "{[<":
                problem = f"this is no line of elements: {text.strip()[:QUOTED]!r}"
                raise bad(
                    log, line, problem, EXPECTED, "fetch the elements in the format TLE, not CSV, JSON or XML"
                )
            name = plain(text.removeprefix("0 "))
    if one or name:
        raise bad(
            log, line, "the last satellite has no line 2" if one else "a name at the end", EXPECTED, "add it"
        )
    if not found:
        raise BadInput(log, "it has no satellite", expected=EXPECTED, remedy="name a file with elements")
    said = [f"{counted(again, 'older set')} of elements left out"] if again else []
    return _named_apart(list(found.values())), said


def _epoch(elements: Elements) -> tuple[int, float]:
    year = int(elements.one[18:20])
    return year + (2000 if year < _FIRST_YEAR else 1900), float(elements.one[20:32])


_FIRST_YEAR = 57
"""Years of two digits begin with Sputnik, 1957."""


def _check(log: Path, line: int, text: str, number: str) -> None:
    """Raise `BadInput` for a line that has another form, or a wrong checksum."""
    if not text.startswith(f"{number} "):
        raise bad(log, line, f"this is no line {number}: {text[:QUOTED]!r}", EXPECTED, f"add line {number}")
    for first, last, form, what in _FIELDS[number]:
        if not re.fullmatch(form, text[first - 1 : last]):
            raise BadInput(
                f"{log}:{line}:{first}",
                f"columns {first} to {last} of line {number} are {text[first - 1 : last]!r}",
                expected=what,
                remedy="each field has its columns: blanks may be lost, or the line is cut off",
            )
    if len(text) != _LENGTH or not text[-1].isdigit():
        problem = f"line {number} has {len(text)} columns, and no checksum in column {_LENGTH}"
        raise bad(
            log, line, problem, f"{_LENGTH} columns", f"fetch it again; its checksum is {checksum(text)}"
        )
    if checksum(text) != int(text[-1]):
        raise BadInput(
            f"{log}:{line}:{_LENGTH}",
            f"the checksum is {text[-1]}, and that of the line is {checksum(text)}",
            expected="the sum of all digits, with 1 for each minus, modulo 10",
            remedy="a digit of the line is wrong: fetch it again",
        )


def checksum(text: str) -> int:
    """The sum of the digits in the first 68 columns, with 1 for each minus, modulo 10."""
    return sum(int(each) if each.isdigit() else each == "-" for each in text[: _LENGTH - 1]) % 10


def _named_apart(satellites: list[Elements]) -> list[Elements]:
    """The same satellites; those of one name have their number behind it."""
    names = [each.name for each in satellites]
    return [
        each._replace(name=f"{each.name}-{each.one[2:7].strip()}") if names.count(each.name) > 1 else each
        for each in satellites
    ]
