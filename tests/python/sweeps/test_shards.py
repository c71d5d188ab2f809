"""A store of what runs gave: whatever is damaged in it, what is read is what was written, or it is made again."""

from __future__ import annotations

import os
import random
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from roamlab import sweep
from roamlab.base.errors import BadInput
from roamlab.records.storage import shards
from roamlab.records.storage.shards import Mended, Shards

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from roamlab.scenarios.scenario import Scenario

RUNS = {f"{number:032x}": [("a", float(number)), ("b", -1.0)] for number in range(300)}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of three shards."""
    with Shards(tmp_path) as kept:
        for number, (key, rows) in enumerate(RUNS.items()):
            kept.add(key, rows)
            if number % 100 == 99:
                kept.flush()
    assert len(list((tmp_path / "shards").iterdir())) == 3
    return tmp_path


def _read(kept: Shards) -> dict[str, list[tuple[str, float]]]:
    found: dict[str, list[tuple[str, float]]] = {}
    for _, rows in kept.read(RUNS):
        for key, metric, value in rows.iter_rows():
            found.setdefault(key, []).append((metric, value))
    return found


def _read_again(store: Path) -> dict[str, list[tuple[str, float]]]:
    """As a sweep does: what is missing is made again."""
    with Shards(store) as kept:
        while True:
            for key, rows in RUNS.items():
                if key not in kept:
                    kept.add(key, rows)
            kept.flush()
            try:
                return _read(kept)
            except Mended:
                pass


def test_an_index_with_flipped_bits_is_found_out(store: Path) -> None:
    path = store / "index.sqlite"
    whole = path.read_bytes()
    dice = random.Random(11)
    for _ in range(40):
        damaged = bytearray(whole)
        for _ in range(dice.randint(8, 50)):
            damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
        path.write_bytes(damaged)
        assert _read_again(store) == RUNS


def test_a_row_that_leads_to_another_shard_is_found_out(store: Path) -> None:
    with sqlite3.connect(store / "index.sqlite") as index:
        names = [name for (name,) in index.execute("SELECT name FROM shards")]
        index.execute("UPDATE runs SET shard = ? WHERE key = ?", (names[0], next(reversed(RUNS))))
        index.execute("UPDATE runs SET shard = ? WHERE key = ?", (names[1], next(iter(RUNS))))
    index.close()
    assert _read_again(store) == RUNS


def test_damage_while_it_is_open_is_mended(store: Path) -> None:
    with Shards(store) as kept:
        (store / "index.sqlite").write_bytes(b"SQLite format 3\0" + bytes(5000))
        assert next(iter(RUNS)) in kept
        assert _read(kept) == RUNS
        for path in sorted((store / "shards").iterdir())[:2]:
            path.unlink()
        with pytest.raises(Mended):
            _read(kept)
        assert sum(key in kept for key in RUNS) == 100


def test_two_processes_that_mend_at_once_both_end_well(store: Path) -> None:
    with Shards(store) as one, Shards(store) as other:
        for kept in (one, other, one, other):
            kept._start_anew()
        for number, kept in enumerate((one, other, one)):
            kept.add(f"new {number}", [("a", 1.0)])
            kept.flush()
        assert _read(one) == _read(other) == RUNS
    with Shards(store) as kept:
        assert all(f"new {number}" in kept for number in range(3))


def test_a_run_that_keeps_nothing_is_found_again(tmp_path: Path) -> None:
    with Shards(tmp_path) as kept:
        kept.add("empty", [])
    (tmp_path / "index.sqlite").unlink()
    with Shards(tmp_path) as kept:
        assert "empty" in kept
        ((held, rows),) = kept.read(["empty"])
        assert (held, rows.height) == (["empty"], 0)


def test_a_shard_with_other_columns_is_reported(store: Path) -> None:
    frame = pl.DataFrame({"key": ["a"], "other": [1]})
    draft = store / "draft.parquet"
    frame.write_parquet(draft)
    path = store / "shards" / f"{shards._digest(draft.read_bytes())}.parquet"
    draft.rename(path)
    with pytest.raises(BadInput, match="has the columns key, other") as caught:
        Shards(store)
    assert str(caught.value).startswith(str(path))
    path.unlink()
    name = shards._digest(b"no table")
    (store / "shards" / f"{name}.parquet").write_bytes(b"no table")
    with pytest.raises(BadInput, match="columns of no table"):
        Shards(store)


def test_other_files_among_the_shards_stay(store: Path) -> None:
    mine = store / "shards/mine.parquet"
    mine.write_bytes(b"do not lose me")
    assert _read_again(store) == RUNS
    assert mine.exists()


@pytest.mark.parametrize("content", ["[" * 100_000, "{", "[]", "\udcff", '{"format": 2}'])
def test_a_store_that_does_not_say_its_format_is_reported(store: Path, content: str) -> None:
    (store / "store.json").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(BadInput, match=r"store.json, field `format`"):
        Shards(store)


def test_an_empty_store_file_is_written_again(store: Path) -> None:
    (store / "store.json").write_bytes(b"")
    assert _read_again(store) == RUNS
    assert (store / "store.json").read_bytes() == b'{"format": 1}\n'


def test_modes_are_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        with Shards(tmp_path) as kept:
            kept.add("key", [("a", 1.0)])
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file()}
    assert set(modes.values()) == {0o664}, modes


def _edit(name: str, change: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(store: Path) -> None:
        change(next((store / "runs").glob(f"*/{name}")))

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        _edit("manifest.json", lambda path: os.truncate(path, 50)),
        _edit("manifest.json", lambda path: path.unlink()),
        _edit("flows.parquet", lambda path: path.unlink()),
        _edit("queue.parquet", lambda path: os.truncate(path, 50)),
    ],
)
def test_a_sweep_makes_a_damaged_run_folder_again(
    scenario: Scenario, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    arguments: dict[str, Any] = {
        "replications": 2,
        "metrics": ["flows.*.goodput_bps"],
        "keep": "tables",
        "store": tmp_path,
    }
    design = {"cells.bs2.queue.kind": ["red"]}
    made = sweep(scenario, design, **arguments)
    whole = _files(tmp_path / "runs")
    damage(tmp_path)
    assert _files(tmp_path / "runs") != whole
    assert sweep(scenario, design, **arguments).frame.equals(made.frame)
    assert _files(tmp_path / "runs") == whole


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.is_file()
    }


def test_many_processes_share_a_store(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from roamlab.records.storage.shards import Mended, Shards
for turn in range(8):
    with Shards(Path("store")) as kept:
        for number in range(20):
            kept.add(f"{sys.argv[1]} {turn} {number}", [("a", float(number))])
            kept.flush()
        assert all(f"{sys.argv[1]} {turn} {number}" in kept for number in range(20))
"""
    writers = [subprocess.Popen([sys.executable, "-c", program, str(n)], cwd=tmp_path) for n in range(3)]
    assert [writer.wait(timeout=300) for writer in writers] == [0] * 3
    with Shards(tmp_path / "store") as kept:
        keys = [f"{n} {turn} {number}" for n in range(3) for turn in range(8) for number in range(20)]
        assert sum(rows.height for _, rows in kept.read(keys)) == len(keys)


def _plant_journal(store: Path, victim: Path) -> None:
    """A journal as one of several databases is.

    It names a file, which SQLite deletes (`readSuperJournal` and `pager_delsuper` in pager.c).
    """
    page, magic = 4096, bytes.fromhex("d9d505f920a163d7")
    pages = (store / "index.sqlite").stat().st_size // page
    head = magic + struct.pack(">IIIII", 0, 1234, pages, 512, page)
    name = bytes(victim)
    end = struct.pack(">I", 0x40000000 // page + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    (store / "index.sqlite-journal").write_bytes(head.ljust(512, b"\0") + end)


def test_a_journal_from_another_person_deletes_nothing(store: Path, tmp_path: Path) -> None:
    victim = tmp_path / "thesis.tex"
    for is_ours in (False, True):
        victim.write_text("do not lose me")
        _plant_journal(store, victim)
        if is_ours:
            assert _read_again(store) == RUNS
        else:
            with closing(sqlite3.connect(store / "index.sqlite")) as index:
                index.execute("SELECT * FROM shards").fetchall()
        assert victim.exists() == is_ours


def test_an_index_with_anything_else_in_it_is_made_again(store: Path) -> None:
    """A view in place of the table that never ends, and a trigger."""
    endless = (
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i AS key, i AS shard FROM n"
    )
    for planted in (
        f"DROP TABLE runs; CREATE VIEW runs AS {endless}",
        "CREATE TRIGGER forget AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
        "CREATE TABLE other (a)",
    ):
        with closing(sqlite3.connect(store / "index.sqlite")) as index:
            index.executescript(planted)
        assert _read_again(store) == RUNS
        with closing(sqlite3.connect(store / "index.sqlite")) as index:
            kinds = index.execute("SELECT type FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type")
            assert kinds.fetchall() == [("index",), ("table",), ("table",)]


@pytest.mark.parametrize("name", ["store.json", "index.sqlite", f"shards/{'0' * 32}.parquet", "shards"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_what_is_no_file_of_a_store_is_not_waited_for_and_not_followed(
    store: Path, tmp_path: Path, name: str, kind: str
) -> None:
    outside = tmp_path / "outside"
    if name == "shards":
        (store / name).rename(outside)
    else:
        (store / name).unlink(missing_ok=True)
        outside.write_text("do not lose me")
    os.mkfifo(store / name) if kind == "pipe" else (store / name).symlink_to(outside)
    found: object = None
    try:
        found = _read_again(store)
    except (BadInput, OSError) as error:
        found = str(error)
    assert found == RUNS if kind == "link" and name.endswith("t") else name in str(found)
    if name == "shards":
        assert len(list(outside.iterdir())) == 3
    else:
        assert outside.read_text() == "do not lose me"


@pytest.mark.parametrize("end", shards._ENDS)
@pytest.mark.parametrize("kind", ["pipe", "other name", "link"])
def test_sqlite_writes_into_no_other_file_and_waits_for_no_pipe(store: Path, kind: str, end: str) -> None:
    """A file of the index's names can come with the folder, too. A hard link leads out of it as a symbolic one does."""
    outside, planted = store / "outside", store / f"index.sqlite{end}"
    with closing(sqlite3.connect(outside)) as other, other:
        other.execute("CREATE TABLE mine (a)")
        if end in ("-wal", "-shm"):
            other.execute("PRAGMA journal_mode = WAL")
    before = outside.read_bytes()
    if end in ("-wal", "-shm"):
        with closing(sqlite3.connect(store / "index.sqlite")) as index:
            index.execute("PRAGMA journal_mode = WAL")
    planted.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(planted)
    elif kind == "link":
        planted.symlink_to(outside)
    else:
        planted.hardlink_to(outside)
    program = """
import sys
from pathlib import Path
from roamlab.records.storage.shards import Shards
with Shards(Path(sys.argv[1])) as kept:
    kept.add("new", [("a", 1.0)])
"""
    done = subprocess.run(
        [sys.executable, "-c", program, store], capture_output=True, text=True, check=False, timeout=60
    )
    refused = end == "" and kind != "other name"
    assert done.returncode == refused, done.stderr
    assert ("BadInput" in done.stderr) == refused
    assert outside.read_bytes() == before
    if not refused:
        with Shards(store) as kept:
            assert all(key in kept for key in ["new", *RUNS])
