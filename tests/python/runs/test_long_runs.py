"""Long tables go to disk during a run: its memory stays flat, and nothing half-written is left."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from threading import Event, Thread
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import roamlab as rl
from roamlab.records.storage.pieces import Pieces
from roamlab.running import ensemble
from test_scale import _PEAK, ROAMLAB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from roamlab._roamlab import Tables

LONG = ("deliveries", "packets", "queue", "tcp", "variables")
_EACH = "\n".join(f"{table} = true" for table in LONG if table != "queue")


def busy(seconds: int, record: str = f'{_EACH}\nqueues = ["a->b"]') -> str:
    """A connection that never waits: some 30,000 rows of `packets` a second."""
    return f"""
[run]
duration = "{seconds} s"
[record]
{record}
[[links]]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "1 ms"
queue = {{ kind = "droptail", limit = "100 pkt" }}
[[flows]]
name = "f"
path = ["a", "b"]
transport = {{ kind = "tcp", window = "60 pkt", segment = "1000 B" }}
app = {{ kind = "ftp" }}
"""


def written(table: Path) -> pl.DataFrame:
    """A table's rows, words as text: a table that came in pieces lists words that do not occur."""
    return pl.read_parquet(table.read_bytes()).with_columns(pl.col(pl.Enum).cast(pl.String))


def pieces(tables: Tables, rows: int) -> list[Tables]:
    """The table `packets` of a run in pieces, as the engine would give them."""
    columns, names = tables["packets"], tables["names"]
    height = len(columns["time_ns"])
    assert height > rows
    return [
        {"packets": {name: values[at : at + rows] for name, values in columns.items()}, "names": names}
        for at in range(0, height, rows)
    ]


def test_what_is_written_while_a_run_goes_on_is_what_stays_in_memory(tmp_path: Path) -> None:
    scenario = rl.Scenario(busy(12), "busy.toml")
    store = rl.Store(tmp_path / "a *.parquet [1]\udcff")
    (found,) = rl.run_all([rl.Job(scenario, 1)], store, threads=1)
    made = rl.run(scenario)
    assert sorted(found.loaders) == sorted(made.loaders)
    folder = store.folder(found.manifest)
    assert sorted(path.name for path in store.root.iterdir()) == [folder.name]
    for table in made.loaders:
        expected = made.table(table).with_columns(pl.col(pl.Enum).cast(pl.String))
        assert_frame_equal(written(folder / f"{table}.parquet"), expected, check_dtypes=False)
        assert_frame_equal(found.table(table).with_columns(pl.col(pl.Enum).cast(pl.String)), expected)
    assert made.packets.height > 3 * 2**16
    again = store.find(found.manifest)
    assert again is not None
    assert again.packets.height == made.packets.height


def test_long_tables_of_runs_side_by_side_do_not_mix(tmp_path: Path) -> None:
    texts = [busy(4, "packets = true").replace('"1 ms"', f'"{delay} ms"') for delay in (1, 2, 3)]
    jobs = [rl.Job(rl.Scenario(text, "busy.toml"), 1) for text in texts]
    found = rl.run_all(jobs, rl.Store(tmp_path), threads=2)
    for job, results in zip(jobs, found, strict=True):
        assert results.packets.height > 2**16
        assert results.packets["serial"].equals(rl.run(job.scenario).packets["serial"])


def _peak_kb(text: str, folder: Path) -> int:
    """The most memory that `roamlab run` takes."""
    folder.mkdir()
    (folder / "busy.toml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", _PEAK, ROAMLAB, "run", "busy.toml", "--json"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return int(ran.stderr.split()[-1])


def test_memory_does_not_grow_with_the_duration(tmp_path: Path) -> None:
    record = "packets = true\ndeliveries = true\ntcp = true"
    short, long = (_peak_kb(busy(seconds, record), tmp_path / f"{seconds}") for seconds in (40, 160))
    (packets,) = (tmp_path / "160").rglob("packets.parquet")
    assert pl.scan_parquet(packets).select(pl.len()).collect().item() > 3_000_000
    assert long < 1.2 * short, f"{short} kB for 40 s, {long} kB for 160 s"


def test_a_failure_while_pieces_are_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []

    def add(self: Pieces, tables: Tables) -> None:
        taken.append(tables)
        whole(self, tables)
        if len(taken) == 2:
            raise KeyboardInterrupt

    whole = Pieces.add
    monkeypatch.setattr(Pieces, "add", add)
    scenario = rl.Scenario(busy(12, "packets = true"), "busy.toml")
    with pytest.raises(KeyboardInterrupt):
        rl.run_all([rl.Job(scenario, 1)], rl.Store(tmp_path), threads=1)
    assert len(taken) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_an_error_and_no_wait(tmp_path: Path) -> None:
    tables = ensemble._roamlab.run(busy(1, "packets = true"), "busy.toml", 1, 0, None)

    def write() -> None:
        with Pieces(tmp_path / "nowhere") as begun:
            for piece in pieces(tables, 1000):
                begun.add(piece)
            begun.finish()

    with pytest.raises(OSError, match=r"packets\.parquet"):
        write()


def test_a_file_given_up_while_it_asks_for_a_piece_is_an_error_and_no_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So does Polars after an interrupt: a thread of its own asks for the next piece meanwhile."""
    asking: list[Thread] = []
    given_up = Event()

    class Source:
        def __init__(self, take: Callable[[], Iterator[pl.DataFrame]], schema: pl.Schema) -> None:
            self._pieces = take()
            assert schema

        def sink_parquet(self, _: object) -> None:
            next(self._pieces)
            asking.append(Thread(target=next, args=(self._pieces, None), daemon=True))
            asking[0].start()
            time.sleep(0.2)
            given_up.set()
            raise KeyboardInterrupt

    monkeypatch.setattr("roamlab.records.storage.pieces.register_io_source", Source)
    tables = ensemble._roamlab.run(busy(1, "packets = true"), "busy.toml", 1, 0, None)
    (piece, *_) = pieces(tables, 1000)
    ended: list[type[BaseException]] = []

    def write() -> None:
        try:
            with Pieces(tmp_path) as begun:
                begun.add(piece)
                given_up.wait()
                time.sleep(0.2)
                begun.finish()
        except KeyboardInterrupt as error:
            ended.append(type(error))

    writing = Thread(target=write, daemon=True)
    writing.start()
    writing.join(timeout=60)
    assert ended == [KeyboardInterrupt]
    asking[0].join(timeout=60)
    assert not asking[0].is_alive()


def test_a_kill_while_pieces_are_written_leaves_a_draft_that_the_next_run_deletes(tmp_path: Path) -> None:
    (tmp_path / "busy.toml").write_text(busy(10_000, "packets = true"), encoding="utf-8")
    running = subprocess.Popen(
        [ROAMLAB, "run", "busy.toml", "--out", "runs"], cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    runs, until = tmp_path / "runs", time.monotonic() + 120
    while not any(path.stat().st_size for path in runs.glob("*/packets.parquet")):
        assert running.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert [path.name.startswith(".roamlab-") for path in runs.iterdir()] == [True]
    (tmp_path / "busy.toml").write_text(busy(1, "packets = true"), encoding="utf-8")
    subprocess.run(
        [ROAMLAB, "run", "busy.toml", "--out", "runs"], cwd=tmp_path, check=True, capture_output=True
    )
    (folder,) = runs.iterdir()
    assert rl.open_run(folder).packets.height > 10_000
