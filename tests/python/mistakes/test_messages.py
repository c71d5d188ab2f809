"""Errors for a user's wrong text: the place, and what was most likely meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

import roamlab as rl
from conftest import ROOT
from roamlab.cli import cli
from roamlab.running import summary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HANDOVER = ROOT / "examples/handover.toml"
TEXT = HANDOVER.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: rl.Grid({"run.duration": 5}), "axis `run.duration`: 5 is no list of values.*write \\[5\\]"),
        (lambda: rl.Grid({"run.duration": "5 s"}), "'5 s' is no list of values.*write \\[\"5 s\"\\]"),
        (lambda: rl.Grid({"radio": {"gap": "1 ms"}}), "a table is no list of values"),
        (lambda: rl.sweep(HANDOVER, 5), "argument design: 5 is an int.*a dictionary of paths"),
        (lambda: rl.sweep(HANDOVER, "run.duration"), "argument design: 'run.duration' is a str"),
        (lambda: rl.sweep(HANDOVER, np.ones(3)), "argument design: array.* is a ndarray"),
        (lambda: rl.sweep(HANDOVER, [5]), "point 0 is 5.*expected: a table of paths and values"),
        (lambda: rl.sweep(HANDOVER, [{"name": 5}]), "the name 5 of point 0 cannot be used"),
        (
            lambda: rl.sweep(HANDOVER, [{}], metrics="flows.*.timeouts"),
            'argument metrics: .* is a str.*write metrics=\\["flows.\\*.timeouts"\\]',
        ),
        (
            lambda: rl.sweep(HANDOVER, [{}], seed="abc"),
            "argument seed: 'abc' is a str.*rl.seed\\('abc'\\)",
        ),
        (lambda: rl.run(HANDOVER, seed="abc"), "argument seed: 'abc' is a str"),
        (lambda: rl.run(HANDOVER, seed=-1), "seed = -1: it is out of range"),
        (lambda: rl.run(HANDOVER, seed=1.5), "argument seed: 1.5 is a float"),
        (lambda: rl.load(TEXT), "this is text, not a path.*roamlab.Scenario\\(text\\)"),
        (lambda: rl.load('run.duration = "1 s"'), "this is text, not a path"),
        (lambda: rl.run(TEXT), "this is text, not a path"),
        (lambda: rl.load(HANDOVER).set("flows.movin.app.start", "1 s"), "did you mean 'moving'\\?"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_refused_with_its_place(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(rl.BadInput, match=re.compile(said, re.DOTALL)):
        make()


def test_an_array_or_a_range_is_an_axis() -> None:
    grid = rl.Grid({"a": np.linspace(0.5, 1.5, 3), "b": range(2)})
    assert grid.values(3) == (1.0, 1)
    assert [type(value) for value in grid.values(0)] == [float, int]


@pytest.mark.parametrize(
    ("section", "line", "said"),
    [
        ("[run]", 'gap = "30 ms"', "`gap` is a field of `[radio]`"),
        ("[mobility]", 'gap = "30 ms"', "`gap` is a field of `[radio]`"),
        ("[run]", "buffer = {}", "`buffer` is a field of `[mobility]`"),
        ("[[hosts]]", "variant = 1", "`variant` is a field of `[flows.transport]`"),
        ("[run]", "seed = 1", "a scenario has no seed: write `--seed 7`"),
        ("[run]", "replications = 1", "`replications` is a field of a sweep"),
        ("[run]", 'duraton = "1 s"', "did you mean `duration`?"),
        ("[run]", "nonsense = 1", "write one of `duration`, `profile`, `random_numbers`"),
    ],
)
def test_a_field_in_the_wrong_section_is_shown_its_place(section: str, line: str, said: str) -> None:
    text = TEXT.replace(section, f"{section}\n{line}", 1)
    with pytest.raises(rl.ScenarioError) as caught:
        rl.Scenario(text, "lab.toml").resolved  # noqa: B018  (the check)
    assert caught.value.help.startswith(said)
    number = text.splitlines().index(line) + 1
    assert str(caught.value).startswith(f"lab.toml:{number}:1: field ")


def test_a_kind_that_is_slightly_wrong_is_corrected() -> None:
    with pytest.raises(rl.ScenarioError, match=r'did you mean "mblue"\?'):
        rl.Scenario(TEXT.replace('"mblue"', '"mblu"')).resolved  # noqa: B018  (the check)


@pytest.mark.parametrize(
    ("metric", "meant"),
    [
        ("flows.moving.goodput", 'did you mean "flows.moving.goodput_bps"?'),
        ("flows.*.timeout", 'did you mean "flows.*.timeouts"?'),
        ("goodput", 'did you mean "goodput_bps"?'),
        ("mean(flows.*.mo)", 'did you mean "mean(flows.*.mos)"?'),
        ("timeouts", 'did you mean "flows.*.timeouts"?'),
        ("handover_timeouts", 'did you mean "flows.*.handover_timeouts"?'),
        ("nonsense", 'write for example "flows.moving.goodput_bps"'),
        ("median(flows.*.mos)", "write one of mean(flows.*.mos), min(flows.*.mos)"),
        ("jains", 'did you mean "jain"?'),
    ],
)
def test_a_metric_that_is_slightly_wrong_is_corrected(metric: str, meant: str) -> None:
    with pytest.raises(rl.BadInput, match=re.escape(f"there is no metric {metric!r}")) as caught:
        summary.check(metric, "--metric")
    assert meant in str(caught.value)


@pytest.mark.parametrize(("word", "meant"), [("simulate", "'run'"), ("rn", "'run'"), ("sweeps", "'sweep'")])
def test_a_command_is_found_by_what_it_does_or_nearly_by_its_name(word: str, meant: str) -> None:
    done = CliRunner().invoke(cli, [word])
    assert done.exit_code == 2
    assert f"Did you mean {meant}?" in done.output


def test_a_paper_that_is_slightly_wrong_is_corrected() -> None:
    with pytest.raises(rl.BadInput, match=r"did you mean 'mblue'\?"):
        CliRunner().invoke(cli, ["reproduce", "mblu"], standalone_mode=False, catch_exceptions=False)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("grid = 5", "sweep.toml:2, field `grid`: 5 cannot be used.*write under a header \\[grid\\]"),
        ("points = {}", "field `points`: {} cannot be used.*with double brackets"),
        ('grid = { "run.duration" = 5 }', 'sweep.toml:2, field `grid."run.duration"`: 5 is no list'),
        ('grid = {}\nmetrics = "flows.*.timeouts"', 'write \\["flows.\\*.timeouts"\\]'),
        ("grid = {}\nseeds = 1", "unknown field.*did you mean 'seed'"),
        (
            'grid = { "run.duration" = ["5 s"] }\nseed = true',
            "sweep.toml:3, field `seed`: True cannot be used",
        ),
    ],
)
def test_a_sweep_file_of_the_wrong_shape_is_refused_with_its_line(
    tmp_path: Path, line: str, said: str
) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(f'scenario = "{HANDOVER}"\n{line}\n')
    with pytest.raises(rl.BadInput, match=re.compile(said, re.DOTALL)):
        CliRunner().invoke(cli, ["sweep", str(path)], standalone_mode=False, catch_exceptions=False)
