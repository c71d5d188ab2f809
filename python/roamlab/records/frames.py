"""The tables of a run as properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


class Frames:
    """A run's tables as Polars frames; `table` gives each."""

    def table(self, name: str) -> pl.DataFrame:
        """A table by its name."""
        raise NotImplementedError
