"""A set value is the one that runs, in any scenario: the shipped ones, and variants from `generated.py`."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest
import tomli
from click.testing import CliRunner

import generated
from conftest import ROOT
from roamlab.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

COUNT = int(os.environ.get("ROAMLAB_GENERATED", "60"))
_PARTS = 6


@pytest.mark.parametrize("part", range(_PARTS))
def test_what_is_set_is_what_runs(part: int, tmp_path: Path) -> None:
    done: list[set[str]] = []
    for seed in range(part, COUNT, _PARTS):
        scenario, changed = generated.generate(seed)
        done.append(changed)
        path, value = generated.change(scenario, random.Random(seed))
        generated.try_all(scenario, path, value, tmp_path / str(seed))
    for what in ("names", "fields"):
        assert sum(what in each for each in done) > len(done) / 5, "many were to be changed"


@pytest.mark.parametrize(
    "path", generated.SHIPPED, ids=lambda path: path.relative_to(ROOT).with_suffix("").as_posix()
)
def test_every_shipped_scenario_can_be_swept(path: Path, tmp_path: Path) -> None:
    scenario = generated.shipped(path)
    generated.try_all(scenario, *generated.change(scenario, random.Random(1)), tmp_path)


def test_the_writer_of_the_tests_writes_what_it_was_given() -> None:
    for seed, path in enumerate(generated.SHIPPED):
        data = tomli.loads(path.read_text(encoding="utf-8"))
        assert tomli.loads(generated.write(data, random.Random(seed))) == data


@pytest.mark.parametrize("example", ["bcmp.toml", "imported/drive.toml"])
def test_examples_with_short_lists_are_swept_at_the_command_line(example: str, tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.toml"
    lines = [
        f'scenario = "{ROOT / "examples" / example}"',
        "replications = 1",
        "[set]",
        '"run.duration" = "1 s"',
    ]
    sweep.write_text("\n".join([*lines, "[grid]", '"radio.gap" = ["10 ms", "30 ms"]']) + "\n")
    options = ["--out", str(tmp_path / "out"), "--store", str(tmp_path / "store"), "--threads", "1"]
    done = CliRunner().invoke(cli, ["sweep", str(sweep), *options], standalone_mode=False)
    assert done.exception is None, done.exception
    assert (tmp_path / "out/means.csv").exists()
