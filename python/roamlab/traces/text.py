"""Reading text files line by line, gzipped or not, with located errors."""

from __future__ import annotations

import gzip
import math
import zlib
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from roamlab.base.errors import BadInput
from roamlab.base.inputs import open_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from roamlab.traces.event import Event

_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
MAX_LINE = 100_000
"""Characters; a longer line is none of a trace."""
LATEST_S = 2**63 // 10**9
"""The latest time that 64 bits of nanoseconds hold, in s."""


def is_text(path: Path) -> bool:
    """True if a path is a file to be read as text; a Parquet table is not."""
    if path.is_dir():
        return False
    with open_file(path, "a trace") as file:
        return file.read(4) != _PARQUET


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, from 1."""
    with open_file(path, "a trace") as file:
        zipped = file.read(2) == _GZIP
    number = 0
    try:
        with gzip.open(path, "rb") if zipped else path.open("rb") as file:
            while raw := file.readline(MAX_LINE + 1):
                number += 1
                if len(raw) > MAX_LINE:
                    raise bad(path, number, 1, "the line has no end", "lines of a text file")
                yield number, raw.decode("utf-8").rstrip("\r\n")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise bad(path, number + 1, 1, f"the gzip file is damaged ({error})", "a whole gzip file") from None
    except UnicodeDecodeError as error:
        raise bad(path, number, error.start + 1, "not UTF-8", "a text file") from None


def bad(path: Path, line: int, column: int, problem: str, expected: str) -> BadInput:
    """A located error; columns are characters, from 1."""
    return BadInput(
        f"{path}:{line}:{column}",
        problem,
        expected=expected,
        remedy="correct the line, or name the right format with --format",
    )


def column(text: str, field: int, separator: str | None = None) -> int:
    """The character, from 1, where a field of a line begins; just behind the line if it has no such field."""
    at = 0
    for index, part in enumerate(text.split(separator)):
        at = text.index(part, at)
        if index == field:
            return at + 1
        at += len(part) + (len(separator) if separator else 0)
    return len(text) + 1


def nanoseconds(seconds: str) -> int | None:
    """A time in s as whole nanoseconds; None if it is not a time."""
    try:
        value = Decimal(seconds)
    except InvalidOperation:
        return None
    return round(value * 10**9) if value.is_finite() and 0 <= value < LATEST_S else None


def real(text: str) -> float | None:
    """A finite number; None if it is not one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def locate(path: Path, event: Event) -> str:
    """Place of an event in a text file."""
    return f"{path}:{event.line}"
