"""The track of a node, from a log of any of the forms that are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.base.errors import BadInput
from roamlab.imports import positions, setdest
from roamlab.imports.elements import is_xml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from roamlab.imports.movement import Track


def read(
    log: Path,
    node: str,
    named: Mapping[str, str],
    only: Mapping[str, str],
    *,
    origin: tuple[float, float] | None = None,
    geo: bool = False,
) -> Track:
    """The track of a node; of the only one without its name. Arguments as of `positions.read`.

    Raises `BadInput` with file and line.
    """
    xml = is_xml(log, positions.EXPECTED)
    if not xml and not setdest.recognises(log):
        return positions.read(log, node, named, only, origin, geo=geo)
    unread: dict[str, object] = {"--column": named, "--where": only}
    if not xml:
        unread |= {"--geo": geo, "--origin": origin}
    for option, given in unread.items():
        if given:
            raise BadInput(
                option,
                f"this is {'XML' if xml else 'a movement file of ns-2'}, which has no "
                f"{'degrees' if option in ('--geo', '--origin') else 'columns'}",
                expected=f"no {option}",
                remedy="leave it out",
            )
    return positions.read_xml(log, node, origin, geo=geo) if xml else setdest.read(log, node)
