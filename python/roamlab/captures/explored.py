"""The explorer's page of a capture."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab import _roamlab
from roamlab.base.errors import BadInput
from roamlab.base.output import write_chart
from roamlab.base.screen import say, shown
from roamlab.captures import logs, printed
from roamlab.captures.explain import Answer, reading
from roamlab.explorer import explorer_page
from roamlab.explorer.packing import Pack
from roamlab.records.constants import EXPLORED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_ASK = (
    "A stall: a flow got nothing new although its sender had some. A slow period: it got less than half of what it did "
    "before. Choose one to see what led to it."
)
_NONE: dict[str, Any] = {
    "windows": {},
    "queues": [],
    "shown_queues": [],
    "hosts": [],
    "nodes": [],
}
"""Facts of a run that a capture does not have."""


def html(paths: Sequence[Path]) -> tuple[str, list[str]]:
    """The page of one capture, or of two of the same flows at both ends; its notes."""
    with reading(paths) as tell:
        answer, text, tables = _roamlab.explore_captures(list(paths), tell)
    facts = json.loads(text)
    printed.check_flows(paths, Answer(**json.loads(answer)), of_qlog=False)
    pack = Pack()
    packed = {
        name: pack.table(0, [(each, np.zeros(0), ()) for each in columns])
        for name, columns in EXPLORED.items()
    }
    for name, columns in tables:
        own = [(column, _exact(values), names or None) for column, values, names in columns]
        packed[name] = pack.table(len(own[0][1]), own)
    title = " and ".join(path.name for path in paths)
    spec = _NONE | facts | {"name": "capture", "title": title, "tables": packed}
    asked = _ASK if facts["stalls"] else "No flow stalled or was slow."
    return explorer_page.page([spec], pack, [facts["headline"]], asked), facts["notes"]


def _exact(values: NDArray[np.float64]) -> NDArray[Any]:
    """Whole numbers as such, which the page keeps exactly."""
    known = values[~np.isnan(values)]
    is_whole = known.size == values.size and np.array_equal(known, np.floor(known))
    return values.astype(np.int64) if is_whole else values


def write(paths: Sequence[Path], out: Path, *, whole: bool) -> None:
    """Write the page to `out`. Raises `BadInput` for a log that has no packets, and for a part of a capture."""
    if not whole:
        raise BadInput(
            "--from, --to",
            "a capture is drawn as a whole",
            expected="a run with these options",
            remedy=f"cut it before: `editcap -A START -B STOP {shown(paths[0])} PART`",
        )
    for path in paths:
        if printed.is_qlog(path) or logs.read(path):
            raise BadInput(
                path,
                "it is a log, and its packets cannot be drawn",
                expected="a packet capture",
                remedy=f"`roamlab why {shown(path)}` explains it",
            )
    made, notes = html(paths)
    for note in notes:
        say(f"note: {note}", err=True)
    write_chart(out, made)
    say(f"page: {shown(out)}")
