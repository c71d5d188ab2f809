"""Hand-made tables in the place of a run's results."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.records.columns import Columns

if TYPE_CHECKING:
    import polars as pl


def ns(*seconds: float) -> list[int]:
    """Times as tables have them."""
    return [round(at * 1e9) for at in seconds]


def manifest(
    parameters: dict[str, Any] | None = None, network: dict[str, Any] | None = None, duration_ns: int = 0
) -> Any:
    """The scenario of hand-made tables: as written, with all that it generates, and how long the run was."""
    outline = SimpleNamespace(duration_ns=duration_ns, recorded={*(parameters or {}).get("record", {})})
    texts = {"parameters_text": json.dumps(parameters), "network_text": json.dumps(network)}
    return SimpleNamespace(outline=outline, parameters=parameters, network=network, **texts)


class FakeResults:
    """Tables by name."""

    def __init__(self, manifest: Any = None, **tables: pl.DataFrame) -> None:
        endless = SimpleNamespace(outline=SimpleNamespace(duration_ns=10**15, recorded=tuple(tables)))
        self.tables, self.manifest = tables, manifest or endless

    def __getattr__(self, name: str) -> pl.DataFrame:
        return self.tables[name]

    def table(self, name: str) -> pl.DataFrame:
        return self.tables[name]

    @property
    def analysis(self) -> _roamlab.Analysis:
        return _roamlab.Analysis()

    def columns(self, name: str) -> Columns:
        return Columns.of(self.tables[name])
