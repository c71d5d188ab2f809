"""The tables of verdicts on the papers' pages: written from `claims.json`, and complete."""

from __future__ import annotations

import pytest

import test_bcmp
import test_ipf
import test_lte
import test_mblue
import test_ripple
import verdict_rows
from roamlab.statistics import stats
from roamlab.statistics.claims import VERDICTS, Claim, Measure, at_most, greater

IDS = {
    "bcmp": test_bcmp.IDS,
    "ipf": [f"ipf.{name}" for name in test_ipf.IDS],
    "lte": test_lte.IDS,
    "mblue": test_mblue.IDS,
    "ripple": test_ripple.IDS,
}


def test_a_line_has_the_measure_that_decides() -> None:
    good = Measure("depth", stats.student([1.0, 1.1, 1.2, 1.3, 1.4]), "m", greater())
    bad = Measure("share of dives", stats.share_interval(3, 10, 5), "1", at_most(0.01))
    claim = Claim("moby.swims", "", (good, bad), "", "")
    assert verdict_rows.rows([claim.as_dict()]).splitlines()[2:] == [
        "| swims | **contradicted**, 1 of 2 measures hold | share of dives | 0.3 (0.0667 … 0.652) | ≤ 0.01 | 5 |"
    ]
    part = Claim(
        "moby.is", "", (Measure("whales", stats.exact(1), "1", greater()),), "", "", kind="inventory"
    )
    (line,) = verdict_rows.rows([part.as_dict()]).splitlines()[2:]
    assert line == "| is | **holds** (inventory) | whales | 1, the same in every run | > 0 | 1 |"


@pytest.mark.parametrize("paper", IDS)
def test_a_page_has_each_claim_with_a_verdict(paper: str) -> None:
    lines = verdict_rows.between(verdict_rows.page_of(paper)).splitlines()[2:]
    cells = [line.strip("| ").split(" | ") for line in lines]
    assert [f"{paper}.{row[0]}" for row in cells] == IDS[paper]
    assert all(row[1].split("**")[1] in VERDICTS for row in cells)
