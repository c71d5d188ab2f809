"""A table of one run as NumPy arrays: measures over thousands of runs read these, and not frames.

A query on a frame makes a plan, and wakes threads, for the rows of one run; that takes longer than the search
itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from roamlab.base.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from roamlab._roamlab import Tables
    from roamlab.records.manifest import Manifest

Mask = NDArray[np.bool_]
"""Which rows are meant."""

Rows = Mask | NDArray[np.intp] | slice
"""The same, or their numbers."""


class RunTables(Protocol):
    """Data that metrics read of a run. `Results` has it."""

    @property
    def manifest(self) -> Manifest:
        """Inputs that determined the run."""

    def columns(self, name: str) -> Columns:
        """A table by its name."""


class Columns:
    """The columns of a table. A column of names holds codes into a list of names."""

    def __init__(self, values: Mapping[str, NDArray[Any]], names: Mapping[str, Sequence[str]]) -> None:
        self._values, self._names = values, names

    @classmethod
    def from_engine(cls, tables: Tables, table: str) -> Columns:
        """A table that the engine gave; nothing is copied."""
        values: Any = tables[table]
        names: Any = tables.get("names", {})
        return cls(
            values, {column: names[full] for column in values if (full := f"{table}.{column}") in names}
        )

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Columns:
        """The columns of a frame."""
        values: dict[str, NDArray[Any]] = {}
        names: dict[str, list[str]] = {}
        for series in frame.iter_columns():
            kind = series.dtype
            if kind == pl.String:
                kind = pl.Enum(series.unique(maintain_order=True))
                series = series.cast(kind)
            if isinstance(kind, pl.Enum):
                names[series.name] = kind.categories.to_list()
                series = series.to_physical()
            values[series.name] = series.to_numpy()
        return cls(values, names)

    def __getitem__(self, column: str) -> NDArray[Any]:
        """A column: its numbers, or the codes of its names."""
        return self._values[column]

    def __contains__(self, column: str) -> bool:
        """True if there is such a column."""
        return column in self._values

    def each(self) -> Iterator[tuple[str, NDArray[Any], Sequence[str] | None]]:
        """Name, values and, of names, the names of each column."""
        return ((name, values, self._names.get(name)) for name, values in self._values.items())

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(next(iter(self._values.values()), ()))

    def where(self, column: str, *names: str) -> Mask:
        """In which rows a column of names has one of these."""
        values, known = self._values[column], self._names[column]
        codes = [code for code, name in enumerate(known) if name in names]
        if len(codes) == len(known):
            return np.ones(len(values), dtype=np.bool_)
        chosen: Mask = values == codes[0] if codes else np.zeros(len(values), dtype=np.bool_)
        for code in codes[1:]:
            chosen |= values == code
        return chosen

    def names(self, column: str) -> Sequence[str] | None:
        """The names of the codes of a column; None: it holds numbers."""
        return self._names.get(column)

    def words(self, column: str, rows: Rows = slice(None)) -> list[str]:
        """A column of names as text, in the chosen rows."""
        known = self._names[column]
        return [known[code] for code in self._values[column][rows]]


def not_recorded(name: str, place: str) -> BadInput:
    """The error for a table without rows that the run did not record."""
    return BadInput(
        f"{place}, table {name!r}" if name not in place else place,
        "the run did not record it: it has no rows",
        expected="a table that is recorded",
        remedy=f'write `{name} = true` under [record], or .set("record.{name}", True), and run it again',
    )
