"""The engine's marks of single packets, next to tshark's flags."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

import captured
import flagged
from capture_files import pcap
from conftest import of_today

if TYPE_CHECKING:
    from pathlib import Path

CASES = [(kind, number) for number in range(5) for kind in captured.KINDS]

pytestmark = pytest.mark.skipif(
    not flagged.is_there(), reason="tshark is not installed: `apt-get install tshark` brings it"
)


@pytest.mark.parametrize(("kind", "number"), of_today(CASES, 30), ids=str)
def test_each_difference_from_tshark_has_a_class(kind: str, number: int) -> None:
    """Two runs a day, each captured at both ends; `make deep` has all."""
    captures, counts, unknown = flagged.measure(range(number, number + 1), (kind,))
    assert unknown == []
    assert captures == 2
    assert not any(mark == "is_again" and told != "both" for mark, told in counts)


def _packet(seq: int, ack: int, window: int, length: int = 0, *, back: bool = False) -> bytes:
    ends, ports = [bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])], [5000, 80]
    if back:
        ends.reverse()
        ports.reverse()
    head = struct.pack("!BBHHHBBH", 0x45, 0, 40 + length, 1, 0, 64, 6, 0) + b"".join(ends)
    return head + struct.pack("!HHIIBBHHH", *ports, seq, ack, 0x50, 0x10, window, 0, 0) + bytes(length)


def test_a_closed_window_and_repeated_numbers(tmp_path: Path) -> None:
    """A segment and the one behind a lost one, two repeated numbers, the repair, and a window that closes and opens."""
    capture = pcap(
        tmp_path / "closed.pcap",
        _packet(1, 1, 500, 1000),
        _packet(2001, 1, 500, 1000),
        _packet(1, 1001, 500, back=True),
        _packet(1, 1001, 500, back=True),
        _packet(1001, 1, 500, 1000),
        _packet(1, 3001, 0, back=True),
        _packet(1, 3001, 500, back=True),
    )
    counts, unknown = flagged.compared(capture)
    assert unknown == []
    assert counts == {("is_again", "both"): 1, ("is_duplicate", "both"): 1, ("is_closed", "both"): 1}
