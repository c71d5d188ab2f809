"""Tables that users get: a Polars frame that cannot be changed, and whose errors have what to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from roamlab.base.calls import BadCall, no_attribute
from roamlab.base.errors import BadInput, did_you_mean

if TYPE_CHECKING:
    from typing import Self

_CHANGING = ("__setitem__", "drop_in_place", "extend", "insert_column", "replace_column")


_FILTER = 'write .filter(pl.col("flow") == "moving"), after import polars as pl'
_OF_PANDAS = {
    "loc": _FILTER,
    "iloc": "write .row(0, named=True) for one row, or .slice(0, 5) for several",
    "query": _FILTER,
    "to_csv": "write .write_csv(path)",
    "to_parquet": "write .write_parquet(path)",
    "to_json": "write .write_json(path)",
    "sort_values": "write .sort(column)",
    "groupby": "write .group_by(column)",
    "plot": "charts are made by `roamlab chart` and by results.plot_queue",
    "values": "write .to_numpy()",
    "index": "rows have no names: .with_row_index() numbers them",
    "set_index": "rows have no names: write .sort(column)",
    "iterrows": "write .iter_rows(named=True)",
    "apply": "write .map_rows(function)",
    "append": "write pl.concat([one, other]), after import polars as pl",
}
"""Names of pandas, and what to write here."""


class BadColumn(BadInput, pl.exceptions.ColumnNotFoundError):
    """A column that a table does not have, with what to write."""


class Frame(pl.DataFrame):
    """A table. What is made of it, by `clone` too, is a Polars frame as any."""

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Self:
        """The table with the columns of a frame, which are not copied."""
        found = cls.__new__(cls)
        found._df = frame._df
        return found

    @classmethod
    def signed(cls, frame: pl.DataFrame) -> Self:
        """The table of a run: whole numbers have a sign, so that the difference of two times may be below 0."""
        return cls.of(frame.with_columns(pl.col(pl.UInt64, pl.UInt32).cast(pl.Int64)))

    @classmethod
    def _from_pydf(cls, py_df: Any) -> pl.DataFrame:
        return pl.DataFrame._from_pydf(py_df)

    def __getitem__(self, key: Any) -> Any:
        """As Polars has it. Raises `BadColumn` for the name of no column, with the filter if it is a value of one."""
        names = [key] if isinstance(key, str) else key if isinstance(key, list) else []
        wrong = next((name for name in names if isinstance(name, str) and name not in self.columns), None)
        if wrong is not None:
            raise BadColumn(
                f"table[{wrong!r}]",
                "the table has no such column",
                expected=f"one of {', '.join(self.columns)}",
                remedy=self._rows_of(wrong) or did_you_mean(wrong, self.columns, "see docs/tables.md"),
            )
        if isinstance(key, pl.Series) and key.dtype == pl.Boolean:
            raise BadCall(
                "table[…]",
                "a series of truth values chooses no rows of a Polars frame",
                expected="the name of a column, or the number of a row",
                remedy='write table.filter(pl.col("flow") == "moving"), after import polars as pl',
            )
        return super().__getitem__(key)

    def _rows_of(self, value: str) -> str:
        """The query to write for the rows with a name, if a column has it; else empty."""
        for column in self.columns:
            named = self.schema[column] in (pl.String, pl.Enum, pl.Categorical)
            if named and value in self.get_column(column).cast(pl.String).unique():
                return f'write table.filter(pl.col("{column}") == {value!r}), after import polars as pl'
        return ""

    def __getattr__(self, name: str) -> NoReturn:
        known = name in self.columns
        hint = (
            f'write table["{name}"]' if known else _OF_PANDAS.get(name, "see docs/tables.md for its columns")
        )
        others = () if known or name in _OF_PANDAS else dir(pl.DataFrame)
        raise no_attribute("a table, which is a Polars frame,", name, others, hint)


def _refuse(_self: Frame, *_: Any, **__: Any) -> NoReturn:
    raise BadCall(
        "table",
        "it is read-only: what was measured is not changed",
        expected="a table that is read",
        remedy="write own = table.clone(), which may be changed, or table.with_columns(…)",
    )


for _name in _CHANGING:
    setattr(Frame, _name, _refuse)
setattr(Frame, "columns", property(lambda self: self._df.columns(), _refuse))  # noqa: B010  (mypy takes it for constant)
