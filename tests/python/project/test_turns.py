"""Long tests take turns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import turns

if TYPE_CHECKING:
    from pathlib import Path


def test_each_long_test_has_its_turn_and_no_day_has_many() -> None:
    table = turns.seconds()
    assert len(table) > 100
    days = range(turns.today(), turns.today() + 2 * math.ceil(sum(table.values()) / turns.A_DAY))
    ran = [table.keys() - turns.not_today(table, day) for day in days]
    assert set.union(*ran) == table.keys()
    longest = max(table.values())
    assert all(sum(table[test] for test in tests) <= turns.A_DAY + longest for tests in ran)
    for day, tests in zip(days, ran, strict=True):
        assert {test.startswith(turns.OF_PAGE) for test in tests} == {turns.has_page(day)}


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
    assert '"tests/python/a.py::test_long[\\"x\\"]" = 7.3\n' in turns.written(found)
