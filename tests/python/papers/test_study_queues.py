"""The study of queues: its cases, its sentences for each verdict, its page and its CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pages import Page
from roamlab.commands.runs import study as commands
from roamlab.statistics.stats import paired
from roamlab.studies.queues import answer, measures, study
from roamlab.studies.queues.answer import Verdict
from roamlab.studies.queues.cases import EXEMPTION, FORWARDING, NOTHING, QUEUES, WAYS, Case, cases, scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.studies.queues.answer import Found

NOISE = (0.0, 0.1, -0.1, 0.05, -0.05)


def made_up(changes: dict[Case, dict[str, float]], runs: Sequence[float] = NOISE) -> Found:
    """Runs that differ by chance only, except these quantities of these cases."""
    return {
        case: {
            quantity.name: [7.0 + changes.get(case, {}).get(quantity.name, 0.0) + each * at for each in runs]
            for at, quantity in enumerate(measures.QUANTITIES, start=1)
        }
        for case in cases()
    }


def of(queue: str, way: str, **changes: float) -> dict[Case, dict[str, float]]:
    """The same change under Reno, CUBIC and BBR."""
    return dict.fromkeys(answer.of_controls(queue, way), changes)


def test_each_combination_that_has_a_meaning_is_a_case() -> None:
    listed = cases()
    assert len(listed) == len(set(listed)) == 9 * 3 * 3 - 2 * 3 + 2 * 3
    without = {case.queue for case in listed} - {case.queue for case in listed if case.way == EXEMPTION}
    assert without == {"drop-tail", "RED"}
    for queue in QUEUES:
        tables = {way: scenario(Case(queue, "CUBIC", way)).to_dict() for way in WAYS}
        assert [tables[way]["mobility"]["forwarding"] for way in WAYS] == ["none", "lossless", "lossless"]
        assert [tables[way]["mobility"].get("mark") for way in WAYS] == [None, None, 3]
        limits = {tables[way]["cells"][cell]["queue"]["limit"] for way in WAYS for cell in ("bs1", "bs2")}
        assert limits == {"600 pkt"}, queue


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([2.0, 2.1, 1.9, 2.0, 2.2], Verdict.MORE),
        ([-2.0, -2.1, -1.9, -2.0, -2.2], Verdict.LESS),
        ([0.1, 0.11, 0.1, 0.09, 0.1], Verdict.LITTLE),
        ([1.0, -1.0, 0.5, -0.5, 0.1], Verdict.UNDECIDED),
        ([0.0] * 5, Verdict.EQUAL),
        ([2.0, 2.1, 1.9, 2.0], Verdict.UNDECIDED),
        ([2.0], Verdict.UNDECIDED),
    ],
)
def test_a_verdict_is_that_of_the_interval(after: list[float], expected: Verdict) -> None:
    assert answer.verdict(paired(after, [0.0] * len(after))) is expected


def test_the_sentence_has_each_queue_with_its_verdict_and_its_numbers() -> None:
    changes = of("MBLUE", EXEMPTION, mover_goodput=2.0, residents_goodput=-1.5)
    changes |= of("CoDel", EXEMPTION, mover_goodput=-1.0) | of("PIE", EXEMPTION, mover_goodput=0.1)
    found = made_up(changes)
    chance = Case("M-RED", "BBR", EXEMPTION)
    found[chance]["mover_goodput"] = [7.0 + each for each in (3.0, -3.0, 2.0, -2.0, 0.3)]
    said = answer.exemption(answer.effects(found))
    parts = said.removeprefix("Is the exemption still worth it? ").split("; ")
    assert [part.partition(" with ")[0] for part in parts] == [
        "Yes",
        "little",
        "no",
        "it changes nothing",
        "undecided",
    ]
    assert "MBLUE (mover +2.00, 2.00 … 2.00, residents -1.50, -1.50 … -1.50 Mbit/s)" in parts[0]
    assert [queue for queue in QUEUES if queue in parts[3]] == ["head drop", "CoDel", "FQ-CoDel", "DualPI2"]
    assert "M-RED (-" in parts[4]


def test_few_runs_decide_nothing() -> None:
    found = made_up(of("MBLUE", EXEMPTION, mover_goodput=2.0), NOISE[:2])
    sentences = study.sentences_of(found)
    assert sentences[0].startswith("Is the exemption still worth it? Undecided with head drop (0.00 … 0.00)")
    assert all("ndecided" in sentence for sentence in sentences)
    for sentence in study.sentences_of(made_up({}, NOISE[:1])):
        assert "ndecided" in sentence
        assert "inf" not in sentence


@pytest.mark.parametrize(
    ("goodput", "silence", "conclusion"),
    [
        (2.0, -5.0, "FQ-CoDel makes M-RED unnecessary here."),
        (-2.0, 5.0, "FQ-CoDel does not replace M-RED here."),
        (-2.0, -5.0, "FQ-CoDel gives the mover less, and a shorter silence."),
        (2.0, 5.0, "FQ-CoDel gives the mover no less, and a longer silence."),
    ],
)
def test_what_replaces_an_older_queue(goodput: float, silence: float, conclusion: str) -> None:
    found = made_up(of("FQ-CoDel", FORWARDING, mover_goodput=goodput, stall=silence))
    assert answer.replacement(found)["M-RED"].endswith(conclusion)


def test_whether_l4s_survives_goes_by_how_long_packets_are_late() -> None:
    case = Case("DualPI2", "Prague", FORWARDING)
    for late, conclusion in ((80.0, "It does:"), (300.0, "It does not:")):
        found = made_up({case: {"late": late}})
        assert conclusion in answer.l4s(found, "DualPI2")
    found[case]["late"] = [107.0 + 90.0 * each for each in (1.0, -1.0, 0.5, -0.5, 0.0)]
    assert "Undecided:" in answer.l4s(found, "DualPI2")


def test_without_a_mark_m_red_is_red_and_runs_repeat(tmp_path: Path) -> None:
    listed = [Case(queue, "CUBIC", FORWARDING) for queue in ("RED", "M-RED")]
    listed += [Case("FQ-CoDel", "CUBIC", NOTHING), Case("FQ-CoDel", "CUBIC", EXEMPTION)]
    found = study.measure(listed, 1, tmp_path / "store", 2)
    assert found[listed[0]] == found[listed[1]]
    nothing, exempt = found[listed[2]], found[listed[3]]
    assert nothing["forwarded"] == [0.0] != exempt["forwarded"]
    assert nothing["mover_lost"] > exempt["mover_lost"]
    assert nothing["stall"] > exempt["stall"]
    assert study.measure(listed[2:], 1, tmp_path / "again", 1) == {
        case: values for case, values in found.items() if case in listed[2:]
    }


def test_page_csv_and_data_have_all_cases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = made_up(of("MBLUE", EXEMPTION, mover_goodput=2.0))
    monkeypatch.setattr(study, "measure", lambda *_: found)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(commands.command, ["queues", "--json"])
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["report"] == "out/queues/report.html"
    assert len(data["means"]) == len(found) * len(measures.QUANTITIES)
    assert {row["verdict"] for row in data["exemption"]} == {"more", "the same in every run"}
    with Path("out/queues/queues.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["queue"], row["control"], row["way"]) for row in rows] == list(map(tuple, found))
    goodput = "mover's goodput in the 3 s after the move [Mbit/s]"
    assert {f"{goodput} {part}" for part in ("mean", "low", "high", "n")} <= set(rows[0])
    assert float(rows[0][f"{goodput} mean"]) == pytest.approx(7.0)
    text = Path("out/queues/report.html").read_text(encoding="utf-8")
    assert text.count("<figure ") == 7
    page = Page(text)
    for sentence in data["sentences"]:
        assert sentence in page.text
