"""The chain of causes behind a row, as a frame and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from roamlab.base.errors import BadInput
from roamlab.records.why import lines, why
from roamlab.running.run import run

if TYPE_CHECKING:
    from roamlab.scenarios.scenario import Scenario


def test_a_chain_ends_at_its_root(scenario: Scenario) -> None:
    chain = why(run(scenario), "drops", 0)
    assert chain["id"].to_list() == [3, 2, 1]
    assert chain["kind"].cast(pl.String).to_list() == ["loss", "phase", "motion"]
    assert chain["cause"].to_list() == [2, 1, -1]
    assert why(run(scenario), "causes", 2)["id"].to_list() == [2, 1]


def test_a_chain_as_text(scenario: Scenario) -> None:
    assert lines(run(scenario), "drops", 0) == [
        "drops 0: time_ns 5, place bs2/air, reason early-drop, seq 0, data False, sent_ns 0, serial 0, forwarded True",
        "  0.000000005 loss detached at bs2/air, flow moving, segment 7, packet 12",
        "    0.000000003 phase link-down, host mh",
        "      0.000000002 motion, host mh",
    ]


def test_a_row_that_nothing_led_to(scenario: Scenario) -> None:
    assert why(run(scenario), "drops", 2).is_empty()
    assert lines(run(scenario), "drops", 2)[1:] == ["  nothing led to it that is recorded"]


@pytest.mark.parametrize(
    ("table", "row", "report"),
    [
        ("flows", 0, "table 'flows': its rows have no causes\n  expected: one of deliver.*"),
        ("drops", 3, "row 3: the table drops has 3 rows\n  expected: a number from 0 to 2\n"),
        ("drops", -1, "row -1: the table drops has 3 rows\n"),
    ],
)
def test_a_wrong_table_or_row_is_named(scenario: Scenario, table: str, row: int, report: str) -> None:
    with pytest.raises(BadInput, match=report.replace("deliver", "drops, tcp")):
        why(run(scenario), table, row)
