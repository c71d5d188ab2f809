"""Output vectors of OMNeT++ (.vec): a record for each value (OMNeT++ Simulation Manual, "Native Result Files").

`vector 0 Net.ue[0].phy servingCell:vector ETV` declares vector 0: its module, its name, and the columns of its values:
the number of the event (E), the time in s (T) and the value (V). `0 1209 3.5 1` is a value of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from roamlab.base.errors import BadInput
from roamlab.base.inputs import text_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("time_s", "value", "module", "name", "cell")
"""The fields of a record. `cell` is the value as the number of a cell; 0, which is none in Simu5G, is empty."""
EXPECTED = "output vectors of OMNeT++: a text file in UTF-8"
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|((?:[^\s\\]|\\.)+)')
_ESCAPED = re.compile(r"\\(.)")
_QUOTED = 40


def are_in(log: Path) -> bool:
    """True if the file has the name of a vector file."""
    return log.suffix.lower() == ".vec"


def records(log: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Each value of each vector, with its line. Raises `BadInput` with file and line."""
    declared: dict[str, tuple[str, str, int, int, int]] = {}
    for line, text in enumerate(text_lines(log, EXPECTED), start=1):
        if text[:1].isdigit():
            parts = text.split()
            if parts[0] not in declared:
                raise _bad(log, line, f"no vector {parts[0]} is declared", "declare it, or remove the line")
            module, name, count, time, value = declared[parts[0]]
            if len(parts) != count:
                problem = f"vector {parts[0]} has {count - 1} columns, and this line {len(parts) - 1}"
                raise _bad(log, line, problem, "complete the line: the file may be cut off")
            number = parts[value]
            cell = number.partition(".")[0] if number.strip("0.") else ""
            yield line, {"time_s": parts[time], "value": number, "module": module, "name": name, "cell": cell}
        elif text.startswith("vector"):
            tokens = [_ESCAPED.sub(r"\1", quoted or plain) for quoted, plain in _TOKEN.findall(text)]
            if len(tokens) not in (4, 5) or not tokens[1].isdigit():
                raise _bad(log, line, f"this declares no vector: {text.strip()[:_QUOTED]!r}", "correct it")
            columns = tokens[4] if len(tokens) == 5 else "TV"
            if not {"T", "V"} <= {*columns} <= {"E", "T", "V"}:
                raise _bad(log, line, f"the columns are {columns!r}", "record vectors with times: ETV or TV")
            places = (1 + columns.index("T"), 1 + columns.index("V"))
            declared[tokens[1]] = (tokens[2], tokens[3], 1 + len(columns), *places)
    if not declared:
        raise BadInput(log, "it declares no vector", expected=EXPECTED, remedy="name a .vec file")


def _bad(log: Path, line: int, problem: str, remedy: str) -> BadInput:
    expected = "vector 0 Net.ue[0].phy servingCell:vector ETV, and below it 0 1209 3.5 1"
    return BadInput(f"{log}:{line}", problem, expected=expected, remedy=remedy)
