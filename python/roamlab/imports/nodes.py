"""Names of nodes: that of a scenario for one of a file, and the one that a user wants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.base.errors import BadInput, closest

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

_LISTED = 12
"""Names that an error lists."""


def chosen(log: Path, wanted: str, names: Collection[str], kind: str) -> str:
    """The name of the wanted node, or the only one if none is wanted. Raises `BadInput`."""
    if not names:
        raise BadInput(
            log, f"it has no {kind}", expected=f"positions of a {kind}", remedy="name a log of movement"
        )
    listed = ", ".join(list(names)[:_LISTED]) + (f", … ({len(names)} in all)" if len(names) > _LISTED else "")
    if wanted in names:
        return wanted
    if wanted:
        near = closest(wanted, names) or next(iter(names))
        raise BadInput(
            "--host",
            f"{log.name} has no {kind} {wanted!r}",
            expected=f"one of: {listed}",
            remedy=f"write --host {near}",
        )
    if len(names) > 1:
        raise BadInput(
            log,
            f"it has {len(names)} {kind}s",
            expected=f"one of: {listed}",
            remedy=f"write --host {next(iter(names))}",
        )
    return next(iter(names))


def plain(label: str) -> str:
    """A name of letters, digits, hyphens and underscores, as a scenario has it; empty if the label has none of them."""
    words = "".join(letter if letter.isalnum() or letter in "-_" else " " for letter in label).split()
    return "-".join(words)[:_LONGEST]


_LONGEST = 90
"""Characters of a name, with room for a number behind it: a scenario takes 100."""
