"""The gallery: each answer is true of the current runs, and its cases make the difference."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tomli
from matplotlib.image import imread

import prose
from conftest import ROOT
from playground import need_engine, node
from roamlab import papers
from roamlab.base.errors import BadInput
from roamlab.gallery import page
from roamlab.gallery.answers import Answer, answer
from roamlab.gallery.pictures import picture
from roamlab.gallery.questions import TABLE, Number, questions
from roamlab.running.run import run
from roamlab.scenarios.changes import assigned
from roamlab.scenarios.scenario import Scenario, load

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = ROOT / "examples"
QUESTIONS = {each.name: each for each in questions(EXAMPLES)}


@cache
def _answer(name: str) -> Answer:
    return answer(QUESTIONS[name])


def test_there_are_36_questions_from_all_papers_and_from_today() -> None:
    assert (
        len(QUESTIONS) == len(tomli.loads((EXAMPLES / TABLE).read_text(encoding="utf-8"))["questions"]) == 36
    )
    assert {each.source for each in QUESTIONS.values()} == {*papers.names(), "today"}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answer_holds_in_all_runs(name: str) -> None:
    assert _answer(name).broken == []


@pytest.mark.parametrize("name", QUESTIONS)
def test_without_the_change_of_a_case_the_answer_would_be_wrong(name: str) -> None:
    """If all cases ran the same scenario, a condition would fail: the difference is made by the cases."""
    asked = QUESTIONS[name]
    first, *_ = asked.cases
    same = replace(asked, cases=dict.fromkeys(asked.cases, asked.cases[first]))
    if name == "film-or-live":
        # Not even the metric is defined: the application is another one.
        with pytest.raises(BadInput, match="metric"):
            answer(same, repetitions=1)
    else:
        assert answer(same, repetitions=1).broken


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_numbers_of_a_sentence_come_from_the_runs(name: str) -> None:
    """A number that is written into the sentence is one of the question's set-up; all others are filled in."""
    asked = QUESTIONS[name]
    written = re.sub(r"\{[^}]*\}", "", asked.answer)
    set_up = f"{asked.scenario.text} {json.dumps(dict(asked.cases))} {asked.draw}"
    assert set(_numbers(written)) <= set(_numbers(set_up))
    used = set(re.findall(r"\{(\w+)", asked.answer)) | set(re.findall(r"[a-z_]\w*", " ".join(asked.holds)))
    assert used == set(asked.numbers)
    assert "{" in asked.answer
    assert "nan" not in _answer(name).sentence


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_picture_shows_a_difference(name: str) -> None:
    """Two curves are apart by a twelfth of the picture's height at one point."""
    curves = [each.points for each in _answer(name).curves.values()]
    grid = np.linspace(QUESTIONS[name].draw.begin_s, QUESTIONS[name].draw.end_s, 500)
    first, *others = (np.interp(grid, *points) for points in curves)
    apart = max(np.abs(first - other).max() for other in others)
    assert apart > max(values.max() for _, values in curves) / 12


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_sentence_is_plain(name: str, tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text(
        f"{QUESTIONS[name].question}\n\n{_answer(name).sentence}\n", encoding="utf-8"
    )
    assert [str(fault) for fault in prose.faults(tmp_path / "answer.md")] == []


def test_a_case_runs_from_the_command_line_and_in_the_playground() -> None:
    """The options of the command, and the changes that the page makes in the text, give the scenario of the case."""
    with node() as ask:
        for asked in QUESTIONS.values():
            for case in asked.cases:
                wanted = asked.scenario.set_all(asked.cases[case]).parameters
                command = asked.command(case, ROOT)
                sets = re.findall(r" --set '([^']*)'", command)
                path = ROOT / command.split()[2]
                assert load(path).set_all(assigned(sets)).parameters == wanted
                text = asked.scenario.text
                for edit in asked.edits(case):
                    text = ask("set", text=text, **edit)
                assert Scenario(text, asked.scenario.name).parameters == wanted


def test_the_front_page_and_the_tutorial_show_the_run_of_the_tutorial(tmp_path: Path) -> None:
    """The picture is drawn with the site, and has the times that `roamlab why` prints on both pages."""
    drawn = page.front(EXAMPLES, tmp_path)
    (length,) = re.findall(r"stall of ([\d.]+) s", drawn.caption)
    for file in ("README.md", "docs/tutorial.md"):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"received nothing new of download for {length} s" in text
    for file in ("docs/index.md", "docs/tutorial.md"):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"gallery/{drawn.svg.name}" in text
        assert "img/busy-cell" not in text


def test_the_readme_shows_what_the_runs_of_today_show(tmp_path: Path) -> None:
    """Three questions with their sentences, and the moving picture."""
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    shown = re.findall(r"docs/img/gallery-([\w-]+)\.png", readme)
    assert len(shown) == 3
    for name in shown:
        assert f"**{QUESTIONS[name].question}** {_answer(name).sentence}" in readme
        made = picture(_answer(name), tmp_path).png
        assert made is not None
        shown_there, today = (imread(path) for path in (ROOT / f"docs/img/gallery-{name}.png", made))
        assert shown_there.shape == today.shape, f"{name}: `make picture` writes it again"
        # Fonts may be smoothed otherwise elsewhere; a curve that lies elsewhere changes more.
        assert np.abs(shown_there - today).mean() < 0.002, f"{name}: `make picture` writes it again"
    assert readme.index("docs/img/handover.svg") < readme.index("docs/img/gallery-")


def test_the_moving_picture_is_that_of_a_run_of_today(tmp_path: Path) -> None:
    """`make picture` makes the same file; it is small, and is still where a reader asks for that."""
    need_engine()
    (line,) = re.findall(
        r"node docs/img/handover\.js.*?> docs/img/handover\.svg", (ROOT / "Makefile").read_text(), re.DOTALL
    )
    made = line.replace("docs/img/handover.svg", str(tmp_path / "made.svg")).replace("\\\n", " ")
    made = made.replace("$(BIN)", ".venv/bin").replace("$$", "$")
    subprocess.run(["bash", "-c", made], cwd=ROOT, check=True)
    picture = (ROOT / "docs/img/handover.svg").read_text(encoding="utf-8")
    assert picture == (tmp_path / "made.svg").read_text(encoding="utf-8")
    assert len(picture) < 1_000_000
    assert "prefers-reduced-motion" in picture
    lost = run(load(EXAMPLES / "gallery/two-cells.toml").set("mobility.buffer.limit", "4 pkt"), 1).metric(
        "flows.download.dropped_pkts"
    )
    assert f"{lost:.0f} packets are lost" in picture


def test_an_answer_that_a_run_contradicts_is_refused(tmp_path: Path) -> None:
    """`make docs` fails with the condition, the run and the numbers."""
    (tmp_path / "gallery").mkdir()
    (tmp_path / "two-cells.toml").write_text(
        (EXAMPLES / "gallery/two-cells.toml").read_text(encoding="utf-8")
    )
    table = (EXAMPLES / TABLE).read_text(encoding="utf-8").split("[[questions]]")
    one = table[1].replace('"whole_lost == 0"', '"whole_lost > 0"').replace("two-cells", "../two-cells")
    (tmp_path / TABLE).write_text(f"[[questions]]{one}", encoding="utf-8")
    with pytest.raises(BadInput, match=r"whole_lost > 0, with .*'whole_lost': 0"):
        page.write(tmp_path, tmp_path)


@pytest.mark.parametrize("text", ["flows.a.timeouts", "Reno flows.a.timeouts", "Reno: a + 3"])
def test_a_number_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CASE: METRIC"):
        Number.of(text)


def test_a_condition_that_cannot_be_read_is_refused() -> None:
    wrong = replace(QUESTIONS["crowd"], holds=("red = 3",))
    with pytest.raises(ValueError, match="comparison"):
        wrong.met({"red": 3.0})
