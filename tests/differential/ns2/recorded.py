"""Runs of ns-2 kept in `recorded.json.xz`, for where ns-2 is not installed.

`python tests/differential/ns2/recorded.py` records them again: the classic cases and 92 random ones, of them
31 that once differed.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import TYPE_CHECKING

import reference
from case import Case, classic, draw, draw_wide
from corners import draw_corner
from events import KINDS, Event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from events import Events

FILE = Path(__file__).with_name("recorded.json.xz")
SEEDS = (*range(1, 41), 76, 501, 620, 663, 727, 1200, 2100, 2783, 2851, 4406)

WIDE_SEEDS = (14, 17, 38, 68, 147, 194, *range(201, 222), 295, 648, 734, 1044, 1600, 1799, 1932)

CORNERS = (
    (21, "the first segment lost, bugfix_ss_ off"),
    (23, "the first segment lost, bugfix_ss_ off"),
    (5, "overtaken ACKs, maxburst_ 1 to 3"),
    (13, "overtaken ACKs, maxburst_ 1 to 3"),
    (21, "overtaken ACKs, maxburst_ 1 to 3"),
    (23, "overtaken ACKs, maxburst_ 1 to 3"),
    (19, "stop as start"),
    (1, "mark_p_ 2"),
)


def cases() -> list[Case]:
    """The cases that are kept."""
    corners = [draw_corner(*corner) for corner in CORNERS]
    return [*classic(), *map(draw, SEEDS), *map(draw_wide, WIDE_SEEDS), *corners]


def _pack(events: Events) -> dict[str, list[list[int | str]]]:
    """By kind, column by column: steps of the time in 10 ns, flows, steps of the number, details."""
    packed = {}
    for kind in KINDS:
        chosen = [event for event in events if event.kind == kind]
        times = [round(event.time * 100) for event in chosen]
        numbers = [event.number for event in chosen]
        packed[kind] = [
            [now - before for before, now in zip([0, *times], times, strict=False)],
            [event.flow for event in chosen],
            [now - before for before, now in zip([0, *numbers], numbers, strict=False)],
            [event.detail for event in chosen],
        ]
    return packed


def _unpack(packed: dict[str, list[list[int]]]) -> Events:
    events = []
    for kind, columns in packed.items():
        time = number = 0
        for later, flow, step, detail in zip(*columns, strict=True):
            time, number = time + later, number + step
            events.append(Event(kind, time / 100, flow, number, str(detail)))
    return events


def record() -> None:
    """Runs ns-2 and keeps what it did."""
    runs = []
    for case in cases():
        phases, events = reference.run(case)
        runs.append({"case": case.table(), "phases": phases, "events": _pack(events)})
    text = json.dumps(runs, separators=(",", ":"))
    FILE.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def read() -> Iterator[tuple[Case, list[int], Events]]:
    """Recorded data: each case, the phases of the senders' clocks, the events of ns-2."""
    for run in json.loads(lzma.decompress(FILE.read_bytes())):
        yield Case.of(run["case"]), run["phases"], _unpack(run["events"])


if __name__ == "__main__":
    record()
