"""Long tests take turns: part of them run each day, and all with `ROAMLAB_DEEP`.

`tests/python/long.toml` names the tests that take longer than `LONG`, with the seconds that each took. They are
divided by chance into parts of about equal length. A day runs the tests of the next part. A test that is new or not in
the table runs each day.

Rust's long tests have separate parts: `turns.py rust` prints the arguments with which cargo's test programs leave
out those of other days.

The playground's page takes several minutes to compile: `make test` builds it every fourth day, and that day runs the
long tests that need it in the place of others. `turns.py page` fails on a day without it.

`turns.py FILE` writes the table of Python's tests from the report of a whole run, with the page built:
`ROAMLAB_ALL_TESTS=1 pytest -n 2 -o junit_family=xunit1 --junit-xml=FILE`. `turns.py rust FILE` writes that of Rust's
tests from what `ROAMLAB_ALL_TESTS=1 RUSTC_BOOTSTRAP=1 make test-rust TIMES='-Z unstable-options --report-time'` prints.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

A_DAY = 80.0
"""Seconds that the long tests of Python of a day take together; more, if one test alone takes more."""
A_PAGE_DAY = 50.0
"""The same of a day with the page."""
A_RUST_DAY = 40.0
"""The same of Rust's tests."""
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
"""Seconds of a test of Python that does not run each day."""
LONG_OF_RUST = 1.0
"""The same of Rust."""
TOGETHER = {"tests/python/project/test_site.py"}
"""Modules whose tests share what takes most of their time."""
OF_DAY = {
    "tests/python/captures/test_captured.py::test_planted_causes_are_named_and_none_is_invented",
    "tests/python/captures/test_flagged.py::test_each_difference_from_tshark_has_a_class",
    "tests/python/captures/test_twin.py::test_a_twin_has_the_goodput_and_the_timeouts_of_its_run",
    "tests/python/commands/test_crash.py::test_a_kill_loses_nothing",
    "tests/python/commands/test_screen.py::test_commands_print_no_control_characters",
}
"""Tests whose parameters are those of the day (`conftest.of_today`), so that the names differ from day to day."""
STALE: list[str] = []
"""Rows of the table that name no test of the whole suite, where that is collected."""
TABLE = Path(__file__).parents[1] / "long.toml"


def unit(test: str) -> str:
    """The name of the tests that run on the same day as this one: its module, its function, or the test alone."""
    module, function = test.partition("::")[0], test.partition("[")[0]
    if module in TOGETHER:
        return module
    return function if function in OF_DAY else test


def seconds(language: str = "python") -> dict[str, float]:
    """Seconds of the long tests of Python or of Rust, by their names."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))[language]


def all_run() -> bool:
    """True if the long tests of all days are asked for."""
    return "ROAMLAB_DEEP" in os.environ or "ROAMLAB_ALL_TESTS" in os.environ


def not_today(table: dict[str, float], day: int) -> set[str]:
    """The long tests of Python whose turn is another day."""
    return table.keys() - _of_python(table, day)


def has_page(day: int) -> bool:
    """True if the playground's page is built on this day."""
    return day % PAGE_EVERY == 0


def not_today_of_rust(table: dict[str, float], day: int) -> set[str]:
    """The long tests of Rust whose turn is another day. None runs on a day that is long without them."""
    python = seconds()
    if has_page(day) or round(sum(python[test] for test in _of_python(python, day)), 1) > A_DAY:
        return set(table)
    return table.keys() - _part(table, day, A_RUST_DAY)


def skipped_by_cargo() -> list[str]:
    """The arguments with which Rust's test programs leave out the long tests whose turn is another day."""
    if all_run():
        return []
    others = sorted(not_today_of_rust(seconds("rust"), today()))
    return ["--exact", *(word for test in others for word in ("--skip", test))]


def _of_python(table: dict[str, float], day: int) -> set[str]:
    of_page = {test: taken for test, taken in table.items() if test.startswith(OF_PAGE)}
    pages = day // PAGE_EVERY
    if has_page(day):
        return _part(of_page, pages, A_PAGE_DAY)
    others = {test: taken for test, taken in table.items() if test not in of_page}
    return _part(others, day - pages - 1, A_DAY)


def _part(table: dict[str, float], number: int, length: float) -> set[str]:
    """The tests of a part of this length: those that are longer alone, the others in an order by chance."""
    parts: list[list[str]] = [[]]
    for test in sorted(table, key=lambda test: hashlib.sha256(test.encode()).digest()):
        fitting = [part for part in parts if sum(table[other] for other in part) + table[test] <= length]
        if fitting:
            fitting[0].append(test)
        else:
            parts.append([test])
    return set(parts[number % len(parts)])


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


def measured_of_rust(output: str) -> dict[str, float]:
    """Seconds of the long tests in the output of Rust's test programs. Equal names of two programs are added up."""
    found: defaultdict[str, float] = defaultdict(float)
    for test, taken in re.findall(r"^test (\S+) .*?ok <(\d+\.\d+)s>$", output, re.MULTILINE):
        found[test] += float(taken)
    return {test: round(taken, 1) for test, taken in sorted(found.items()) if taken >= LONG_OF_RUST}


def written(tables: dict[str, dict[str, float]]) -> str:
    """The tables as a file."""
    head = "# Seconds of the tests that do not run each day; `turns.py` writes this file.\n"
    return head + "".join(
        f"\n[{language}]\n" + "".join(f"{_quoted(test)} = {taken}\n" for test, taken in table.items())
        for language, table in tables.items()
    )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unknown(table: Iterable[str], tests: Iterable[str]) -> list[str]:
    """Rows that name no test."""
    return sorted(set(table) - {unit(test) for test in tests})


def main(arguments: list[str]) -> int:
    """The command of this file."""
    match arguments:
        case ["page"]:
            return int(not has_page(today()))
        case ["rust"]:
            sys.stdout.write(" ".join(skipped_by_cargo()))
            return 0
        case ["rust", file]:
            changed = {"rust": measured_of_rust(Path(file).read_text(encoding="utf-8"))}
        case [file]:
            changed = {"python": measured(file)}
        case _:
            sys.stderr.write("expected: turns.py page | rust | rust FILE | FILE\n")
            return 2
    tables = {language: seconds(language) for language in ("python", "rust")}
    TABLE.write_text(written(tables | changed), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
