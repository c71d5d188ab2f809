"""The study of prediction: its cases, its sentences for known effects, and its page from real runs."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

import roamlab as rl
from roamlab.commands.runs import study as commands
from roamlab.studies.prediction import study
from roamlab.studies.prediction.cases import (
    FAST,
    FORWARDING,
    PREDICTED,
    QUEUES,
    Case,
    applicable,
    cases,
    combinations,
    scenario,
)
from roamlab.studies.prediction.measures import QUANTITIES

if TYPE_CHECKING:
    import pytest

NOISE = (0.0, 0.1, -0.1, 0.05, -0.05)


def made_up(changes: dict[Case, float]) -> study.Found:
    """Runs that differ by chance only, except the goodput of these cases."""
    return {
        case: {
            quantity.name: [7.0 + changes.get(case, 0.0) * (1 + at) + at for at in NOISE]
            for quantity in QUANTITIES
        }
        for case in cases()
    }


def test_each_combination_is_a_case_or_not_applicable() -> None:
    assert len(combinations()) == len(set(combinations())) == 5 * 2 * 4 * 3
    # Drop-tail and MBLUE do not mark. There are two ways without a prediction, and three with one.
    assert len(cases()) == (2 + 2 * 3) * 5
    assert applicable(Case("none", PREDICTED, "RED", ecn=False)) == "nothing starts the predicted path switch"
    assert applicable(Case("right", FAST, "RED", ecn=False)) == "a prediction starts its own path switch"
    assert applicable(Case("none", FAST, "MBLUE", ecn=True)) == "MBLUE does not mark"


def test_the_scenarios_have_the_predictions_and_marks_of_their_cases() -> None:
    wrong = scenario(Case("wrong cell", PREDICTED, "CoDel", ecn=True)).to_dict()
    assert wrong["mobility"]["predictions"] == [{"host": "ref", "cell": "enb3", "at": "2170 ms"}]
    assert wrong["network"]["tunnel_ecn"] == "normal"
    assert all(flow["transport"]["ecn"] for flow in wrong["flows"])
    plain = scenario(Case("none", FORWARDING, "CoDel", ecn=False)).to_dict()
    assert "predictions" not in plain["mobility"]
    assert "enb3" not in plain["cells"]
    for queue in QUEUES:
        for cell in ("enb1", "enb2"):
            table = scenario(Case("late", PREDICTED, queue, ecn=False)).to_dict()["cells"][cell]
            assert table["backhaul"]["queue"]["limit"] == "90 pkt"


def test_ecn_spares_packets_that_the_same_queue_drops_without_it() -> None:
    dropped = [
        rl.run(scenario(Case("none", FORWARDING, "CoDel", ecn=ecn)), seed=1).flows["dropped_pkts"].sum()
        for ecn in (False, True)
    ]
    assert dropped[1] < dropped[0]


def test_a_right_prediction_leaves_less_to_forward() -> None:
    """The source sends the packets that it has while the path is switched: fewer go by way of X2."""
    forwarded = [
        rl.run(scenario(Case(*way, "drop-tail", ecn=False)), seed=1)
        .releases.filter(host="ref", node="enb1")
        .height
        for way in (("none", FORWARDING), ("right", PREDICTED))
    ]
    assert forwarded[1] < forwarded[0]


def test_a_known_joint_effect_is_named_and_chance_is_not() -> None:
    gain = Case("right", PREDICTED, "CoDel", ecn=False)
    loss = Case("wrong cell", PREDICTED, "drop-tail", ecn=False)
    said = study.sentences_of(study.effects_of(made_up({gain: 2.0, loss: -1.0})))
    assert "CoDel (+2.00)" in said[0]
    assert "with the other 6 queues it is undecided" in said[0]
    assert "Prediction right: more goodput for the mover behind CoDel, less behind none" in said[1]
    assert "Prediction wrong cell: more goodput for the mover behind none, less behind drop-tail" in said[3]
    nothing = study.sentences_of(study.effects_of(made_up({})))
    assert nothing[0].startswith("The joint effect is undecided: with none of 7 queues")


def test_the_short_form_has_a_page_with_all_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(commands.command, ["prediction", "--runs", "1", "--json"])
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert len(data["means"]) == len(cases()) * len(QUANTITIES)
    assert len(data["means"]) + len(QUANTITIES) * len(data["not_applicable"]) == 120 * len(QUANTITIES)
    assert data["buffers"] == []
    with Path("out/prediction/prediction.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(cases())
    text = Path("out/prediction/report.html").read_text(encoding="utf-8")
    assert text.count("<figure ") == 2
    assert "not applicable: a prediction starts its own path switch" in text


def test_the_best_buffer_of_a_case_is_raced(tmp_path: Path) -> None:
    found = study._best_buffer(Case("none", FORWARDING, "drop-tail", ecn=False), 8, tmp_path, 1)
    assert found.tried["runs"].to_list() == [8] * len(study.BUFFERS)
    assert found.cheapest in study.BUFFERS
