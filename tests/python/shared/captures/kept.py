"""Captures of a Linux kernel with one planted event each, as `examples/captures/linux` ships them.

`python kept.py` makes them again (`roamlab kernel build` first): the same scenario, seed and kernel give the same file.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import captured
from conftest import ROOT

FOLDER = ROOT / "examples/captures/linux"
QUIET_S = 5.0
"""The length of a run without an event."""


@dataclass(frozen=True)
class Kept:
    """A run of `captured.py`, and the end at which it was captured."""

    kind: str
    number: int
    end: str
    """`server`, which sends the data, or `mh`, the host."""
    after_s: float = 3.5
    """So long the run continues behind its event."""

    def case(self) -> captured.Case:
        """The run."""
        made = captured.case(self.kind, self.number, "kernel")
        is_quiet = self.kind in ("idle", "window")
        end_s = QUIET_S if is_quiet else made.at_s + made.gap_s + self.after_s
        made.setting["run.duration"] = f"{end_s:.1f} s"
        return made

    def content(self) -> bytes:
        """The capture, packed."""
        with tempfile.TemporaryDirectory() as folder:
            server, host = self.case().write(Path(folder))
            return gzip.compress((server if self.end == "server" else host).read_bytes(), mtime=0)


KEPT = {
    "held": Kept("hold", 10, "server"),
    "lost": Kept("drop", 20, "server"),
    "lost-seen-by-the-host": Kept("drop", 18, "mh"),
    "cut": Kept("outage", 15, "server"),
    "longer": Kept("step", 18, "server"),
    "longer-and-lost": Kept("step with losses", 0, "server", 6.0),
    "tail": Kept("tail", 10, "server"),
    "burst": Kept("burst", 5, "server"),
    "window": Kept("window", 14, "server"),
    "idle": Kept("idle", 17, "server"),
}
"""By the names of their files."""


def main() -> None:
    """Write all of them, or those that are named."""
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or KEPT:
        (FOLDER / f"{name}.pcapng.gz").write_bytes(KEPT[name].content())


if __name__ == "__main__":
    main()
