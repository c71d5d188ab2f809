"""The results of many runs, by everything that determined them, so that a run is never made twice.

The folder has three parts. `shards/` has Parquet files with the results of a few hundred runs each, named by
the hash of their content and written completely or not at all. `index.sqlite` maps runs to shards, and is
made again from the shards if the two differ. `store.json` is the format. The index is only an aid: what is
read is checked against the shards' names, and the number of results is checked.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import stat
import time
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab.base.errors import BadInput
from roamlab.base.inputs import open_regular, refuse_file
from roamlab.base.output import sweep_drafts, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

FORMAT = 1
"""Version of the store: another number is another layout."""

ROWS = 20_000
"""Rows of a shard."""

SECONDS = 5.0
"""Measures from before this time are in a shard: a killed sweep loses no more."""

METRICS: dict[str, Any] = {"metric": pl.String, "value": pl.Float64}
"""Columns of a store of summaries, in addition to the key: a row for each metric of a run."""

_NOTHING = ""
"""A run of which nothing is kept has one row with this text, so that it is found again."""

_SHARD = re.compile(r"[0-9a-f]{32}\.parquet")

_ENVIRONMENT = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
}
"""SQLite's errors that are no damage."""

_ATTEMPTS = 4
"""So often the index is made again before its error is shown."""


class Mended(Exception):
    """The index was wrong, or a shard has gone, and the index is made again: what is missing has to be made again."""


class Shards:
    """An open store. Close it, or use it as a context manager: leaving keeps what was added.

    `columns` are those in addition to the key, of text or of numbers; the first is of text.
    """

    def __init__(self, root: Path, columns: dict[str, Any] = METRICS) -> None:
        self._root = root
        self._folder = root / "shards"
        self._schema = {"key": pl.String} | columns
        self._rows: list[tuple[Any, ...]] = []
        self._fresh: set[str] = set()
        self._due = time.monotonic() + SECONDS
        refuse_file(root, "name another folder for the store, such as out/store")
        _check_format(root)
        if self._folder.is_symlink():
            raise BadInput(
                self._folder,
                "it is a symbolic link",
                expected="a folder of shards: damaged ones in it are deleted",
                remedy="name the store that it leads to with --store, or move the link away",
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        sweep_drafts(root)
        sweep_drafts(self._folder)
        self._index: sqlite3.Connection | None = None
        self._ask(lambda index: self._reconcile(index))

    def __enter__(self) -> Shards:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.flush()
        except OSError:
            # The error that led here is reported; the loss of the last seconds adds nothing.
            if kind is None:
                raise
        finally:
            if self._index is not None:
                self._index.close()

    def __contains__(self, key: str) -> bool:
        return key in self._fresh or self._shard(key) is not None

    def add(self, key: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Keep what a run gave. It is on disk after `SECONDS`, after `flush`, or when the store is closed."""
        nothing = (_NOTHING, *(None for _ in range(len(self._schema) - 2)))
        self._rows += [(key, *row) for row in rows or [nothing]]
        self._fresh.add(key)
        if len(self._rows) >= ROWS or time.monotonic() >= self._due:
            self.flush()

    def flush(self) -> None:
        """Put on disk what was added."""
        self._due = time.monotonic() + SECONDS
        if not self._rows:
            return
        buffer = BytesIO()
        frame = pl.DataFrame(self._rows, schema=self._schema, orient="row").sort("key", maintain_order=True)
        frame.write_parquet(buffer, compression="zstd")
        content = buffer.getvalue()
        name = f"{_digest(content)}.parquet"
        write_whole(self._folder / name, content)
        fresh = self._fresh
        self._rows, self._fresh = [], set()
        self._ask(lambda index: _note(index, name, fresh))

    def read(self, keys: Iterable[str]) -> Iterator[tuple[list[str], pl.DataFrame]]:
        """The rows of these runs: with each shard those of the keys that it holds.

        Raises `Mended` if one of them is not there.
        """
        by_shard: dict[str, list[str]] = {}
        for key in keys:
            by_shard.setdefault(self._shard(key) or "", []).append(key)
        for shard, held in sorted(by_shard.items()):
            content = self._content(shard)
            rows = (
                None if content is None else self._rows_in(shard, content).filter(pl.col("key").is_in(held))
            )
            if rows is None or rows["key"].n_unique() != len(held):
                self._start_anew()
                raise Mended
            yield held, rows.filter(pl.nth(1) != _NOTHING)

    def file(self, key: str) -> Path:
        """The file that holds what a run gave."""
        return self._folder / (self._shard(key) or "")

    def _shard(self, key: str) -> str | None:
        """The shard that a run is in, as far as the index knows."""
        row = self._ask(
            lambda index: index.execute("SELECT shard FROM runs WHERE key = ?", (key,)).fetchone()
        )
        return None if row is None else str(row[0])

    def _content(self, shard: str) -> bytes | None:
        """A shard's bytes. One with other content than it was written with is deleted: its runs are made again."""
        path = self._folder / shard
        if not _SHARD.fullmatch(shard):
            return None
        try:
            with open_regular(path) as file:
                content = file.read()
        except FileNotFoundError:
            return None
        if f"{_digest(content)}.parquet" == shard:
            return content
        path.unlink(missing_ok=True)
        return None

    def _rows_in(self, shard: str, content: bytes) -> pl.DataFrame:
        try:
            frame = pl.read_parquet(BytesIO(content))
        except pl.exceptions.PolarsError:
            frame = pl.DataFrame()
        if frame.schema != self._schema:
            raise BadInput(
                self._folder / shard,
                f"the file has the columns {', '.join(frame.columns) or 'of no table'}",
                expected=", ".join(self._schema),
                remedy="move it away: it is not of this store",
            )
        return frame

    def _ask(self, what: Callable[[sqlite3.Connection], Any]) -> Any:
        """Do something with the index. One that is damaged is made again first."""
        for attempt in range(_ATTEMPTS):
            try:
                if self._index is None:
                    self._index = _connect(self._root / "index.sqlite")
                return what(self._index)
            except (sqlite3.Error, TypeError, UnicodeError) as error:
                code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
                if code & 0xFF in _ENVIRONMENT or attempt + 1 == _ATTEMPTS:
                    raise OSError(f"{self._root / 'index.sqlite'}: {error}") from None
                # Where the file was moved away, another process has made the index again.
                self._start_anew(delete=code != sqlite3.SQLITE_READONLY_DBMOVED)
        raise AssertionError

    def _start_anew(self, *, delete: bool = True) -> None:
        """Make the index again from the shards."""
        if self._index is not None:
            self._index.close()
            self._index = None
        if delete:
            for end in _ENDS:
                (self._root / f"index.sqlite{end}").unlink(missing_ok=True)
        with suppress(sqlite3.Error):
            self._index = _connect(self._root / "index.sqlite")
            self._reconcile(self._index)

    def _reconcile(self, index: sqlite3.Connection) -> None:
        """Make the index agree with the shards."""
        # In this order: what another process writes meanwhile is there before the index knows it.
        known = {str(name) for (name,) in index.execute("SELECT name FROM shards")}
        there = {path.name for path in self._folder.iterdir() if _SHARD.fullmatch(path.name)}
        for name in sorted(known - there):
            _forget(index, name)
        for name in sorted(there):
            content = self._content(name)
            if content is None:
                _forget(index, name)
            elif name not in known:
                _note(index, name, self._rows_in(name, content)["key"].unique())


def _note(index: sqlite3.Connection, shard: str, keys: Iterable[str]) -> None:
    with index:
        index.execute("INSERT OR REPLACE INTO shards VALUES (?)", (shard,))
        index.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?)", [(key, shard) for key in sorted(keys)])


def _forget(index: sqlite3.Connection, shard: str) -> None:
    with index:
        index.execute("DELETE FROM runs WHERE shard = ?", (shard,))
        index.execute("DELETE FROM shards WHERE name = ?", (shard,))


_INDEX = {
    "shards": "CREATE TABLE shards (name TEXT PRIMARY KEY) WITHOUT ROWID",
    "runs": "CREATE TABLE runs (key TEXT PRIMARY KEY, shard TEXT) WITHOUT ROWID",
    "by_shard": "CREATE INDEX by_shard ON runs (shard)",
}
"""Content of the index, by name. One with anything else, such as a view that never ends, is made again."""

_ENDS = ("-journal", "-wal", "-shm", "")
"""How the names of SQLite's files end. The index has only the first next to it, and that for an instant."""

_OF_SEVERAL = bytes.fromhex("d9d505f920a163d7")
"""How a journal of SQLite ends that names another file, which SQLite deletes. One of a single database never does."""


def _connect(path: Path) -> sqlite3.Connection:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise BadInput(
            path,
            "it is a symbolic link or no regular file",
            expected="the index of the store, which is made again if it is not there",
            remedy="move it away",
        )
    for end in _ENDS:
        _disown(path.with_name(f"{path.name}{end}"))
    journal = path.with_name(f"{path.name}-journal")
    with suppress(OSError), open_regular(journal) as file:
        file.seek(-len(_OF_SEVERAL), os.SEEK_END)
        if file.read() == _OF_SEVERAL:
            journal.unlink()
    # SQLite would not let the group write where the umask does.
    path.touch()
    index = sqlite3.connect(path, timeout=60)
    try:
        # The index can be made again, so it need not survive a loss of power.
        index.execute("PRAGMA synchronous = OFF")
        there = dict(index.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
        for name, made in _INDEX.items():
            if name not in there:
                index.execute(made.replace(f" {name} ", f" IF NOT EXISTS {name} ", 1))
        if {**_INDEX, **there} != _INDEX or index.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("the index is damaged")
    except BaseException:
        index.close()
        raise
    return index


def _disown(path: Path) -> None:
    """Delete the name of a file that has other names too, which SQLite would write into, or of a pipe or a link."""
    with suppress(FileNotFoundError):
        about = path.lstat()
        if about.st_nlink > 1 or not stat.S_ISREG(about.st_mode):
            path.unlink()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _check_format(root: Path) -> None:
    path = root / "store.json"
    try:
        with open_regular(path) as file:
            content = file.read(1_000_000)
    except FileNotFoundError:
        content = b""
    if not content:
        # Empty after a loss of power: there is nothing in it to lose.
        root.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps({"format": FORMAT}).encode() + b"\n")
        return
    try:
        read = json.loads(content)
    except (ValueError, RecursionError):
        read = None
    found = read.get("format") if isinstance(read, dict) else None
    if found != FORMAT:
        raise BadInput(
            f"{path}, field `format`",
            f"the store has format {found!r}" if found is not None else "the file has no format",
            expected=f"format {FORMAT}, which this version reads",
            remedy="name another folder with --store, or read this one with the version that wrote it",
        )
