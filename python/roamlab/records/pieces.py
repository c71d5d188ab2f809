"""Long tables on their way to disk: a piece at a time while their run goes on, so that memory stays flat."""

from __future__ import annotations

from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Any

from polars.io.plugins import register_io_source

from roamlab.records.results import frame_of, kinds_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

    from roamlab._roamlab import Tables


class Pieces:
    """The long tables of one run: each grows in a file `<table>.parquet` of a folder.

    Used in a `with` block. A file is whole after `finish`; a block that ends without it leaves files that are not.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, _File] = {}

    def __enter__(self) -> Pieces:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.abandon()

    def add(self, tables: Tables) -> None:
        """The next piece of a table, as the engine gives it."""
        (table,) = tables.keys() - {"names"}
        file = self._files.get(table)
        if file is None:
            path = self._folder / f"{table}.parquet"
            file = self._files[table] = _File(path, kinds_of(table, tables["names"]))
        file.add(frame_of(tables[table], file.kinds))

    def finish(self) -> list[str]:
        """Write what is left and end the files; the tables."""
        for file in self._files.values():
            file.finish()
        return list(self._files)


class _Abandoned(Exception):
    """The file will not be finished."""


class _File:
    """A Parquet file that a thread writes while pieces come. Polars asks for them, so they wait in a queue."""

    def __init__(self, path: Path, kinds: dict[str, pl.Enum]) -> None:
        self.kinds = kinds
        self._path = path
        self._waiting: Queue[pl.DataFrame | None] = Queue(maxsize=1)
        self._taken_all = self._is_abandoned = False
        self._error: BaseException | None = None
        self._thread: Thread | None = None

    def add(self, piece: pl.DataFrame) -> None:
        """Hand a piece to the thread; wait while the one before is not taken."""
        if self._thread is None:
            self._thread = Thread(target=self._write, args=(piece.schema,), daemon=True)
            self._thread.start()
        if self._error is None:
            self._waiting.put(piece)
        if self._error is not None:
            raise self._error

    def finish(self) -> None:
        """End the file."""
        self._end()
        if self._error is not None:
            raise self._error

    def abandon(self) -> None:
        """End the thread, if it has not ended."""
        self._is_abandoned = True
        self._end()

    def _end(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()

    def _write(self, schema: pl.Schema) -> None:
        try:
            with self._path.open("wb") as file:  # a path must be UTF-8 for Polars
                register_io_source(self._pieces, schema=schema).sink_parquet(file)
        except BaseException as error:  # noqa: BLE001 (Polars' interrupts too: it is raised where pieces are added)
            self._error = error
        while not self._taken_all:  # nobody who adds may wait for ever
            self._taken_all = self._waiting.get() is None

    def _pieces(self, *_: Any) -> Iterator[pl.DataFrame]:
        while (piece := self._waiting.get()) is not None:
            yield piece
        self._taken_all = True
        if self._is_abandoned:
            raise _Abandoned
