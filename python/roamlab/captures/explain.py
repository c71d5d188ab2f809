"""Why the TCP flows of a capture stalled, as the engine finds it."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.base.errors import BadInput
from roamlab.base.screen import shown
from roamlab.running.runprogress import measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
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
    path: dict[str, Any] | None = None
    """The path of a flow, if it was asked for."""

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        return {name: value for name, value in vars(self).items() if name != "path"}


def explain_qlog(path: Path) -> Answer:
    """Read a qlog, and explain the stalls of its QUIC connections."""
    with reading([path], "event") as tell:
        return Answer(**json.loads(_roamlab.explain_qlog_file(path, tell)))


def explain(paths: Sequence[Path], path_of: str | None = None) -> Answer:
    """Read one capture or two, and explain the stalls of their flows.

    `path_of`: with the path of the flow with most data among those whose ends have this text.
    """
    with reading(paths) as tell:
        return Answer(**json.loads(_roamlab.explain_captures(list(paths), tell, path_of)))


def unpacked_name(path: Path) -> str:
    """The name of a file in small letters, without the ending of a packed one."""
    return path.name.lower().removesuffix(".gz").removesuffix(".zst")


@contextmanager
def reading(paths: Sequence[Path], part: str = "packet") -> Iterator[Callable[[int], None]]:
    """Shows how much of the files the engine has read: it tells the bytes. A fault names the file and the `part`."""
    for path in paths:
        if not path.exists():
            raise BadInput(path, "there is no such file", expected="a capture", remedy="write its path")
        if not path.is_file():
            raise BadInput(path, "it is no file", expected="a capture", remedy="name a file")
    total = sum(path.stat().st_size for path in paths)
    try:
        with measured("read", total) as tell:
            yield lambda done: tell(done, lambda seconds: _state(done, total, seconds))
    except _roamlab.CaptureError as error:
        place = f"{part} {error.packet}, byte {error.byte}" if error.packet else f"byte {error.byte}"
        raise BadInput(
            f"{shown(paths[error.file])}, {place}",
            error.problem,
            expected=error.expected,
            remedy=error.remedy,
        ) from None


def _state(done: int, total: int, seconds: float) -> str:
    rate = f", {done / 1e6 / seconds:.3g} MB/s" if seconds > 0 else ""
    return f"{done / 1e6:.0f} of {total / 1e6:.0f} MB{rate}"
