"""Many runs: in order, kept, found again, and interrupted without loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fake_engine
from roamlab import _roamlab, progress
from roamlab.ensemble import Job, run_all
from roamlab.progress import pace
from roamlab.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from roamlab.scenario import Scenario


def _delivered(results: list[Any]) -> list[int]:
    return [result.flows["delivered_pkts"][1] for result in results]


def test_results_come_in_the_order_of_the_jobs(scenario: Scenario, tmp_path: Path) -> None:
    jobs = [Job(scenario, seed=1, run=run) for run in (3, 0, 3, 7)]
    assert _delivered(run_all(jobs, Store(tmp_path))) == [203, 200, 203, 207]
    assert len(list(tmp_path.iterdir())) == 3


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


def test_progress_has_a_rate_and_the_time_left() -> None:
    assert pace(50, 100, 10.0) == "5 runs/s, 0:00:10 left"
    assert pace(1, 10_000, 2.0) == "0.5 runs/s, 5:33:18 left"
    assert pace(0, 10, 1.0) == ""


def test_a_log_gets_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LOG_SECONDS", 0.0)
    with progress.progress(2) as advance:
        advance()
        advance()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["runs: 1 of 2", "runs: 2 of 2"]
