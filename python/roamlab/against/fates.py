"""Our queue disciplines against the kernel's: the same arrivals and random numbers through both."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.against.arrivals import PACKETS, PATTERNS, Pattern
from roamlab.against.queues import (
    DROPPED,
    MARKED,
    QUEUES,
    SEED,
    Fates,
    Queue,
    arrivals_of,
    fates_of,
    our_fates,
)
from roamlab.base.errors import RoamlabError
from roamlab.base.inputs import MAX_BYTES, open_regular, read_as

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from roamlab.against.qdiscs import Programs

NAMES = [queue.name for queue in QUEUES]
"""Of all queues that are compared."""

FILE = Path(__file__).parent / "linux-6.12-queues.xz"
"""The recorded fates of the package."""


@dataclass(frozen=True)
class Recording:
    """The kernel's fates of packets."""

    origins: dict[str, dict[str, str]]
    """Of each queue, by our name: file, where it is from, hash."""
    packets: int
    """Of each pattern."""
    runs: dict[tuple[str, str], Fates]
    """By our name of the queue and the name of the pattern."""


def kernel_fates(programs: Programs, queue: Queue, pattern: Pattern, packets: int = PACKETS) -> Fates:
    """The fates in the kernel's queue."""
    arrivals = arrivals_of(pattern, packets)
    return fates_of(arrivals, *programs.run(queue, arrivals, SEED))


def record(
    programs: Programs, packets: int, tell: Callable[[int, int], None], names: list[str] | None = None
) -> Recording:
    """Run queues of the kernel under all patterns, all that have a source or those with these names.

    `tell` gets how many runs are done, and of how many. Raises `RoamlabError` if a named one has no source.
    """
    queues = [queue for queue in QUEUES if programs.has(queue)] if names is None else [*map(_queue, names)]
    wanted = [(queue, pattern) for queue in queues for pattern in PATTERNS]
    runs = {}
    for done, (queue, pattern) in enumerate(wanted):
        tell(done, len(wanted))
        runs[queue.name, pattern.name] = kernel_fates(programs, queue, pattern, packets)
    return Recording({queue.name: programs.origin(queue) for queue in queues}, packets, runs)


def joined(old: Recording, new: Recording) -> Recording:
    """A recording with the queues of both, those of the new one if both have it."""
    origins, runs = old.origins | new.origins, old.runs | new.runs
    known = [queue.name for queue in QUEUES if queue.name in origins]
    return Recording(
        {name: origins[name] for name in known},
        new.packets,
        {(name, pattern.name): runs[name, pattern.name] for name in known for pattern in PATTERNS},
    )


def write(recording: Recording, path: Path) -> None:
    """Write a recording: a line of JSON, then two bits for each packet. Equal ones give equal bytes."""
    rows = [
        {"queue": queue, "pattern": pattern, "sojourn_ms": run.sojourn_ms, "ends": run.ends}
        for (queue, pattern), run in recording.runs.items()
    ]
    head = {"origins": recording.origins, "packets": recording.packets, "runs": rows}
    bits = [
        np.packbits(run.fates == fate).tobytes()
        for run in recording.runs.values()
        for fate in (DROPPED, MARKED)
    ]
    content = json.dumps(head).encode() + b"\n" + b"".join(bits)
    path.write_bytes(lzma.compress(content, preset=9))


def read(path: Path = FILE) -> Recording:
    """Read a recording. Raises `BadInput` for any other file."""
    remedy = "record one with `roamlab check-against linux --queues --live --record`"
    with read_as(path, "recorded fates of packets in a kernel's queues", remedy):
        with open_regular(path) as file, lzma.open(file) as unpacked:
            head, _, bits = unpacked.read(MAX_BYTES).partition(b"\n")
        found = json.loads(head)
        packets = found["packets"]
        flags = np.frombuffer(bits, np.uint8).reshape(len(found["runs"]), 2, -1)
        runs = {}
        for row, run in zip(flags, found["runs"], strict=True):
            dropped, marked = (np.unpackbits(one, count=packets) for one in row)
            fates = dropped * DROPPED + marked * MARKED
            runs[run["queue"], run["pattern"]] = Fates(fates, run["sojourn_ms"], run["ends"])
        return Recording(found["origins"], packets, runs)


@dataclass(frozen=True)
class Difference:
    """A pattern through both queues."""

    queue: str
    way: str
    """Of our parameters: one of `WAYS`."""
    pattern: str
    kernel: Fates
    ours: Fates

    @property
    def same(self) -> float:
        """The share of packets with the same fate."""
        return float((self.kernel.fates == self.ours.fates).mean())

    @property
    def sojourn(self) -> float:
        """Our mean time in the queue over the kernel's, less 1; where both are below 1 µs, 0."""
        if max(self.kernel.sojourn_ms, self.ours.sojourn_ms) < 1e-3:
            return 0.0
        return self.ours.sojourn_ms / max(self.kernel.sojourn_ms, 1e-6) - 1

    @property
    def identical(self) -> bool:
        """True if each packet left at the same instant, with the same fate."""
        return self.kernel.ends == self.ours.ends and self.same == 1

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        both = {"kernel": self.kernel, "ours": self.ours}
        measures = {
            name: {
                "dropped": fates.share(DROPPED),
                "marked": fates.share(MARKED),
                "sojourn_ms": fates.sojourn_ms,
            }
            for name, fates in both.items()
        }
        head = {"queue": self.queue, "pattern": self.pattern, "parameters": self.way}
        return head | measures | {"same": self.same, "identical": self.identical}


WAYS = ("linux", "default")
"""Our parameters: those that follow Linux, or the defaults."""


def ways_of(kind: str) -> tuple[str, ...]:
    """The ways of a queue: one if its defaults follow Linux."""
    return WAYS if _queue(kind).as_linux else WAYS[1:]


def compare(recording: Recording, kind: str, way: str) -> Iterator[Difference]:
    """Our queue under each recorded pattern."""
    queue = _queue(kind)
    for pattern in PATTERNS:
        kernel = recording.runs.get((kind, pattern.name))
        if kernel is not None:
            ours = our_fates(queue, pattern, recording.packets, as_linux=way == "linux")
            yield Difference(kind, way, pattern.name, kernel, ours)


def repeat(programs: Programs, recording: Recording, kinds: list[str], every: int) -> int:
    """Run the kernel's queues under each n-th pattern again; how many runs that were.

    A queue of which there is no source is left out. Raises `RoamlabError` if one is not as recorded.
    """
    queues = [queue for queue in map(_queue, kinds) if programs.has(queue)]
    chosen = [(queue, pattern) for queue in queues for pattern in PATTERNS[::every]]
    for queue, pattern in chosen:
        again = kernel_fates(programs, queue, pattern, recording.packets)
        recorded = recording.runs[queue.name, pattern.name]
        if again.ends != recorded.ends or not np.array_equal(again.fates, recorded.fates):
            raise RoamlabError(
                f"{queue.name}: the kernel's queue differs from its recording under {pattern.name}"
            )
    return len(chosen)


def _queue(name: str) -> Queue:
    return next(queue for queue in QUEUES if queue.name == name)
