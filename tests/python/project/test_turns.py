"""Long tests take turns."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import turns
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_each_long_test_has_its_turn_and_no_day_has_many() -> None:
    table = turns.seconds()
    assert len(table) > 100
    days = range(turns.today(), turns.today() + 6 * math.ceil(sum(table.values()) / turns.A_DAY))
    ran = [table.keys() - turns.not_today(table, day) for day in days]
    assert set.union(*ran) == table.keys()
    for day, tests in zip(days, ran, strict=True):
        assert len(tests) == 1 or round(sum(table[test] for test in tests), 1) <= turns.A_DAY
        assert {test.startswith(turns.OF_PAGE) for test in tests} == {turns.has_page(day)}


def test_rusts_long_tests_have_their_turns_on_days_that_are_not_long_without_them() -> None:
    table, python = turns.seconds("rust"), turns.seconds()
    days = range(turns.today(), turns.today() + 16 * math.ceil(sum(table.values()) / turns.A_RUST_DAY))
    ran = {day: table.keys() - turns.not_today_of_rust(table, day) for day in days}
    assert set.union(*ran.values()) == table.keys()
    for day, tests in ran.items():
        assert round(sum(table[test] for test in tests), 1) <= turns.A_RUST_DAY
        of_python = round(sum(python[test] for test in python.keys() - turns.not_today(python, day)), 1)
        assert not tests or of_python <= turns.A_DAY


def test_tests_with_parameters_of_the_day_have_one_turn_together() -> None:
    """Rows with such a parameter would name no test on other days."""
    decorated = re.compile(r"^@pytest\.mark\.parametrize\(.*of_today\(.*\n(?:@.*\n)*def (\w+)", re.MULTILINE)
    found = {
        f"{path.relative_to(ROOT).as_posix()}::{name}"
        for path in (ROOT / "tests/python").rglob("test_*.py")
        for name in decorated.findall(path.read_text(encoding="utf-8"))
    }
    assert found == turns.OF_DAY
    assert not [row for row in turns.seconds() if turns.unit(row) != row]


def test_each_row_of_rust_names_a_test() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "crates").rglob("*.rs")]
    for test in turns.seconds("rust"):
        name = test.rpartition("::")[2]
        assert any(f"fn {name}(" in source for source in sources), (
            f"write {turns.TABLE.name} again (`turns.py rust`): {test}"
        )


def test_each_row_names_a_test() -> None:
    """Where the whole suite is collected."""
    assert turns.STALE == [], f"write {turns.TABLE.name} again (`turns.py`)"


def test_a_report_becomes_the_table(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(
        "<testsuites><testsuite>"
        '<testcase file="tests/python/a.py" name="test_long[&quot;x&quot;]" time="7.26"/>'
        '<testcase file="tests/python/a.py" name="test_short" time="0.1"/>'
        '<testcase file="tests/python/project/test_site.py" name="test_one" time="0.6"/>'
        '<testcase file="tests/python/project/test_site.py" name="test_two" time="0.6"/>'
        "</testsuite></testsuites>"
    )
    found = turns.measured(str(tmp_path / "report.xml"))
    assert found == {'tests/python/a.py::test_long["x"]': 7.3, "tests/python/project/test_site.py": 1.2}
    assert turns.unknown(found, ["tests/python/project/test_site.py::test_one"]) == [
        'tests/python/a.py::test_long["x"]'
    ]
    assert '"tests/python/a.py::test_long[\\"x\\"]" = 7.3\n' in turns.written({"python": found})


def test_the_output_of_rusts_tests_becomes_the_table() -> None:
    found = turns.measured_of_rust(
        "test a::short ... ok <0.100s>\n"
        "test a::long ... ok <1.234s>\n"
        "test a::long ... ok <2.000s>\n"
        "test a::other has been running for over 60 seconds\n"
    )
    assert found == {"a::long": 3.2}
