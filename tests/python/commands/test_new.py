"""`roamlab new`: examples with their questions, and copies of them with what they need."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import roamlab as rl
from conftest import ROOT
from roamlab.cli import cli
from roamlab.scenarios import editors, examples
from roamlab.sweeps.sweepfile import load_sweep

QUESTIONS = examples.questions()


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), standalone_mode=False, catch_exceptions=False)


def test_every_file_of_the_examples_is_listed_once_with_a_question() -> None:
    files = [path for path in (ROOT / "examples").rglob("*.toml") if path.name != "questions.toml"]
    assert sorted(path.stem for path in files) == [*QUESTIONS]
    for name, question in QUESTIONS.items():
        assert question.endswith("?"), name
        assert len(question) <= 100, name


def test_without_a_name_the_questions_are_listed(empty: Path) -> None:
    found = " ".join(_call("new").stdout.split())
    for name, question in QUESTIONS.items():
        assert f"{name} {question}" in found
    assert [*empty.iterdir()] == []


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_copy_is_complete(name: str, empty: Path) -> None:
    """It means the same as the example, it finds its files, and the schema that it names is next to it."""
    assert _call("new", name).exit_code == 0
    copied = empty / f"{name}.toml"
    (original,) = (ROOT / "examples").rglob(copied.name)
    first, *_ = copied.read_text(encoding="utf-8").splitlines()
    assert json.loads((empty / first.removeprefix("#:schema ")).read_text(encoding="utf-8"))
    if "\nscenario = " in copied.read_text(encoding="utf-8"):
        assert load_sweep(copied).plan.base.parameters == load_sweep(original).plan.base.parameters
        return
    found, wanted = (re.sub(r'"[^"]*imported/', '"', rl.load(path).resolved) for path in (copied, original))
    assert found == wanted


def test_the_schema_of_a_checkout_is_that_of_the_program() -> None:
    for of in ("scenario", "sweep"):
        assert (ROOT / f"examples/{of}.schema.json").read_text(encoding="utf-8") == editors.text(of)


def test_files_that_are_there_stay(empty: Path) -> None:
    assert _call("new", "buffers").stdout == "new: buffers.toml\nnew: handover.toml\n"
    assert _call("new", "buffers").stdout == ""
    (empty / "handover.toml").write_text("mine", encoding="utf-8")
    (empty / "buffers.toml").unlink()
    with pytest.raises(
        rl.BadInput, match=r"handover.toml: this file is there already[\s\S]*mkdir lab && cd lab"
    ):
        _call("new", "buffers")
    assert not (empty / "buffers.toml").exists()
    assert (empty / "handover.toml").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("buzy-cell", "did you mean 'busy-cell'"),
        ("examples/lte.toml", "did you mean 'lte'"),
        ("x", "`roamlab new` lists"),
    ],
)
def test_an_unknown_name_gets_the_nearest(written: str, told: str, empty: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("roamlab"), "new", written],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_a_command_without_its_example_names_the_copy(empty: Path) -> None:
    with pytest.raises(rl.BadInput, match="copy the example of this name: roamlab new busy-cell"):
        _call("run", "busy-cell.toml")
    with pytest.raises(rl.BadInput, match="roamlab new lte"):
        rl.load("examples/lte.toml")
    _call("new", "busy-cell")
    with pytest.raises(rl.BadInput, match=r"did you mean busy-cell\.toml"):
        _call("run", "busy-cell")


def test_the_examples_are_found_in_a_wheel(tmp_path: Path) -> None:
    """There the link is a folder: the package without the checkout around it."""
    shutil.copytree(
        ROOT / "python/roamlab",
        tmp_path / "roamlab",
        ignore=shutil.ignore_patterns("__pycache__", "*.schema.json"),
    )
    program = "import sys; from roamlab.scenarios import examples; print(len(examples.questions()), examples.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(len(QUESTIONS)), str(tmp_path / "roamlab/scenarios/examples.py")]
