"""Tables of a run folder as Parquet files."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab.base.errors import BadInput
from roamlab.base.inputs import open_regular
from roamlab.base.limits import SHARE, available_memory
from roamlab.records.manifest import MANIFEST, broken, build_of
from roamlab.records.tables import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.records.manifest import Manifest

MOST_ROWS = {"handovers": 2_000_000}
"""Rows that are gone through one by one where they are shown: some seconds."""

_TYPES: dict[str, tuple[Any, int]] = {
    "u64": (pl.UInt64, 8),
    "i64": (pl.Int64, 8),
    "u32": (pl.UInt32, 4),
    "f64": (pl.Float64, 8),
    "bool": (pl.Boolean, 1),
    "words": ((pl.Enum, pl.String), 4),
}
"""The types in files of each kind of column, and the bytes of a value in memory."""


def content(frame: pl.DataFrame) -> bytes:
    """A table as a file."""
    buffer = BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def read(path: Path, manifest: Manifest) -> pl.DataFrame:
    """The table in a file, which a run with this manifest wrote. Raises `BadInput` if it is not, or is too long."""
    try:
        with open_regular(path) as file:  # Polars takes a path for a pattern
            _check_size(path, pl.scan_parquet(file), manifest)
            file.seek(0)
            frame = pl.read_parquet(file)
    except pl.exceptions.PolarsError as error:
        raise broken(path, f"not a Parquet file ({error})") from None
    empty = [name for name in frame.columns if frame[name].null_count()]
    if empty:
        raise broken(path, f"column {empty[0]!r} lacks values")
    return frame


def _check_size(path: Path, rows: pl.LazyFrame, manifest: Manifest) -> None:
    """Raise `BadInput` before a table is read that has other columns than ours, or more rows than can be read.

    A file of some kB can hold 10^9 rows of one value.
    """
    table = path.stem
    schema = rows.collect_schema()
    width = 0 if table in TABLES else 8 * max(1, len(schema))
    for name, column in TABLES[table].columns.items() if table in TABLES else ():
        if name not in schema:
            raise _without_column(path, name, manifest)
        fits, size = _TYPES[column.kind]
        found = schema[name]
        if not isinstance(found, fits):
            raise broken(path, f"column {name!r} has the type {found}, not {column.kind}")
        if column.words and isinstance(found, pl.Enum):
            known = {word for word, _ in column.words}
            if other := [word for word in found.categories.to_list() if word and word not in known]:
                raise broken(path, f"column {name!r} has the word {other[0]!r}, which it never holds")
        width += size
    count = int(rows.select(pl.len()).collect().item())
    most = min(int(SHARE * available_memory()) // width, MOST_ROWS.get(table, count))
    if count > most:
        raise BadInput(
            path,
            f"it has {count:,} rows",
            expected=f"at most {most:,} rows, which can be read here",
            remedy="read parts of the file with Polars (`polars.scan_parquet`), or make a shorter run",
        )


def _without_column(path: Path, name: str, manifest: Manifest) -> BadInput:
    """The error of a table that lacks a column: another version wrote it, or it is broken."""
    if manifest.build_hash == build_of(manifest.parameters_text):
        return broken(path, f"there is no column {name!r}")
    return BadInput(
        path,
        f"roamlab {manifest.version} of another build wrote it, without the column {name!r}",
        expected=f"the columns {', '.join(TABLES[path.stem].columns)}",
        remedy=f"run the scenario again: {path.parent / MANIFEST} has its text, its seed and its number",
    )
