"""The comparison of a run with formulas, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.base.quantities import counted, number, scale, with_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from roamlab.formulas.table import Entry

_RELATIONS = {"equal": "", "at most": "≤ ", "at least": "≥ "}


def table(entries: Sequence[Entry]) -> Table:
    """A row for each comparison that applies."""
    from rich.table import Table
    from rich.text import Text

    made = Table(title="Theory next to the run")
    for heading in ("formula", "of"):
        made.add_column(heading, overflow="fold")
    for heading in ("expected", "measured", "off", "accuracy"):
        made.add_column(heading, justify="right", overflow="fold")
    made.add_column("verdict", overflow="fold")
    for each in entries:
        if each.applies:
            values = _values(each)
            verdict = "flag" if each.flagged else "allowed" if each.relation != "equal" else "agrees"
            verdict = "near" if not each.flagged and each.residual > each.accuracy else verdict
            made.add_row(Text(each.formula), Text(each.subject), *map(Text, values), Text(verdict))
    return made


def _values(each: Entry) -> list[str]:
    """Expected and measured value, and of the expected one the shares by which it is off and may be off."""
    divisor, unit = scale((each.expected, each.measured), each.unit)
    expected, measured = (
        with_unit(number(value / divisor), unit) for value in (each.expected, each.measured)
    )
    off, accuracy = (
        f"{value / abs(each.expected):.2%}" if each.expected else number(value)
        for value in (each.residual, each.accuracy)
    )
    return [f"{_RELATIONS[each.relation]}{expected}", measured, off, accuracy if each.accuracy else "exact"]


def reasons(entries: Sequence[Entry]) -> list[str]:
    """A line for each formula that does not apply: the assumption that the run breaks."""
    return [
        f"{each.formula} of {each.subject} does not apply: {each.broken}" for each in entries if each.broken
    ]


def lines(entries: Sequence[Entry]) -> list[str]:
    """The flagged entries in sentences, or one that there is none."""
    applied = sum(each.applies for each in entries)
    if flagged := [f"flag: {each.sentence()}" for each in entries if each.flagged]:
        return flagged
    return [
        f"no flag: {counted(applied, 'comparison')} of {len(entries)} apply, and each allows what the run has"
    ]
