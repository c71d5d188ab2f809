"""Long tables on their way to disk: rows leave in pieces during the run, so that memory stays constant."""

from __future__ import annotations

from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

from polars.io.plugins import register_io_source

from roamlab.base.output import disk_errors, open_new
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


class _Hand:
    """One piece at a time from one thread to others. The end is for all who ask, and stays.

    There may be two who ask: Polars can give up a file while a thread of its own still asks for a piece.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._piece: pl.DataFrame | None = None
        self._ended = False

    def give(self, piece: pl.DataFrame) -> None:
        """Wait until the piece before is taken. After the end a piece is dropped."""
        with self._changed:
            self._changed.wait_for(lambda: self._piece is None or self._ended)
            if not self._ended:
                self._piece = piece
            self._changed.notify_all()

    def take(self) -> pl.DataFrame | None:
        """Wait for the next piece; `None` after the last."""
        with self._changed:
            self._changed.wait_for(lambda: self._piece is not None or self._ended)
            piece, self._piece = self._piece, None
            self._changed.notify_all()
            return piece

    def end(self) -> None:
        """No piece comes behind those that were given."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class _File:
    """A Parquet file that a thread writes while pieces come: Polars asks for them."""

    def __init__(self, path: Path, kinds: dict[str, pl.Enum]) -> None:
        self.kinds = kinds
        self._path = path
        self._hand = _Hand()
        self._is_abandoned = False
        self._error: BaseException | None = None
        self._thread: Thread | None = None

    def add(self, piece: pl.DataFrame) -> None:
        """Hand a piece to the thread; wait while the one before is not taken."""
        if self._thread is None:
            self._thread = Thread(target=self._write, args=(piece.schema,), daemon=True)
            self._thread.start()
        self._hand.give(piece)
        self._fail()

    def finish(self) -> None:
        """End the file."""
        self._end()
        self._fail()

    def abandon(self) -> None:
        """End the thread, if it has not ended."""
        self._is_abandoned = True
        self._end()

    def _end(self) -> None:
        self._hand.end()
        if self._thread is not None:
            self._thread.join()

    def _fail(self) -> None:
        if self._error is not None:
            raise self._error

    def _write(self, schema: pl.Schema) -> None:
        try:
            with disk_errors(), open_new(self._path) as file:  # a path must be UTF-8 for Polars
                register_io_source(self._pieces, schema=schema).sink_parquet(file)
        except BaseException as error:  # noqa: BLE001 (Polars' interrupts too: it is raised where pieces are added)
            self._error = error
        self._hand.end()  # no writer may wait forever

    def _pieces(self, *_: Any) -> Iterator[pl.DataFrame]:
        while (piece := self._hand.take()) is not None:
            yield piece
        if self._is_abandoned:
            raise _Abandoned
