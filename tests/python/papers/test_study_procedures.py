"""The study of procedures: each case can run, and a few of them show what they must."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.studies.procedures import answer, study
from roamlab.studies.procedures.cases import BUDGET, LAWS, Case, cases, procedures, scenario
from roamlab.studies.procedures.measures import QUANTITIES

if TYPE_CHECKING:
    from pathlib import Path


def test_each_combination_that_has_a_meaning_is_a_case() -> None:
    listed = cases()
    with_law = sum(each.law for each in procedures())
    assert len(listed) == len(set(listed)) == 5 * (with_law * len(LAWS) + len(procedures()) - with_law)
    drawn = scenario(Case("Xn", "CUBIC", "sa_mcg")).to_dict()["mobility"]["times"]["handover"]
    assert drawn == {"kind": "measured", "table": "sa_mcg"}
    assert "times" not in scenario(Case("Xn", "CUBIC", BUDGET)).to_dict()["mobility"]


def test_forwarding_and_daps_spare_a_call_what_a_change_without_them_costs(tmp_path: Path) -> None:
    names = ("Xn, no forwarding", "Xn", "DAPS")
    found = study.measure([Case(name, "call", BUDGET) for name in names], 1, tmp_path, 2)
    assert {tuple(values) for values in found.values()} == {tuple(found[Case("Xn", "call", BUDGET)])}
    assert {each.name for each in QUANTITIES["call"]} == set(found[Case("Xn", "call", BUDGET)])
    stall = {name: found[Case(name, "call", BUDGET)]["stall"][0] for name in names}
    forwarded = {name: found[Case(name, "call", BUDGET)]["forwarded"][0] for name in names}
    assert stall["DAPS"] < 0.5 * stall["Xn"] <= 0.5 * stall["Xn, no forwarding"] + 10.0, stall
    assert forwarded["Xn, no forwarding"] == 0.0 < forwarded["Xn"], forwarded


def test_a_stall_much_longer_than_the_middle_one_is_surprising() -> None:
    found = {Case(f"procedure {at}", "CUBIC", BUDGET): {"stall": [100.0]} for at in range(4)}
    odd = Case("odd", "CUBIC", BUDGET)
    assert answer.surprises({**found, odd: {"stall": [201.0]}}) == [odd]
    assert answer.surprises({**found, odd: {"stall": [200.0]}}) == []
