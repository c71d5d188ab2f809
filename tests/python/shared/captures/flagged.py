"""tshark's flags of each packet in captures of `captured.py`, and the engine's marks: each difference has a class.

`python flagged.py 0 5` takes runs 0 to 4 of each kind, each captured at the server and at the host.

tshark names a packet with data below the highest number that it saw by one of four flags, which are one here:
retransmission, fast retransmission, spurious retransmission, out of order (Wireshark User's Guide, "TCP Analysis").
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import captured
from roamlab import _roamlab

AGAIN = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
_FLAGS = (*AGAIN, "duplicate_ack", "zero_window", "keep_alive", "window_update")
_FIELDS = ("tcp.len", "tcp.seq_raw", "tcp.ack_raw", "tcp.window_size_value", "tcp.srcport", "tcp.flags")
MARKS = {"is_again": set(AGAIN), "is_duplicate": {"duplicate_ack"}, "is_closed": {"zero_window"}}
"""The marks of the engine, each with the flags of tshark that mean the same."""


@dataclass(frozen=True)
class Packet:
    """A packet as tshark shows it."""

    length: int
    seq: int
    ack: int
    window: int
    port: int
    flags: int
    named: frozenset[str]
    """Its flags of the analysis."""


def is_there() -> bool:
    """True if tshark is installed."""
    return shutil.which("tshark") is not None


def packets(capture: Path) -> list[Packet]:
    """The packets of TCP in a capture."""
    names = [*_FIELDS, *(f"tcp.analysis.{flag}" for flag in _FLAGS)]
    done = subprocess.run(
        ["tshark", "-n", "-r", capture, "-Y", "tcp", "-Tfields", *(f"-e{name}" for name in names)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = []
    for line in done.stdout.splitlines():
        words = line.split("\t")
        length, seq, ack, window, port, flags = (int(word or "0", 0) for word in words[: len(_FIELDS)])
        named = frozenset(
            flag for flag, word in zip(_FLAGS, words[len(_FIELDS) :], strict=True) if word not in ("", "0")
        )
        found.append(Packet(length, seq, ack, window, port, flags, named))
    return found


def compared(capture: Path) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Of each mark: how many packets have it by both, and how many by one alone, by class; packets without a class."""
    theirs = packets(capture)
    (mine,) = json.loads(_roamlab.mark_packets(capture))
    assert len(mine) == len(theirs), f"{capture}: {len(mine)} and {len(theirs)} packets"
    counts: Counter[tuple[str, str]] = Counter()
    unknown = []
    before: dict[int, Packet] = {}
    ends: dict[int, int] = {}
    for number, (own, packet) in enumerate(zip(mine, theirs, strict=True), start=1):
        for mark, flags in MARKS.items():
            named = bool(flags & packet.named)
            if own[mark] and named:
                counts[mark, "both"] += 1
            elif own[mark] or named:
                is_all = all(end == packet.ack for port, end in ends.items() if port != packet.port)
                told = _class(own, mark, packet, before.get(packet.port), is_all=is_all)
                counts[mark, told or "unknown"] += 1
                if not told:
                    unknown.append(f"{capture}, packet {number}, {mark}: {own}, {packet}")
        before[packet.port] = packet
        end = (packet.seq + packet.length) % 2**32
        if packet.length and (end - ends.get(packet.port, end)) % 2**32 < 2**31:
            ends[packet.port] = end
    return counts, unknown


def _class(own: dict[str, Any], mark: str, packet: Packet, last: Packet | None, *, is_all: bool) -> str:
    """Why one of the two alone has a mark; empty: unknown.

    `last`: the packet before it of the same sender. `is_all`: it acknowledges all data that were seen.
    """
    if own[mark]:
        if mark == "is_again" and "keep_alive" in packet.named:
            return "the engine alone: one byte that tshark calls a keep-alive"
        if mark == "is_duplicate" and last is not None and packet.window != last.window:
            return "the engine alone: the window differs from the one before, and tshark wants the same"
        return ""
    if mark == "is_duplicate" and is_all:
        return "tshark alone: nothing is outstanding"
    return ""


def measure(
    numbers: range, kinds: tuple[str, ...] = captured.KINDS
) -> tuple[int, Counter[tuple[str, str]], list[str]]:
    """How many captures were compared, the counts over all, and the packets without a class."""
    captures, counts, unknown = 0, Counter[tuple[str, str]](), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            for number in numbers:
                for path in captured.case(kind, number).write(Path(folder)):
                    found, odd = compared(path)
                    counts += found
                    unknown += [f"{kind} {number}: {each}" for each in odd]
                    captures += 1
    return captures, counts, unknown


def main() -> None:
    """Compare captures; exit code 1 if a difference has no class."""
    first, last = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (0, 5)
    captures, counts, unknown = measure(range(first, last))
    print("\n".join(unknown[:20]))
    print(f"{captures} captures")
    for (mark, told), count in sorted(counts.items()):
        print(f"{mark}: {told}: {count}")
    sys.exit(bool(unknown))


if __name__ == "__main__":
    main()
