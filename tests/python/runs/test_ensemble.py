"""Many runs: in order, kept, found again, and interrupted without loss."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import fake_engine
from conftest import ROOT
from roamlab import _roamlab
from roamlab.records.storage.store import Store
from roamlab.running import progress
from roamlab.running.ensemble import Job, measure, run_all
from roamlab.running.progress import Estimate, pace, weight
from roamlab.scenarios.scenario import Scenario, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _delivered(results: list[Any]) -> list[int]:
    return [result.flows["delivered_pkts"][1] for result in results]


def test_results_come_in_the_order_of_the_jobs(scenario: Scenario, tmp_path: Path) -> None:
    jobs = [Job(scenario, seed=1, run=run) for run in (3, 0, 3, 7)]
    assert _delivered(run_all(jobs, Store(tmp_path))) == [203, 200, 203, 207]
    assert len(list(tmp_path.iterdir())) == 3


def test_the_longest_runs_begin_first_and_what_is_measured_keeps_its_place(
    scenario: Scenario, engine: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[str, int]] = []
    run_many = _roamlab.run_many

    def note(jobs: Any, *rest: Any) -> None:
        jobs = list(jobs)
        begun.extend((text, run) for text, _, _, run in jobs)
        run_many(jobs, *rest)

    engine.setattr(_roamlab, "run_many", note)
    longer = Scenario(scenario.text.replace('"1 s"', '"3 s"'), "longer.toml")
    assert weight(longer) > weight(scenario)
    jobs = [Job(scenario, 1, 0), Job(longer, 1, 0), Job(scenario, 1, 1), Job(longer, 1, 1)]
    assert measure(jobs, lambda job, _: (job.scenario.name, job.run)) == [
        (job.scenario.name, job.run) for job in jobs
    ]
    assert begun == [(longer.text, 0), (longer.text, 1), (scenario.text, 0), (scenario.text, 1)]


def test_an_interrupted_set_goes_on_where_it_stopped(
    scenario: Scenario, tmp_path: Path, engine: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def two_then_interrupt(
        jobs: list[tuple[str, str, int, int]], threads: int, sink: Callable[[int, Any], None], *_: Any
    ) -> None:
        for index, job in enumerate(jobs):
            if len(asked) == 2:
                raise KeyboardInterrupt
            asked.append(job[3])
            sink(index, fake_engine.run(*job, None))

    jobs = [Job(scenario, seed=1, run=run) for run in range(4)]
    engine.setattr(_roamlab, "run_many", two_then_interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_all(jobs, Store(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2
    asked.clear()
    assert _delivered(run_all(jobs, Store(tmp_path))) == [200, 201, 202, 203]
    assert asked == [2, 3]


def test_another_build_makes_its_own_runs(
    scenario: Scenario, tmp_path: Path, engine: pytest.MonkeyPatch
) -> None:
    run_all([Job(scenario, 1)], Store(tmp_path))
    engine.setattr(_roamlab, "build_hash", lambda: "repaired")
    run_all([Job(scenario, 1)], Store(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2


def test_the_time_left_is_learnt_by_kind() -> None:
    """Ten light runs, then ten that take 30 times as long and weigh as much: runs are not equal."""
    estimate = Estimate({"light": 10, "heavy": 10}, {"light": 1.0, "heavy": 30.0})
    assert (estimate.left(), pace(estimate)) == (None, "")
    for run in range(10):
        estimate.ended("light", 2.0)
        assert estimate.left() == pytest.approx(2.0 * (9 - run) + 600.0)
    estimate.ended("heavy", 40.0)
    assert estimate.left() == pytest.approx(9 * 40.0)
    assert pace(estimate) == ", 0.183 runs/s, 0:06:00 left"


def test_runs_that_were_found_say_nothing_of_the_time() -> None:
    estimate = Estimate({0: 1000, 1: 10}, {})
    for _ in range(1000):
        estimate.ended(0, None)
    assert estimate.left() is None
    estimate.ended(1, 3.0)
    assert estimate.left() == pytest.approx(27.0)


def test_a_run_weighs_its_duration_times_its_flows() -> None:
    handover, lte = (load(ROOT / "examples" / name) for name in ("handover.toml", "lte.toml"))
    assert (weight(handover), weight(lte)) == (40.0, 30.0)


def test_a_log_gets_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LOG_SECONDS", 0.0)
    with progress.progress({"a": 2}) as advance:
        advance("a", made=False)
        advance("a")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "runs: 1 of 2"
    assert re.fullmatch(r"runs: 2 of 2, .* runs/s, 0:00:00 left", lines[1])


def test_a_bar_shows_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal: counts, rate, and the library's own column of the time left, in seconds of work."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with progress.progress({"a": 3, "b": 1}, {"a": 1.0, "b": 3600.0}) as advance:
        for _ in range(3):
            time.sleep(0.3)
            advance("a")
        time.sleep(0.3)
    err = capsys.readouterr().err
    assert "3 of 4" in err
    assert re.search(r"0:1\d:\d\d", err), "the run of b is 3600 times as heavy: some 18 minutes"
