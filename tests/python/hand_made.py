"""Hand-made tables in the place of a run's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.records.columns import Columns

if TYPE_CHECKING:
    import polars as pl


def ns(*seconds: float) -> list[int]:
    """Times as tables have them."""
    return [round(at * 1e9) for at in seconds]


class FakeResults:
    """Tables by name."""

    def __init__(self, manifest: Any = None, **tables: pl.DataFrame) -> None:
        self.tables, self.manifest = tables, manifest

    def __getattr__(self, name: str) -> pl.DataFrame:
        return self.tables[name]

    def table(self, name: str) -> pl.DataFrame:
        return self.tables[name]

    @property
    def analysis(self) -> _roamlab.Analysis:
        return _roamlab.Analysis()

    def columns(self, name: str) -> Columns:
        return Columns.of(self.tables[name])
