"""The final verdict of a claim: over all that its paper leaves open, as far as a search has tried it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pages import Page
from roamlab import papers
from roamlab.papers import reporting, robustness
from roamlab.showing import cards, matrix, report
from roamlab.showing.matrix import Change, Matrix
from roamlab.showing.report import Report
from roamlab.statistics import claims, stats
from roamlab.statistics.claims import Claim, FinalVerdict, Measure, Verdict, greater

_OPEN, _RULED_OUT = {"T_B": "uniform"}, {"T_B": "uniform", "P_max": "0.1"}
"""Of MBLUE's choices: a change that its text permits, and one with a value that its table II rules out."""
_EFFECTS: dict[Verdict, list[float]] = {
    "holds": [1.0, 1.1, 1.2, 1.3, 1.4],
    "contradicted": [-1.0, -1.1, -1.2, -1.3, -1.4],
    "undecided": [-1.0, -0.5, 0.0, 0.5, 1.0],
}


def _claim(verdict: Verdict) -> Claim:
    measured = stats.student(_EFFECTS[verdict])
    return Claim("mblue.claim", "It swims", (Measure("depth", measured, "m", greater()),), "", "")


def _record(turn: dict[str, str] | None, fresh: Verdict | None, default: Verdict = "holds") -> dict[str, Any]:
    """Result of a search in which one claim turned under this setting."""
    again = {"verdict": fresh, "measured": "depth: -1.2 m, claimed > 0", "runs": 30}
    return {
        "engine": "another",
        "code": "another",
        "settings": 200,
        "drawn": 70,
        "runs": 8,
        "axes": {"T_B": ["worst", "uniform"], "P_max": ["0.02", "0.1"]},
        "says": {"T_B": '"T_B 50 ms" (table I): open; A2'},
        "map": {"mblue.claim": [[0.5, 0.25], [0.5, 0.25]]},
        "claims": {
            "mblue.claim": {
                "default": default,
                "robustness": "on record",
                "turns_under": turn,
                "fresh_runs": again if fresh else None,
                "shares": {"holds": [0.4, 0.3, 0.5]},
                "nearest": {"line": "P_max 0.1: within the claimed range", "setting": {"P_max": "0.1"}},
            }
        },
        "alone": [
            {"setting": {}, "claims": {"mblue.claim": {"verdict": default}}},
            {"setting": _OPEN, "claims": {"mblue.claim": {"verdict": fresh or default}}},
            {"setting": {"P_max": "0.1"}, "claims": {"mblue.claim": {"verdict": fresh or default}}},
        ],
    }


def _final(default: Verdict, turn: dict[str, str] | None, fresh: Verdict | None) -> Claim:
    (claim,) = robustness.Known.of(_record(turn, fresh)).decide("mblue", [_claim(default)])
    assert claim.verdict == default, "the measured verdict stays"
    return claim


@pytest.mark.parametrize(
    ("default", "turn", "fresh", "final"),
    [
        ("holds", None, None, "holds"),
        ("holds", _OPEN, "contradicted", "depends"),
        ("holds", _OPEN, "undecided", "holds"),
        ("holds", _OPEN, None, "holds"),
        ("holds", _OPEN, "holds", "holds"),
        ("contradicted", None, None, "contradicted"),
        ("contradicted", _OPEN, "holds", "depends"),
        ("contradicted", _OPEN, "contradicted", "contradicted"),
        ("contradicted", _OPEN, None, "contradicted"),
        ("undecided", None, None, "undecided"),
        ("undecided", _OPEN, "holds", "depends"),
        ("undecided", _OPEN, "contradicted", "undecided"),
        ("holds", _RULED_OUT, "contradicted", "holds"),
        ("contradicted", _RULED_OUT, "holds", "contradicted"),
        ("undecided", _RULED_OUT, "holds", "undecided"),
    ],
)
def test_the_final_verdict(
    default: Verdict, turn: dict[str, str] | None, fresh: Verdict | None, final: FinalVerdict
) -> None:
    """A turn counts if fresh runs confirm it and the text permits it."""
    claim = _final(default, turn, fresh)
    assert claim.final == final
    assert claim.as_dict()["depends_on"] == (turn if final == "depends" else None)


def test_a_claim_that_was_not_searched_keeps_the_measured_verdict() -> None:
    other = replace(_claim("contradicted"), id="mblue.other", kind="inventory")
    assert robustness.Known.of(_record(_OPEN, "holds")).decide("mblue", [other]) == [other]
    assert (other.final, other.as_dict()["share_holds"]) == ("contradicted", None)
    assert set(cards.MARKS) == set(claims.FINAL_VERDICTS)


def test_too_few_runs_leave_it_undecided() -> None:
    few = replace(_claim("undecided").measures[0], measured=stats.student([1.0, 2.0]))
    claim = replace(_final("undecided", _OPEN, "holds"), measures=(few,))
    assert claim.final == "undecided"


def test_json_has_both_verdicts(tmp_path: Path) -> None:
    claims.write_json([_final("holds", _OPEN, "contradicted")], tmp_path / "claims.json")
    (found,) = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert {name: found[name] for name in ("verdict", "verdict_default", "depends_on", "share_holds")} == {
        "verdict": "depends",
        "verdict_default": "holds",
        "depends_on": {"T_B": "uniform"},
        "share_holds": [0.4, 0.3, 0.5],
    }


def test_all_that_shows_a_verdict_shows_the_final_one(tmp_path: Path) -> None:
    claim = _final("holds", _OPEN, "contradicted")
    known = robustness.Known.of(_record(_OPEN, "contradicted"))
    assert reporting.headline([claim]).startswith("The claim of the paper's abstract depends on a choice")
    assert reporting.headline([claim] * 2) == "2 claims of the paper's abstract were tested: 2 depend"
    assert claims.tally([claim]) == "1 result: 1 depends"
    assert claims.tally([claim] * 2) == "2 results: 2 depend"
    assert claims.remarks([claim]) == (
        "mblue.claim:\n  holds under the default; contradicted in 30 further runs with another choice: T_B: uniform"
    )
    facts = known.facts("mblue", claim)
    assert facts == {
        "depends on": "T_B: uniform",
        "with this change": "contradicted in 30 further runs: depth: -1.2 m, claimed > 0",
        "holds in": "40 % (30 … 50) of the 70 settings that were drawn at random",
        "nearest setting": "P_max 0.1: within the claimed range. The text rules out: P_max",
        "the paper on it": 'T_B: "T_B 50 ms" (table I): open; A2',
    }
    page = tmp_path / "report.html"
    made = Report("Moby", "", "", [claim], [], [], [], [], [], facts={claim.id: facts})
    report.write(replace(made, matrix=known.matrix("mblue", [claim])), page)
    found = Page(page.read_text(encoding="utf-8"))
    for said in ("± depends", "under the default holds", *facts.values(), matrix.TITLE):
        assert said in found.text


def test_a_turn_that_the_text_rules_out_is_named() -> None:
    claim = _final("contradicted", _RULED_OUT, "holds")
    facts = robustness.Known.of(_record(_RULED_OUT, "holds")).facts("mblue", claim)
    assert facts["turn that does not count"] == "T_B: uniform, P_max: 0.1. The text rules out: P_max"
    assert "depends on" not in facts
    assert facts["not confirmed by further runs"] == "holds in 8 runs with one of: T_B: uniform"


def test_the_matrix_marks_what_changes_and_what_the_text_rules_out() -> None:
    other = replace(_claim("undecided"), id="mblue.other")
    known = robustness.Known.of(_record(_OPEN, "contradicted"))
    made = known.matrix("mblue", [other, *known.decide("mblue", [_claim("holds")])])
    assert made == Matrix(
        [("mblue.other", "undecided"), ("mblue.claim", "depends")],
        [
            Change("the default, on record", False, [None, "holds"]),
            Change("T_B: uniform", False, [None, "contradicted"]),
            Change("P_max: 0.1", True, [None, "contradicted"]),
        ],
        known.source("mblue"),
    )
    text = matrix.html(made, "moby/report.html")
    assert text.count('aria-label="contradicted, other than under the default"') == 2
    assert text.count('aria-label="not searched"') == 3
    assert 'href="moby/report.html#mblue.claim"' in text
    assert "P_max: 0.1, ruled out by the text" in text


@pytest.mark.parametrize("paper", papers.names())
def test_turns_of_the_records_are_on_choices_that_there_are(paper: str) -> None:
    """So that a value that the text rules out is found as one."""
    record = json.loads((Path(papers.__path__[0]) / paper / robustness.RECORD).read_text(encoding="utf-8"))
    axes = {axis.what: {value.label for value in axis.values} for axis in robustness.spaces.axes(paper)}
    for claim in record["claims"].values():
        for what, value in (claim["turns_under"] or {}).items():
            assert value in axes[what], (what, value)


def test_a_card_names_each_confirmed_change() -> None:
    record = _record(_OPEN, "contradicted")
    turn, other = (
        {"setting": setting, "fresh_runs": {"verdict": verdict, "measured": "", "runs": 30}}
        for setting, verdict in ((_OPEN, "contradicted"), ({"RTO floor": "1 s"}, "contradicted"))
    )
    not_confirmed = {**other, "setting": {"empty by": "event"}, "fresh_runs": {"verdict": "undecided"}}
    record["claims"]["mblue.claim"]["turns"] = [turn, other, not_confirmed]
    known = robustness.Known.of(record)
    (claim,) = known.decide("mblue", [_claim("holds")])
    assert known.facts("mblue", claim)["or on"] == "RTO floor: 1 s"
