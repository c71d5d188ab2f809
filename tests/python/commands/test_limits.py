"""Limits of a run on the machine, and its reports before and during the run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import roamlab as rl
from roamlab import _roamlab, cli
from roamlab.base.errors import BadInput
from roamlab.base.limits import LEAST, available_memory, memory_per_run
from roamlab.records.manifest import describe
from roamlab.running import runprogress
from roamlab.running.ensemble import Job, measure
from roamlab.running.summary import _MADE_OF, _OF_FLOW, _OF_RUN, TOTALS, Measurement

HANDOVER = Path(__file__).parents[3] / "examples" / "handover.toml"


def test_a_run_without_end_ends_with_a_report_that_names_the_table() -> None:
    endless = rl.load(HANDOVER).set("run.duration", "10000 h")
    with pytest.raises(_roamlab.MemoryLimitError, match=r"table `tcp`\n  help: write `record.tcp = false`"):
        rl.run(endless, memory=20_000_000)


def test_a_network_above_the_limit_is_refused_before_and_after_it_was_read() -> None:
    for scenario in (HANDOVER, rl.load(HANDOVER)):
        with pytest.raises(
            rl.ScenarioError, match="the network would take about 1 MB of memory, more than the 1 MB"
        ):
            rl.run(scenario, memory=10_000)


def test_runs_share_what_the_machine_has_left() -> None:
    assert LEAST <= memory_per_run(8) <= memory_per_run() < available_memory()
    assert memory_per_run(8, given=50_000) == 50_000
    with pytest.raises(BadInput, match="memory = 0"):
        rl.run(rl.load(HANDOVER), memory=0)


def test_more_threads_than_any_machine_has_do_no_harm() -> None:
    short = rl.load(HANDOVER).set("run.duration", "100 ms")
    made = measure([Job(short, 1, run) for run in range(3)], lambda _, results: results.flows.height, 100_000)
    assert len(made) == 3


@pytest.mark.parametrize("metric", [f"flows.moving.{name}" for name in (*TOTALS, *_OF_FLOW)] + [*_OF_RUN])
def test_a_metric_needs_no_other_tables_than_it_names(metric: str) -> None:
    measurement = Measurement((metric,))
    job = Job(rl.load(HANDOVER).set("run.duration", "12 s"), 1)
    some: list[object] = []
    jobs = [job.as_tuple()]
    for wanted in (measurement.tables, None):
        _roamlab.run_many(
            jobs,
            1,
            lambda _, tables: some.append(measurement.of(job, tables)),
            lambda _, named=wanted: named,
        )
    assert repr(some[0]) == repr(some[1])
    assert set(_MADE_OF) == {*_OF_FLOW, *_OF_RUN}


def test_what_has_no_effect_is_said_by_check_by_run_and_in_the_manifest(tmp_path: Path) -> None:
    late = rl.load(HANDOVER).set("flows.0.app.start", "100 s")
    path = tmp_path / "late.toml"
    path.write_text(late.set("run.duration", "1 s").text)
    said = CliRunner().invoke(cli.cli, ["check", str(path)])
    assert f"warning: {path}:" in said.stderr
    assert "field `flows[0].app.start`" in said.stderr
    assert "estimate: up to about" in said.stderr
    said = CliRunner().invoke(cli.cli, ["run", str(path), "--out", str(tmp_path / "runs")])
    assert "estimate: up to about" in said.stdout
    assert "field `flows[0].app.start`" in said.stderr
    assert "this visit at 10 s never comes" in said.stderr
    (manifest,) = (tmp_path / "runs").rglob("manifest.json")
    assert "flows[0].app.start" in manifest.read_text()
    assert describe(rl.load(HANDOVER), 1, 0).warnings == []


def test_a_long_run_says_in_a_log_how_far_it_has_come(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    monkeypatch.setattr(runprogress, "LOG_SECONDS", 0.0)
    with runprogress.simulated_time(40_000_000_000) as tell:
        tell(10_000_000_000, 5_000)
    assert "simulated: 10 of 40 s" in capsys.readouterr().err
    calls: list[tuple[int, int]] = []
    text = rl.load(HANDOVER).set("run.duration", "2000 s").text
    _roamlab.run(text, "long", 1, 0, None, None, lambda now, events: calls.append((now, events)))
    assert calls == sorted(calls)
    assert calls[-1][0] > 0
