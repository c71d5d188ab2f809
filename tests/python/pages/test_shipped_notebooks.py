"""The notebooks of the package: each runs under Jupyter, shows a result, and is stored without outputs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

from conftest import COMMAND, ROOT
from roamlab import papers
from roamlab.notebooks import shipped

if TYPE_CHECKING:
    from collections.abc import Iterable

OF_PAPERS = [f"paper-{name}" for name in papers.names()]
FOLDER = ROOT / "python/roamlab/notebooks"


def executed(path: Path, *options: str) -> list[dict[str, Any]]:
    """The cells of a notebook after they ran in a kernel, in the notebook's folder."""
    call = [Path(COMMAND).with_name("jupyter-execute"), "--inplace", "--timeout=600", *options, path.name]
    setting = os.environ | {"JUPYTER_PLATFORM_DIRS": "1", "HOME": str(path.parent), "COLUMNS": "120"}
    done = subprocess.run(call, cwd=path.parent, env=setting, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def outputs(cells: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """All outputs of the code cells."""
    return [output for cell in cells for output in cell.get("outputs", ())]


def printed(cells: Iterable[dict[str, Any]]) -> str:
    """Text that the cells printed to standard output."""
    told = [each for each in outputs(cells) if each.get("name") == "stdout"]
    return "".join("".join(each["text"]) for each in told)


def shown(cells: Iterable[dict[str, Any]], kind: str) -> list[str]:
    """Values and pictures of this type that the cells show."""
    return ["".join(each["data"][kind]) for each in outputs(cells) if kind in each.get("data", {})]


def _copied(name: str, folder: Path) -> Path:
    path, is_new = shipped.copy(name, folder)
    assert is_new
    return path


def test_there_are_four_notebooks_and_one_for_each_paper() -> None:
    names = shipped.names()
    assert names == ["first-stall", "size-a-buffer", "your-own-trace", "a-papers-figure", *OF_PAPERS]
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {*names}
    page = (ROOT / "docs/notebooks.md").read_text(encoding="utf-8")
    assert [name for name in names if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", shipped.names())
def test_a_notebook_is_short_and_stored_without_outputs(name: str) -> None:
    """A question first, the next step last. No numbers of results are in its text: they would become old."""
    path = FOLDER / f"{name}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    nbformat.validate(notebook)
    cells = notebook["cells"]
    assert 7 <= len(cells) <= 16
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if "outputs" in cell)
    assert shipped.question(name).endswith("?")
    assert "".join(cells[0]["source"]).startswith(f"# {shipped.question(name)}\n")
    assert "**Next:**" in "".join(cells[-1]["source"])
    text = "".join(line for cell in cells if cell["cell_type"] == "markdown" for line in cell["source"])
    assert re.findall(r"\d+\.\d+(?! s\b)", text) == []


def test_the_first_stall_has_a_silence_and_a_remedy(tmp_path: Path) -> None:
    cells = executed(_copied("first-stall", tmp_path))
    small, large = map(float, re.findall(r"longest silence: ([\d.]+) s", printed(cells)))
    assert small > 1.0 > 5 * large
    assert "buffer-overflow" in printed(cells)
    assert len(shown(cells, "image/png")) == 2
    scenario, run = shown(cells, "text/html")[:2]
    assert "image/svg+xml" in scenario
    first, _, folded = run.partition("<details>")
    assert first.count("<th>") <= 8
    assert "spurious_timeouts" in folded


def test_a_buffer_is_sized_with_intervals(tmp_path: Path) -> None:
    cells = executed(_copied("size-a-buffer", tmp_path))
    assert re.search(r"above \d+ pkt, at most \d+ pkt \(95% confidence\)", "".join(shown(cells, "text/html")))
    (table,) = re.findall(r"┌.*?┘", printed(cells), re.DOTALL)
    assert all(heading in table for heading in ("difference", "low", "high", "runs"))
    assert len(shown(cells, "image/png")) == 1


def test_a_recording_drives_a_run(tmp_path: Path) -> None:
    cells = executed(_copied("your-own-trace", tmp_path))
    assert (tmp_path / "cell.down").exists()
    assert len(re.findall(r"^│ \d+ ┆ car", printed(cells), re.MULTILINE)) == 2
    assert len(shown(cells, "image/png")) == 1


def test_a_papers_figure_is_drawn_and_redrawn(tmp_path: Path) -> None:
    cells = executed(_copied("a-papers-figure", tmp_path))
    assert "mblue.fig12: " in printed(cells)
    assert any("data:image/png" in page for page in shown(cells, "text/html"))
    assert len(shown(cells, "image/png")) == 1
    assert (tmp_path / "fig12.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "out/mblue-fig12/report.html").exists()


@pytest.mark.parametrize("name", OF_PAPERS)
def test_a_papers_notebook_decides_a_claim_and_changes_a_choice(name: str, tmp_path: Path) -> None:
    paper = name.removeprefix("paper-")
    cells = executed(_copied(name, tmp_path))
    figure, decided = shown(cells, "text/html")[:2]
    assert figure.startswith("<figure><img")
    assert f"{paper}." in decided
    found = printed(cells)
    assert re.search(rf"^{paper}\.[\w.]+: (holds|depends|contradicted|undecided)$", found, re.MULTILINE)
    assert "Robustness: from" in found
    (change,) = re.findall(r"^(\{.+\})$", found, re.MULTILINE)
    assert change.count(":") >= 1
    # The default and the changed setting, each decided by its runs.
    table = found[found.index(change) :]
    assert len(re.findall(r"│ (?:holds|contradicted|undecided) +┆", table)) == 2
    assert "error" not in {output["output_type"] for output in outputs(cells)}


def _roamlab(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *words], cwd=folder, env=os.environ | more, capture_output=True, text=True, check=False
    )


def test_the_command_lists_and_copies(tmp_path: Path) -> None:
    listed = _roamlab(tmp_path, "notebook", "--json")
    assert {each["name"]: each["question"] for each in json.loads(listed.stdout)} == {
        name: shipped.question(name) for name in shipped.names()
    }
    assert all(name in _roamlab(tmp_path, "notebook").stdout for name in shipped.names())
    copied = _roamlab(tmp_path, "notebook", "first-stall", "--no-open")
    assert (copied.returncode, copied.stdout) == (0, "notebook: first-stall.ipynb\n")
    path = tmp_path / "first-stall.ipynb"
    assert path.read_text(encoding="utf-8") == shipped.text("first-stall")
    path.write_text("mine")
    again = _roamlab(tmp_path, "notebook", "first-stall.ipynb", "--no-open")
    assert again.stdout == "notebook: first-stall.ipynb, which was there already\n"
    assert path.read_text() == "mine"
    wrong = _roamlab(tmp_path, "notebook", "first-stal")
    assert wrong.returncode == 2
    assert "did you mean 'first-stall'?" in wrong.stderr


def test_without_jupyter_the_command_says_what_to_install(tmp_path: Path) -> None:
    """The kernel that these tests use is no program that shows a notebook."""
    done = _roamlab(tmp_path, "notebook", "first-stall")
    assert done.returncode == 2
    assert (tmp_path / "first-stall.ipynb").exists()
    assert "-m pip install jupyterlab`" in done.stderr
    assert "Traceback" not in done.stderr


def test_jupyter_opens_the_copy(tmp_path: Path) -> None:
    """The package `jupyterlab` here prints how it was started."""
    (tmp_path / "there/jupyterlab").mkdir(parents=True)
    (tmp_path / "there/jupyterlab/__init__.py").touch()
    (tmp_path / "there/jupyterlab/__main__.py").write_text("import sys; print(sys.argv[1:]); sys.exit(3)")
    done = _roamlab(tmp_path, "notebook", "first-stall", PYTHONPATH=str(tmp_path / "there"))
    assert done.returncode == 3, done.stderr
    assert done.stdout.endswith("['first-stall.ipynb']\n")


BAD = """
import roamlab as rl

def lab():
    return rl.Scenario('[run]\\nduration = "2 second"\\n', "lab.toml").run()

lab()
"""
"""A program with a mistake in its scenario."""


def _check_report(lines: list[str]) -> None:
    """The lines of the user and the report with its caret, and none of our lines."""
    assert lines[0] == "Traceback (most recent call last):"
    places = [line for line in lines if line.startswith("  File ")]
    assert [re.sub(r'".*", ', "", place) for place in places] == [
        f"  File line {BAD.splitlines().index('lab()') + 1}, in <module>",
        "  File line 5, in lab",
    ]
    report = lines[lines.index(next(line for line in lines if line.startswith("ScenarioError: "))) :]
    assert any(line.strip(" |") == "^" * line.count("^") and "^" in line for line in report), report
    assert not [line for line in lines if "site-packages" in line or "python/roamlab" in line]


def test_an_error_in_a_script_is_the_report_without_our_frames(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(BAD)
    done = subprocess.run(
        [sys.executable, "lab.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    _check_report(done.stderr.splitlines())
    whole = subprocess.run(
        [sys.executable, "-X", "dev", "lab.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "roamlab/running/run.py" in whole.stderr


def test_an_error_in_a_notebook_is_the_report_without_our_frames(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell(BAD.strip("\n"))
    attribute = nbformat.v4.new_code_cell("rl.Scenario('[run]').durations")
    path = tmp_path / "lab.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell, attribute]), path)
    first, second = outputs(executed(path, "--allow-errors"))
    lines = "\n".join(first["traceback"]).splitlines()
    _check_report([line.replace("line 4,", "line 5,").replace("line 6,", "line 7,") for line in lines])
    assert "\n".join(second["traceback"]).count("File ") == 1


def test_another_error_keeps_its_frames(tmp_path: Path) -> None:
    program = "import roamlab as rl, roamlab.base.calls\nrl.load\nroamlab.base.calls.kind_of(3)\n"
    (tmp_path / "lab.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "lab.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "roamlab/base/calls.py" in done.stderr
