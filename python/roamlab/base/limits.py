"""Limits of a run on this machine. The engine reads no machine state; it gets the limits as arguments."""

from __future__ import annotations

import os
from pathlib import Path

from roamlab.base.errors import BadInput

SHARE = 0.5
"""Part of the available memory for runs and what is made of them; a record may take half of its run's part."""

LEAST = 64_000_000
"""A run may take this many bytes however little is available."""


_FEWEST = 10_000
"""Fewer bytes are taken for a number in another unit."""


def memory_per_run(at_a_time: int = 1, given: int | None = None) -> int:
    """Bytes that the record of one run may take, with this number of runs at a time; `given` instead, if it is given.

    Raises `BadInput` if `given` is no number of bytes.
    """
    if given is None:
        return max(LEAST, int(SHARE * available_memory()) // (2 * max(1, at_a_time)))
    if not isinstance(given, int) or isinstance(given, bool) or not 0 < given < 2**63:
        raise BadInput(
            f"memory = {given!r}",
            "it is out of range" if isinstance(given, int) else "it is no whole number",
            expected="a number of bytes from 1 to 2^63 - 1",
            remedy="write 4_000_000_000, for example, or leave it out",
        )
    if given < _FEWEST:
        raise BadInput(
            f"memory = {given}",
            f"these are {given} B, which no run can do with",
            expected=f"a number of bytes, {_FEWEST:,} or more",
            remedy=f"write memory={given}_000_000_000 for {given} GB, for example",
        )
    return given


def beyond_memory(record_bytes: int) -> str:
    """A line on a run whose record, as it is estimated, is larger than the memory that is left; else empty."""
    available = available_memory()
    if record_bytes <= available:
        return ""
    return (
        f"the record may reach {record_bytes / 1e9:.1f} GB, more than the {available / 1e9:.1f} GB of memory "
        "that are free here: switch tables off in `[record]`, or shorten the run"
    )


def available_memory() -> int:
    """Bytes that processes can still have: what the system counts as available, within a container's limit."""
    return min(_of_system(), _of_container())


def _of_system() -> int:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _of_container() -> int:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = int((folder / "memory.max").read_text(encoding="ascii"))
        return max(0, limit - int((folder / "memory.current").read_text(encoding="ascii")))
    except (OSError, ValueError):
        return 2**63 - 1
