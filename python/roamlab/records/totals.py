"""The totals of a run as plain values: they are there before Polars is loaded, which takes longer than a short run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from roamlab.records.results import Results

Row = dict[str, Any]

_NO_LOSS = ("copy-released", "duplicate", "suppressed-ack")
"""Reasons of drops that are no loss: a copy that is released, or arrives twice. No flow counts it."""


class Totals(NamedTuple):
    """The flows of a run, and its lost packets by place and reason."""

    flows: list[Row]
    drops: list[Row]

    @classmethod
    def of(cls, results: Results, columns: Sequence[str] | None = None) -> Totals:
        """The totals of a run, with these columns of its flows, or all."""
        flows = results.flows if columns is None else results.flows.select(columns)
        lost = results.drops.group_by("place", "reason").len().rows()
        return cls([*map(finite, flows.iter_rows(named=True))], _losses(lost))

    @classmethod
    def from_engine(cls, flows: Mapping[str, Sequence[Any]], lost: Iterable[tuple[str, str, int]]) -> Totals:
        """The totals as the engine gives them: the columns of the flows, and place, reason and number of drops."""
        rows = zip(*flows.values(), strict=True)
        return cls([finite(dict(zip(flows, row, strict=True))) for row in rows], _losses(lost))


def _losses(lost: Iterable[tuple[str, str, int]]) -> list[Row]:
    return [
        {"place": place, "reason": reason, "packets": packets}
        for place, reason, packets in sorted(lost)
        if reason not in _NO_LOSS
    ]


def finite(row: Row) -> Row:
    """A row as JSON has it: what is not finite is None."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }
