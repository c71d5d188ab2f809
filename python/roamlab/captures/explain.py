"""Why the TCP flows of a capture stalled, as the engine finds it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.base.errors import BadInput
from roamlab.base.screen import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Answer:
    """The answer of the engine about one capture, or in two of the same flows."""

    packets: int
    """Packets of the files."""
    length_s: float
    """Time from the first packet to the last."""
    start_ns: int
    """Time of the first packet by the clock of the capture."""
    udp_packets: int
    """Those of UDP."""
    quic_packets: int
    """Those of UDP between ends that opened a connection of QUIC."""
    notes: list[str]
    """Parts that are left out or were put right."""
    flows: list[dict[str, Any]]
    """TCP flows with data, those with the longest stall first. docs/captures.md has the fields."""

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        return dict(vars(self))


def explain_qlog(path: Path, tell: Callable[[int], None] | None = None) -> Answer:
    """Read a qlog, and explain the stalls of its QUIC connections."""
    return _answered([path], lambda: _roamlab.explain_qlog_file(path, tell), "event")


def explain(paths: Sequence[Path], tell: Callable[[int], None] | None = None) -> Answer:
    """Read one capture or two, and explain the stalls of their flows. `tell` gets the bytes that were read."""
    return _answered(paths, lambda: _roamlab.explain_captures(list(paths), tell), "packet")


def _answered(paths: Sequence[Path], read: Callable[[], str], part: str) -> Answer:
    """An answer of the engine; a fault names the file, and the number of the packet or event."""
    try:
        return Answer(**json.loads(read()))
    except _roamlab.CaptureError as error:
        place = f"{part} {error.packet}, byte {error.byte}" if error.packet else f"byte {error.byte}"
        raise BadInput(
            f"{shown(paths[error.file])}, {place}",
            error.problem,
            expected=error.expected,
            remedy=error.remedy,
        ) from None
