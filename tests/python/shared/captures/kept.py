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
AFTER_S = 2.5
"""So long a run goes on behind its event."""


@dataclass(frozen=True)
class Kept:
    """A run of `captured.py`, and the end at which it was captured."""

    kind: str
    number: int
    end: str
    """`server`, which sends the data, or `mh`, the host."""

    def case(self) -> captured.Case:
        """The run."""
        made = captured.case(self.kind, self.number, kernel=True)
        made.setting["run.duration"] = f"{made.at_s + made.gap_s + AFTER_S:.1f} s"
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
    "tail": Kept("tail", 12, "server"),
    "lost-again": Kept("relost", 1, "server"),
    "burst": Kept("burst", 5, "server"),
    "acks": Kept("acks", 17, "server"),
    "window": Kept("window", 14, "server"),
}
"""By the names of their files."""


def main() -> None:
    """Write all of them, or those that are named."""
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or KEPT:
        (FOLDER / f"{name}.pcapng.gz").write_bytes(KEPT[name].content())


if __name__ == "__main__":
    main()
