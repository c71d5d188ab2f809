"""Long tests take turns: part of them run each day, and all with `ROAMLAB_DEEP`.

`tests/python/long.toml` names the tests that take longer than `LONG`, with the seconds that each took. They form a
circle in an order by chance. A day takes the next part of the circle, `A_DAY` seconds long, and runs the tests whose
middle is in it. A test that is new or not in the table runs each day.

The playground's page takes several minutes to compile: `make test` builds it, and tests it, every other day. `turns.py
page` fails on a day without it. `turns.py FILE` writes the table from the report of a whole run:
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
LONG = 0.7
"""Seconds of a test that does not run each day."""
TOGETHER = {"tests/python/project/test_site.py"}
"""Modules whose tests share what takes most of their time."""
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
    circle = sorted(table, key=lambda test: hashlib.sha256(test.encode()).digest())
    total = sum(table.values())
    begin, at, others = day * A_DAY % total if total else 0.0, 0.0, set()
    for test in circle:
        if (at + table[test] / 2 - begin) % total >= A_DAY:
            others.add(test)
        at += table[test]
    return others


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
        sys.exit(today() % 2)
    TABLE.write_text(written(measured(sys.argv[1])), encoding="utf-8")
