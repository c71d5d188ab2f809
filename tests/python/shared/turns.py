"""Long tests take turns: part of them run each day, and all with `ROAMLAB_DEEP`.

`tests/python/long.toml` names the tests that take longer than `LONG`, with the seconds that each took. They form a
circle, in an order by chance. A day takes the next part of the circle and runs the tests whose middle is in it. A test
that is new or not in the table runs each day.

The playground's page takes several minutes to compile: `make test` builds it every fourth day, and that day runs the
long tests that need it in the place of others. `turns.py page` fails on a day without it.

`turns.py FILE` writes the table from the report of a whole run, with the page built:
`ROAMLAB_ALL_TESTS=1 pytest -n 2 -o junit_family=xunit1 --junit-xml=FILE`.
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

A_DAY = 180.0
"""Seconds that the long tests of a day take together, on average."""
A_PAGE_DAY = 60.0
"""The same of a day with the page."""
PAGE_EVERY = 4
"""Days from one page to the next."""
OF_PAGE = (
    "tests/python/captures/test_drawn_captures.py",
    "tests/python/commands/test_output.py::test_a_file_of_the_user_survives[play]",
    "tests/python/pages/test_exercises.py",
    "tests/python/pages/test_gallery.py::test_a_case_runs_from_the_command_line_and_in_the_playground",
    "tests/python/pages/test_gallery.py::test_the_moving_picture_is_that_of_a_run_of_today",
    "tests/python/pages/test_playground.py",
    "tests/python/pages/test_playground_engine.py",
)
"""Names with which tests that need the page begin."""
LONG = 0.7
"""Seconds of a test that does not run each day."""
TOGETHER = {"tests/python/project/test_site.py"}
"""Modules whose tests share what takes most of their time."""
STALE: list[str] = []
"""Rows of the table that name no test of the whole suite, where that is collected."""
TABLE = Path(__file__).parents[1] / "long.toml"


def unit(test: str) -> str:
    """The name of the tests that run on the same day as this one: its module, or the test alone."""
    module = test.partition("::")[0]
    return module if module in TOGETHER else test


def seconds() -> dict[str, float]:
    """Seconds of the long tests, by their names."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))["seconds"]


def not_today(table: dict[str, float], day: int) -> set[str]:
    """The long tests whose turn is another day."""
    of_page = {test: taken for test, taken in table.items() if test.startswith(OF_PAGE)}
    others = {test: taken for test, taken in table.items() if test not in of_page}
    pages = day // PAGE_EVERY
    if has_page(day):
        return others.keys() | _left_out(of_page, pages, A_PAGE_DAY)
    return of_page.keys() | _left_out(others, day - pages - 1, A_DAY)


def has_page(day: int) -> bool:
    """True if the playground's page is built on this day."""
    return day % PAGE_EVERY == 0


def _left_out(table: dict[str, float], part: int, length: float) -> set[str]:
    """The tests that are not in this part of the circle, which has this length in seconds."""
    circle = sorted(table, key=lambda test: hashlib.sha256(test.encode()).digest())
    total = sum(table.values())
    begin, at, left_out = part * length % total if total else 0.0, 0.0, set()
    for test in circle:
        if (at + table[test] / 2 - begin) % total >= length:
            left_out.add(test)
        at += table[test]
    return left_out


def today() -> int:
    """The number of the day, of UTC."""
    return datetime.now(UTC).toordinal()


def measured(report: str) -> dict[str, float]:
    """Seconds of the long tests of a report in JUnit's form."""
    found: defaultdict[str, float] = defaultdict(float)
    for case in ET.parse(report).iter("testcase"):  # the report of our own run
        name = f"{case.attrib['file']}::{case.attrib['name']}"
        found[unit(name)] += float(case.attrib["time"])
    return {test: round(taken, 1) for test, taken in sorted(found.items()) if taken >= LONG}


def written(table: dict[str, float]) -> str:
    """The table as a file."""
    head = "# Tests that do not run each day, and how long each takes; `turns.py` writes this file.\n\n[seconds]\n"
    return head + "".join(f"{_quoted(test)} = {taken}\n" for test, taken in table.items())


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unknown(table: Iterable[str], tests: Iterable[str]) -> list[str]:
    """Rows that name no test."""
    return sorted(set(table) - {unit(test) for test in tests})


if __name__ == "__main__":
    if sys.argv[1] == "page":
        sys.exit(not has_page(today()))
    TABLE.write_text(written(measured(sys.argv[1])), encoding="utf-8")
