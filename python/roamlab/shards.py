"""Summaries of many runs, kept by what determined them, so that a run is never made twice.

In the folder: `shards/`, Parquet files of summaries of a few hundred runs each, named by the hash of their content
and written whole or not at all; `index.sqlite`, which run is in which shard, made again from the shards whenever the
two differ; `store.json`, the format.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
import time
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from roamlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from roamlab.summary import Summary

FORMAT = 1
"""Version of the store: another number is another layout."""

ROWS = 20_000
"""So many rows make a shard."""

SECONDS = 5.0
"""What was measured longer ago is in a shard: a killed sweep loses no more."""

ABANDONED_SECONDS = 3600.0
"""An unfinished file this old is nobody's: who wrote it was killed."""

_SCHEMA = {"key": pl.String, "metric": pl.String, "value": pl.Float64}


class Shards:
    """An open store of summaries. Close it, or use it as a context manager: leaving keeps what was added."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = root / "shards"
        self._keys: list[str] = []
        self._metrics: list[str] = []
        self._values: list[float] = []
        self._fresh: set[str] = set()
        self._due = time.monotonic() + SECONDS
        _check_format(root)
        self._folder.mkdir(parents=True, exist_ok=True)
        _sweep_out(self._folder)
        self._index = self._open_index()
        self._reconcile()

    def __enter__(self) -> Shards:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.flush()
        except OSError:
            # What led here is reported; that the last seconds are lost beside it is no news.
            if kind is None:
                raise
        finally:
            self._index.close()

    def __contains__(self, key: str) -> bool:
        with _as_os_error():
            row = self._index.execute("SELECT 1 FROM runs WHERE key = ?", (key,)).fetchone()
        return row is not None or key in self._fresh

    def add(self, key: str, summary: Summary) -> None:
        """Keep the summary of a run. It is on disk after `SECONDS`, after `flush`, or when the store is closed."""
        for metric, value in summary:
            self._keys.append(key)
            self._metrics.append(metric)
            self._values.append(value)
        self._fresh.add(key)
        if len(self._keys) >= ROWS or time.monotonic() >= self._due:
            self.flush()

    def flush(self) -> None:
        """Put on disk what was added."""
        self._due = time.monotonic() + SECONDS
        if not self._keys:
            return
        columns = {"key": self._keys, "metric": self._metrics, "value": self._values}
        buffer = BytesIO()
        frame = pl.DataFrame(columns, schema=_SCHEMA).sort("key", maintain_order=True)
        frame.write_parquet(buffer, compression="zstd")
        content = buffer.getvalue()
        name = f"{hashlib.sha256(content).hexdigest()[:32]}.parquet"
        _write_whole(self._folder / name, content)
        self._keys, self._metrics, self._values = [], [], []
        self._note(name, self._fresh)
        self._fresh = set()

    def read(self, keys: Iterable[str]) -> Iterator[tuple[list[str], pl.DataFrame]]:
        """The rows (`key`, `metric`, `value`) of these runs: with each shard those of the keys that it holds."""
        by_shard: dict[str, list[str]] = {}
        with _as_os_error():
            for key in keys:
                (shard,) = self._index.execute("SELECT shard FROM runs WHERE key = ?", (key,)).fetchone()
                by_shard.setdefault(shard, []).append(key)
        for shard, held in sorted(by_shard.items()):
            frame = pl.read_parquet(self._folder / shard)
            yield held, frame.filter(pl.col("key").is_in(held))

    def _note(self, shard: str, keys: Iterable[str]) -> None:
        with _as_os_error(), self._index:
            self._index.execute("INSERT OR REPLACE INTO shards VALUES (?)", (shard,))
            self._index.executemany(
                "INSERT OR REPLACE INTO runs VALUES (?, ?)", [(key, shard) for key in sorted(keys)]
            )

    def _open_index(self) -> sqlite3.Connection:
        path = self._root / "index.sqlite"
        try:
            return _connect(path)
        except sqlite3.DatabaseError as error:
            # Damage is mended from the shards; a full disk or a lock is not damage.
            if isinstance(error, sqlite3.OperationalError):
                raise OSError(f"{path}: {error}") from None
            for name in ("index.sqlite", "index.sqlite-journal"):
                (self._root / name).unlink(missing_ok=True)
            with _as_os_error():
                return _connect(path)

    def _reconcile(self) -> None:
        """Make the index say what the shards hold. A damaged shard is deleted: its runs are made again."""
        there = {path.name for path in self._folder.glob("*.parquet")}
        with _as_os_error():
            known = {name for (name,) in self._index.execute("SELECT name FROM shards")}
            with self._index:
                for gone in sorted(known - there):
                    self._forget(gone)
        for name in sorted(there):
            content = (self._folder / name).read_bytes()
            if f"{hashlib.sha256(content).hexdigest()[:32]}.parquet" != name:
                (self._folder / name).unlink(missing_ok=True)
                with _as_os_error(), self._index:
                    self._forget(name)
            elif name not in known:
                self._note(name, pl.read_parquet(BytesIO(content), columns=["key"])["key"].unique())

    def _forget(self, shard: str) -> None:
        self._index.execute("DELETE FROM runs WHERE shard = ?", (shard,))
        self._index.execute("DELETE FROM shards WHERE name = ?", (shard,))


def _connect(path: Path) -> sqlite3.Connection:
    index = sqlite3.connect(path, timeout=60)
    try:
        # The index can be made again, so it need not survive a loss of power.
        index.execute("PRAGMA synchronous = OFF")
        index.execute("CREATE TABLE IF NOT EXISTS shards (name TEXT PRIMARY KEY) WITHOUT ROWID")
        index.execute("CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, shard TEXT) WITHOUT ROWID")
        index.execute("CREATE INDEX IF NOT EXISTS by_shard ON runs (shard)")
        if index.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("the index is damaged")
    except sqlite3.Error:
        index.close()
        raise
    return index


@contextmanager
def _as_os_error() -> Iterator[None]:
    """SQLite's word for a full disk is an error of its own."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(f"index.sqlite: {error}") from None


def _check_format(root: Path) -> None:
    path = root / "store.json"
    try:
        content = json.loads(path.read_bytes())
        found = content.get("format") if isinstance(content, dict) else None
    except FileNotFoundError:
        root.mkdir(parents=True, exist_ok=True)
        _write_whole(path, json.dumps({"format": FORMAT}).encode() + b"\n")
        return
    except ValueError:
        found = None
    if found != FORMAT:
        raise BadInput(
            f"{path}, field `format`",
            f"the store has format {found!r}" if found is not None else "the file does not say which format",
            expected=f"format {FORMAT}, which this version reads",
            remedy="name another folder with --store, or read this one with the version that wrote it",
        )


def _sweep_out(folder: Path) -> None:
    """Delete what killed processes left unfinished."""
    for path in folder.glob(".unfinished-*"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                path.unlink()


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, whatever happens meanwhile."""
    descriptor, draft = tempfile.mkstemp(prefix=".unfinished-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    finally:
        with suppress(FileNotFoundError):
            Path(draft).unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
