"""A sweep that was killed, interrupted or met a full disk continues, and ends as an undisturbed one."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT
from roamlab import sweep
from roamlab.base.errors import RoamlabError
from roamlab.records.storage import shards
from roamlab.running import executor
from roamlab.running.executor import DaskCluster, LocalPool
from roamlab.scenarios.scenario import Scenario, load

if TYPE_CHECKING:
    from collections.abc import Iterator

SWEEP = """
scenario = "handover.toml"
seed = "disturbed"
replications = 40
metrics = ["flows.*.goodput_bps", "flows.moving.disruption_s"]
baseline = "64 pkt"
[set]
"run.duration" = "1500 ms"
"hosts.mh.visits" = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "700 ms" }]
"flows.moving.app.start_within" = "200 ms"
[grid]
"mobility.buffer.limit" = ["4 pkt", "64 pkt"]
"cells.bs1.delay" = ["1 ms", "3 ms", "9 ms"]
"""


def _disturb(folder: Path, how: str) -> list[dict[str, Any]]:
    program = Path(__file__).with_name("disturb.py")
    done = subprocess.run(
        [sys.executable, str(program), str(folder), how],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _prepare(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    shutil.copy(ROOT / "examples/handover.toml", folder)
    (folder / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    return folder


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "out/sweeps/sweep").iterdir())}


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Result of an undisturbed sweep."""
    folder = _prepare(tmp_path_factory.mktemp("alone"))
    command = [str(Path(sys.executable).parent / "roamlab"), "sweep", "sweep.toml"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    found = _content(folder)
    assert len(found["runs.parquet"]) > 1000
    return found


def test_killed_at_any_moment(tmp_path: Path, left_alone: dict[str, bytes]) -> None:
    told = _disturb(_prepare(tmp_path / "killed"), "kill")
    assert [line["code"] for line in told].count(-9) >= 3
    assert told[-1]["code"] == 0
    assert _content(tmp_path / "killed") == left_alone
    assert len(list((tmp_path / "killed/out/sweeps").iterdir())) <= 3


def test_interrupted_from_the_keyboard(tmp_path: Path, left_alone: dict[str, bytes]) -> None:
    told = _disturb(_prepare(tmp_path / "interrupted"), "interrupt")
    assert [line["code"] for line in told] == [130, 0]
    assert told[0]["shards"] >= 1
    assert _content(tmp_path / "interrupted") == left_alone


def test_files_that_may_not_grow(tmp_path: Path, left_alone: dict[str, bytes]) -> None:
    told = _disturb(_prepare(tmp_path / "limited"), "limit")
    assert [line["code"] for line in told][:2] == [1, 1]
    assert {line["code"] for line in told} <= {0, 1}
    assert told[-1]["code"] == 0
    assert _content(tmp_path / "limited") == left_alone


@pytest.fixture
def small(scenario: Scenario) -> Iterator[Any]:
    """A sweep of the fake: 12 runs."""

    def make(store: Path) -> Any:
        return sweep(
            scenario, {"cells.bs2.queue.kind": ["red", "blue"]}, replications=6, metrics=METRICS, store=store
        )

    return make


METRICS = ["flows.*.goodput_bps", "flows.moving.delivered_pkts"]


def test_a_disk_that_is_full_at_any_write(
    small: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = small(tmp_path / "whole").frame
    monkeypatch.setattr(shards, "SECONDS", 0.0)
    full_at, real, failures = 0, os.fsync, 0

    def fsync(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == full_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    for full_at in range(1, 28, 3):
        store = tmp_path / f"full-{full_at}"
        calls = 0
        try:
            small(store)
        except OSError as error:
            failures += error.errno == errno.ENOSPC
        calls = -1000
        assert not list(store.rglob(".roamlab-*"))
        assert small(store).frame.equals(expected)
    assert failures >= 8


def test_damage_to_the_store_is_mended_by_running_again(
    small: Any, tmp_path: Path, engine: pytest.MonkeyPatch
) -> None:
    engine.setattr(shards, "SECONDS", 0.0)
    expected = small(tmp_path).frame
    files = sorted((tmp_path / "shards").iterdir())
    dice = random.Random(3)
    for damage in ("half deleted", "truncated", "index deleted", "index damaged", "index of another store"):
        if damage == "half deleted":
            for path in dice.sample(files, len(files) // 2):
                path.unlink()
        elif damage == "truncated":
            os.truncate(files[0], files[0].stat().st_size // 2)
        elif damage == "index deleted":
            (tmp_path / "index.sqlite").unlink()
        elif damage == "index damaged":
            (tmp_path / "index.sqlite").write_bytes(b"SQLite format 3\0" + bytes(200))
        else:
            small(tmp_path / "other")
            (tmp_path / "other/shards").rename(tmp_path / "gone")
            shutil.copy(tmp_path / "other/index.sqlite", tmp_path / "index.sqlite")
        assert small(tmp_path).frame.equals(expected), damage
        files = sorted((tmp_path / "shards").iterdir())


def test_what_killed_processes_left_is_swept_out(small: Any, tmp_path: Path) -> None:
    small(tmp_path)
    left = [tmp_path / f"{where}.roamlab-0123456789abcdef" for where in ("", "shards/", "runs/")]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    small(tmp_path)
    assert [path.exists() for path in left] == [False] * 3


@pytest.fixture
def bounded() -> Iterator[None]:
    """The test ends after four minutes, whatever hangs."""

    def too_long(*_: object) -> None:
        raise TimeoutError("four minutes")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(240)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("bounded")
def test_a_cluster_that_loses_a_worker_gives_the_same(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    base = load(ROOT / "examples/handover.toml").set_all(
        {"run.duration": "3 s", "flows.moving.app.start_within": "1 s"}
    )
    design = {"mobility.buffer.limit": ["4 pkt", "64 pkt"]}
    arguments = {"replications": 30, "metrics": ["flows.*.goodput_bps", "flows.*.loss_ratio"]}
    local = sweep(base, design, store=tmp_path / "local", executor=LocalPool(2), **arguments)
    killed = []

    class Killing(DaskCluster):
        """Kills a worker once some runs have come back."""

        def execute(self, jobs: Any, measurement: Any, sink: Any, *, tables: bool) -> None:
            def counted(*result: Any) -> None:
                sink(*result)
                if not killed:
                    killed.append(pids[0])
                    os.kill(pids[0], 9)

            super().execute(jobs, measurement, counted, tables=tables)

    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=50,
            local_directory=str(tmp_path / "dask"),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        assert len(set(pids)) == 2
        killing = Killing(cluster.scheduler_address, batch=2)
        remote = sweep(base, design, store=tmp_path / "remote", executor=killing, **arguments)
    assert len(killed) == 1
    assert remote.frame.equals(local.frame)
    assert len(remote) == 60


@pytest.mark.usefixtures("bounded")
def test_a_cluster_that_loses_all_workers_ends_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(executor, "LOOK_SECONDS", 1.0)
    base = load(ROOT / "examples/handover.toml")
    design = {"mobility.buffer.limit": ["4 pkt", "64 pkt"]}
    arguments = {"replications": 20, "metrics": ["flows.*.goodput_bps"], "store": tmp_path / "store"}
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
        local_directory=str(tmp_path / "dask"),
    ) as cluster:

        class Leaving(DaskCluster):
            """All workers leave once some runs have come back."""

            def execute(self, jobs: Any, measurement: Any, sink: Any, *, tables: bool) -> None:
                def counted(*result: Any) -> None:
                    sink(*result)
                    cluster.scale(0)

                super().execute(jobs, measurement, counted, tables=tables)

        leaving = Leaving(cluster.scheduler_address, batch=2, patience_s=3.0)
        with pytest.raises(RoamlabError, match=r"has had no worker for [3-6] s\n  help: start workers"):
            sweep(base, design, executor=leaving, **arguments)
    assert re.search(r"has no worker: waited \d s of 3 s", capfd.readouterr().err)
    again = sweep(base, design, executor=LocalPool(2), **arguments)
    assert again.frame.equals(sweep(base, design, **(arguments | {"store": tmp_path / "other"})).frame)
