"""Files that drive a run: read beside their scenario, part of what determines it, and refused with their line."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import polars as pl
import pytest
from click.testing import CliRunner

import roamlab as rl
from conftest import COMMAND, ROOT
from roamlab.cli import cli
from roamlab.exports import pcapng
from roamlab.records.store import Store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example with its files, somewhere else."""
    return shutil.copytree(ROOT / "examples/imported", tmp_path / "imported")


def test_the_example_moves_as_its_file_says(folder: Path) -> None:
    results = rl.run(rl.load(folder / "drive.toml"))
    phases = results.handovers.filter(pl.col("phase").cast(pl.String).str.starts_with("link-"))
    found = [(phase, time // 10**6) for phase, time in phases.select(pl.col("phase"), "time_ns").iter_rows()]
    downs_and_ups = [("link-down", 3000), ("link-up", 3050), ("link-down", 6250), ("link-up", 7000)]
    assert found == [("link-up", 0), *downs_and_ups]
    assert results.flows["delivered_bytes"].item() > 500_000


def test_another_file_is_another_run(folder: Path) -> None:
    before = rl.load(folder / "drive.toml").resolved
    moves = folder / "moves.csv"
    moves.write_text(moves.read_text().replace("6.25,", "6.5,"))
    assert rl.load(folder / "drive.toml").resolved != before


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("moves.csv", "3,car", "three,car", "moves.csv:3:1: the time"),
        ("moves.csv", "car,south,,", "car,north,,", "moves.csv:4:1: it leaves north, and was in south"),
        ("moves.csv", "7,car,,north", "7,car,,east", 'there is no cell "east", which stands in moves.csv:5'),
        ("moves.csv", "time_s,", "", "moves.csv:2:1: the column"),
        ("cell.down", "\n", "\nx\n", "cell.down:2:1: "),
    ],
)
def test_a_bad_file_is_refused_with_its_line(folder: Path, file: str, old: str, new: str, said: str) -> None:
    text = (folder / file).read_text()
    (folder / file).write_text(text.replace(old, new, 1))
    done = CliRunner().invoke(cli, ["check", str(folder / "drive.toml")], standalone_mode=False)
    assert isinstance(done.exception, rl.ScenarioError)
    assert said in str(done.exception)
    assert "help: " in str(done.exception)


def test_the_command_line_ends_with_2(folder: Path) -> None:
    (folder / "moves.csv").write_text("time_s,host\n")
    done = subprocess.run(
        [COMMAND, "run", folder / "drive.toml"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "moves.csv:1:1" in done.stderr


def test_a_capture_of_a_run_whose_file_has_changed_is_refused(folder: Path) -> None:
    store = Store(folder / "runs")
    results = rl.run(rl.load(folder / "drive.toml"))
    store.write(results)
    moves = folder / "moves.csv"
    moves.write_text(moves.read_text().replace("6.25,", "6.5,"))
    with pytest.raises(rl.BadInput, match="has changed"):
        pcapng.write(results, ["car"], [])
