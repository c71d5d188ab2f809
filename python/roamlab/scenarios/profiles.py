"""TCP profiles as tables. The engine declares every parameter, its value and its meaning; nothing is listed here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict

from roamlab import _roamlab
from roamlab.base.errors import BadInput

if TYPE_CHECKING:
    from rich.table import Table


class ProfileParameter(TypedDict):
    """A row of a profile."""

    parameter: str
    """Name of the field in a flow's `tcp` table."""
    value: str
    unit: str
    """Unit of `value`; empty for a count, a truth value or a choice."""
    meaning: str
    """Its meaning, and its source: RFC section or ns-2 variable."""
    rfc: str
    """Value in the profile "rfc", with its unit."""
    differs: bool
    """The value is not that of "rfc"."""


def names(family: str = "tcp profiles") -> list[str]:
    """The names in a family of the engine's catalogue."""
    return [row["name"] for row in json.loads(_roamlab.catalogue())[family]]


def profile(name: str, variant: str = "reno") -> list[ProfileParameter]:
    """The parameters of a TCP profile for one variant. Raises `BadInput` where there is no such name."""
    for option, value, known in (
        ("profile", name, names()),
        ("variant", variant, names("tcp variants")),
    ):
        if value not in known:
            raise BadInput(
                f"--{option} {value}",
                f"there is no such {option}",
                expected=f"one of: {', '.join(known)}",
                remedy="`roamlab list` explains each",
            )
    found = _roamlab.tcp_profile(name, variant)
    if found is None:
        raise AssertionError(f"the catalogue lists {name} and {variant}, which the engine does not know")
    parameters: list[ProfileParameter] = json.loads(found)
    return parameters


def terminal_table(name: str, variant: str) -> Table:
    """The profile as a table for the terminal; differences from "rfc" are in the third column."""
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=f"TCP profile {name}, variant {variant}; window and segment as shown, where others follow them",
        title_justify="left",
    )
    for heading in ("parameter", "value", "unit"):
        table.add_column(heading, no_wrap=True)
    if name != "rfc":
        table.add_column("rfc has", no_wrap=True)
    table.add_column("meaning and source")
    for row in profile(name, variant):
        style = "bold" if row["differs"] else ""
        cells = [row["parameter"], row["value"], row["unit"]]
        if name != "rfc":
            cells.append(row["rfc"] if row["differs"] else "")
        table.add_row(*(Text(cell, style) for cell in cells), Text(row["meaning"]))
    return table
