"""Main results under other conditions: these reach each paper's scenarios, and sentences are counted from verdicts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from hand_made import FakeResults
from roamlab import papers
from roamlab.papers.bcmp.measures import _left
from roamlab.papers.runs import Batch
from roamlab.running.run import simulate
from roamlab.studies.outcomes import study
from roamlab.studies.outcomes.cases import DURATIONS, PRINTED, SENDERS, results, with_gaps

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.scenarios.scenario import Scenario

LAW = {"kind": "measured", "table": "lte_pcell"}


def test_each_paper_is_asked_for_its_main_results() -> None:
    assert {of.paper for of in results()} == set(papers.names())
    for of in results():
        known = papers.texts(of.paper).claims
        assert set(of.claims) <= set(known)
        assert all(known[name].get("kind", "result") == "result" for name in of.claims)


def test_a_law_is_in_the_field_that_a_protocol_has_for_its_gap() -> None:
    for of in results():
        for scenario in _scenarios(of.paper):
            data, changed = scenario.to_dict(), with_gaps(scenario, "lte_pcell").to_dict()
            if of.paper == "lte":
                assert changed["mobility"]["detach_time"] == LAW
                assert changed.get("radio") == data.get("radio")
            else:
                assert changed["radio"] == {"kind": "hard", "gap": LAW}
                assert changed.get("mobility") == data.get("mobility")


def test_each_sender_of_a_paper_is_replaced_and_keeps_its_packets() -> None:
    for of in results():
        replaced = 0
        for scenario in _scenarios(of.paper):
            own = {flow["name"]: flow.get("transport") for flow in scenario.to_dict()["flows"]}
            replaced += sum((each or {}).get("kind") == "tcp" for each in own.values())
            for condition in SENDERS.conditions:
                changed = {
                    flow["name"]: flow.get("transport")
                    for flow in condition.change(scenario).to_dict()["flows"]
                }
                assert list(changed) == list(own)
                for name, transport in changed.items():
                    if (own[name] or {}).get("kind") != "tcp":
                        assert transport == own[name]
                    elif condition.name == "QUIC":
                        assert transport == {"kind": "quic"}
                    else:
                        assert transport["variant"] == condition.name.lower()
                        assert transport["profile"] == "linux-6"
                        assert transport["segment"] == own[name]["segment"]
                        assert "window" not in transport
        assert replaced


def test_results_that_compare_senders_are_not_asked_of_other_senders() -> None:
    asked = {name for of in SENDERS.results() for name in of.claims}
    assert {name for of in results() for name in of.claims} - asked == {"bcmp.fig6", "bcmp.fig7"}
    assert {of.paper for of in SENDERS.results()} == set(papers.names())


def test_a_question_of_senders_is_answered_from_runs_with_them(tmp_path: Path) -> None:
    (mblue,) = (of for of in SENDERS.results() if of.paper == "mblue")
    found = study.measure(SENDERS, [mblue], 2, tmp_path, 2)
    effects = [
        [each.measured.effect for each in found[name]["mblue.fig12"].measures] for name in SENDERS.names
    ]
    assert len({tuple(each) for each in effects}) == len(SENDERS.names)


def _scenarios(paper: str) -> list[Scenario]:
    """A scenario of a paper with a host that moves, and the last that its claims ask for."""
    asked: list[Scenario] = []

    def note(scenario: Scenario) -> Scenario:
        asked.append(scenario)
        return scenario

    papers.space(paper).ask_whole(Batch(note), range(1))
    return [next(each for each in asked if each.to_dict().get("hosts")), asked[-1]]


def test_a_changed_scenario_is_run_in_the_place_of_the_other(tmp_path: Path) -> None:
    (mblue,) = (of for of in results() if of.paper == "mblue")
    found = study.measure(DURATIONS, [mblue], 2, tmp_path, 2)
    assert list(found) == DURATIONS.names
    batch = Batch()
    decide = papers.space("mblue").ask_whole(batch, range(2))
    batch.make(tmp_path, 2)
    own = {claim.id: claim for claim in decide()}
    for name in mblue.claims:
        assert found[PRINTED][name].measures == own[name].measures
        effects = [[each.measured.effect for each in found[law][name].measures] for law in DURATIONS.names]
        assert effects[0] != effects[1] != effects[2]


def test_a_longer_gap_is_a_longer_silence() -> None:
    """The user plane's law is of silences above 0.1 s, that of signalling rarely of one."""
    scenario = papers.paper("mblue").example()
    gaps = []
    for table in ("lte_pcell", "drive_silence_vzw_2023"):
        rows = simulate(with_gaps(scenario, table), 1).columns("handovers")
        times = {phase: rows["time_ns"][rows.where("phase", phase)] for phase in ("link-down", "link-up")}
        gaps.append(min((times["link-up"][1:] - times["link-down"][: times["link-up"].size - 1]) / 1e9))
    assert 0.013 <= gaps[0] < 0.1 <= gaps[1] <= 3.3


def _claims(**verdicts: str) -> dict[str, Any]:
    return {name: SimpleNamespace(verdict=verdict) for name, verdict in verdicts.items()}


def test_results_that_keep_their_verdict_change_it_or_become_undecided_are_counted() -> None:
    found: Any = {
        PRINTED: _claims(a="holds", b="contradicted", c="holds", d="undecided"),
        "signalling": _claims(a="holds", b="contradicted", c="holds", d="holds"),
        "user plane": _claims(a="holds", b="holds", c="undecided", d="holds"),
    }
    assert study.sentences_of(DURATIONS, found) == [
        "With the law of signalling, 3 of 3 results keep their verdict.",
        "With the law of the user plane, 1 of 3 results keep their verdict; 1 have the other one (b); "
        "1 are undecided (c).",
        "Undecided with the gaps of the papers, in as many runs: d.",
    ]


@pytest.mark.parametrize(("ended", "left"), [([0, 1, 2], [21, 22, 23]), ([0, 1, 3], [21, 22, 23])])
def test_a_visit_that_is_left_out_has_no_router(ended: list[int], left: list[int]) -> None:
    """A host with a long gap may miss visit 2 of bcmp's: then visit 3 follows visit 1."""
    released = [ended[1], ended[2], ended[2] + 1]
    rows = pl.DataFrame(
        {
            "host": ["walker-0"] * 6,
            "phase": ["link-down"] * 3 + ["old-router-released"] * 3,
            "visit": [*ended, *released],
            "node": [""] * 3 + ["21-a", "22-a", "23-a"],
        }
    )
    results: Any = FakeResults(handovers=rows)
    assert _left(results, "walker-0") == left
