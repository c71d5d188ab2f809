"""The path of a flow, as the engine finds it in a capture."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted
from roamlab.base.screen import shown
from roamlab.captures import logs
from roamlab.captures.explain import explain
from roamlab.captures.printed import check_flows, chosen, is_qlog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from roamlab.captures.explain import Answer

LEAST_PACKETS = 50
"""A flow with fewer packets shows neither its sender nor its path."""


@dataclass(frozen=True)
class Gap:
    """A time in which nothing passed, at the receiver, in s from the first sending of data."""

    start_s: tuple[float, float]
    """The earliest and the latest begin."""
    end_s: tuple[float, float]
    """The earliest and the latest end."""
    is_held: bool
    """Packets waited in it; otherwise they were lost."""
    packets: int
    """Packets with data that were sent into it."""
    cut_start_s: tuple[float, float]
    """The begin, if the gap was in front of the queue: when packets were there."""
    cut_end_s: tuple[float, float]
    """Its end there."""

    def ends(self, place: str) -> tuple[float, float]:
        """The earliest and the latest end, of a gap at this place (`twin.PLACES`)."""
        return self.cut_end_s if place == "wire" else self.end_s

    def starts(self, place: str) -> tuple[float, float]:
        """The earliest and the latest begin."""
        return self.cut_start_s if place == "wire" else self.start_s


@dataclass(frozen=True)
class FlowPath:
    """The path of one flow, as its packets show it. Times are in s from the first sending of data."""

    flow: str
    """Its ends, sender of the data first."""
    place: str
    """Where it was captured: "sender", "receiver", "middle", "both ends"."""
    start_s: float
    """The first sending of data, from the first packet of the capture."""
    length_s: float
    """From there to the last packet."""
    segment: int
    """Usual bytes of a segment."""
    headers: int
    """Bytes of headers in front of them, IP's included."""
    base_s: float
    """The round trip without queues and transmissions."""
    least_s: float
    """The least round trip of a packet with data."""
    rates: list[dict[str, Any]]
    """The rate over time: `from_s`, `bps`, `low_bps`, `high_bps`, `busy_s`, `is_brief`; empty: no queue was seen."""
    at_least_bps: float
    """Bits in a second that passed at least."""
    wait_s: float
    """The largest wait in a queue."""
    full: list[int]
    """Numbers of packets that a full queue lost, among all with data, from 0."""
    full_wait_s: float
    """The wait in it."""
    lost: list[int]
    """Numbers of other lost packets among all with data, from 0."""
    packets: int
    """Packets with data."""
    gaps: list[Gap]
    """Silences of the path."""
    longer: dict[str, Any] | None
    """A longer path: `from_s`, `to_s` (None: to the end), and by how much each way is, `ahead_s` and `back_s`."""
    window: int | None
    """The receiver's window in segments, if it limits the flow."""
    first_window: int
    """Packets that were sent before the first report."""
    bursts: dict[str, Any] | None
    """`count`, `bytes` and `period_s` of the application's bursts; None: it always had data."""
    bytes: int
    """Bytes of payload that arrived, each counted once."""
    is_closed: bool
    """The sender closed the connection."""
    course: NDArray[np.float64]
    """Times, and bytes that had arrived by then, in two columns."""
    waits: NDArray[np.float64]
    """Times of arrivals, and how long these packets waited on the path, in two columns."""
    timeouts_s: list[float] | None
    """Times of timeouts; None: a receiver does not see them."""

    @property
    def packet_s(self) -> float:
        """The time to transmit a packet."""
        return (self.segment + self.headers) * 8 / self.bps

    @property
    def bps(self) -> float:
        """The rate at the begin; without one what passed at least."""
        return float(self.rates[0]["bps"]) if self.rates else self.at_least_bps

    @property
    def is_filled(self) -> bool:
        """The flow filled the path for long enough to measure its rate."""
        return bool(self.rates) and not self.rates[0]["is_brief"]

    @property
    def end_s(self) -> float:
        """End of the time over which goodput is taken: of a closed flow its last byte, otherwise its last packet."""
        return float(self.course[-1, 0]) if self.is_closed else self.length_s

    @property
    def goodput_bps(self) -> float:
        """Bits of payload in a second."""
        return self.bytes * 8 / self.end_s


def read(paths: Sequence[Path], flow: str | None) -> FlowPath:
    """The path of the flow with most data in one capture or in two of both ends; `flow`: a part of its ends.

    Raises `BadInput` for files that hold no such flow, and for one that is too short.
    """
    refuse_logs(paths)
    return chosen_path(explain(paths, flow or ""), paths, flow)


def refuse_logs(paths: Sequence[Path]) -> None:
    """Raise `BadInput` for files that have no packets."""
    for path in paths:
        if path.is_file() and (is_qlog(path) or logs.read(path)):
            raise BadInput(
                path,
                "a qlog has no packets of the path" if is_qlog(path) else "a log has no packets of the path",
                expected="a packet capture of a TCP flow",
                remedy=f"capture a TCP download over the same path; `roamlab why {shown(path)}` explains this file",
            )


def chosen_path(found: Answer, paths: Sequence[Path], flow: str | None) -> FlowPath:
    """The path in an answer about these captures that was asked for with it; errors as those of `read`."""
    where = " and ".join(shown(path) for path in paths)
    check_flows(paths, found, of_qlog=False)
    named = chosen(found, flow, None).flows
    if found.path is None:
        raise _without_path(where, named[0])
    if 0 in max(named, key=lambda each: each["bytes"])["packets"]:
        raise _one_way(where)
    path = _of(found.path)
    if path.packets < LEAST_PACKETS or path.course.shape[0] < 2:
        raise BadInput(
            f"{where}, flow {path.flow}",
            f"it has {counted(path.packets, 'packet', 'packets')} with data",
            expected=f"a flow with at least {LEAST_PACKETS}, which shows the path",
            remedy="capture a longer download; `roamlab why` explains this one",
        )
    return path


def _one_way(where: str) -> BadInput:
    return BadInput(
        where,
        "it has one direction of the flow alone, so no round trip is known",
        expected="data and acknowledgements",
        remedy="capture both directions: `tcpdump -i any -s 128 -w FILE tcp port PORT`",
    )


def _without_path(where: str, flow: dict[str, Any]) -> BadInput:
    if 0 in flow["packets"]:
        return _one_way(where)
    return BadInput(
        f"{where}, flow {flow['flow']}",
        "no packet was sent once and acknowledged, so no round trip is known",
        expected="a flow with data and acknowledgements",
        remedy="name another one with --flow, or capture a longer download",
    )


def _of(found: dict[str, Any]) -> FlowPath:
    gaps = [
        Gap(
            tuple(gap["start_s"]),
            tuple(gap["end_s"]),
            gap["kept"] == "held",
            gap["packets"],
            tuple(gap["cut_start_s"]),
            tuple(gap["cut_end_s"]),
        )
        for gap in found["gaps"]
    ]
    known = {field.name for field in fields(FlowPath)}
    return FlowPath(
        **{name: value for name, value in found.items() if name in known - {"gaps", "course", "waits"}},
        gaps=gaps,
        course=_columns(found["course"]),
        waits=_columns(found["waits"]),
    )


def _columns(rows: list[list[float]]) -> NDArray[np.float64]:
    return np.asarray(rows, dtype=np.float64).reshape(-1, 2)
