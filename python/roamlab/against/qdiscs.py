"""Queue disciplines of Linux as programs: the kernel's source files, unmodified, in `queues.c`."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.errors import RoamlabError
from roamlab.base.output import draft_folder, sweep_drafts
from roamlab.kernel import build, cache

if TYPE_CHECKING:
    from roamlab.against.arrivals import Arrivals
    from roamlab.against.queues import Queue

VERSION = "6.12"
"""Of the source package."""

PROGRAM = Path(__file__).parent / "kernel" / "queues.c"

_FIFO = "net/sched/sch_fifo.c"
_TREES = "lib/rbtree.c"
_HEADERS = (
    "net/codel.h",
    "net/codel_impl.h",
    "net/codel_qdisc.h",
    "net/pie.h",
    "net/red.h",
    "linux/hash.h",
    "linux/pkt_sched.h",
    "linux/rbtree.h",
    "linux/rbtree_augmented.h",
    "linux/rbtree_types.h",
)
"""The headers of the kernel that are used unchanged. All others are empty: `queues.c` has what is used of
them."""

_OF_PROGRAM = ("linux/pkt_sched.h", "linux/rbtree_types.h")
"""The headers that `queues.c` itself includes."""

_INCLUDED = re.compile(r"^\s*#include <([\w/.-]+)>", re.MULTILINE)


def unpacked() -> Path:
    """The folder of the kernel's files in the cache; it may not exist yet."""
    release = re.sub(r"[^\w.+-]", "_", build.release(VERSION)) or "unknown"
    return cache.root() / f"files-{VERSION}-{release}"


def _unpack() -> Path:
    """Unpack the kernel's files into the cache, if they are not there."""
    folder = unpacked()
    if not folder.is_dir():
        tarball = build.source_of(VERSION)
        folder.parent.mkdir(parents=True, exist_ok=True)
        sweep_drafts(folder.parent)
        with draft_folder(folder.parent) as place:
            command = ["tar", "-xJf", str(tarball), "-C", str(place), "--strip-components=1", "--wildcards"]
            wanted = ["*/net/sched/sch_*.c", "*/include/net/*.h", "*/include/uapi/linux/pkt_sched.h"]
            wanted += [f"*/{_TREES}", "*/include/linux/rbtree*.h", "*/include/linux/hash.h"]
            subprocess.run([*command, "--exclude=*/tools/*", *wanted], check=True)
            place.rename(folder)
    return folder


class Sources:
    """The kernel's files: those of the source package, and of a tree of Linux what the package lacks."""

    def __init__(self, tree: Path | None) -> None:
        self.package = _unpack()
        self._folders = [self.package, *([tree.resolve()] if tree else [])]

    def find(self, name: str) -> Path | None:
        """The file of this path in the tree of Linux."""
        found = (folder / name for folder in self._folders)
        return next((path for path in found if path.is_file()), None)

    def header(self, name: str) -> str:
        """The text of a header; empty if it is not taken from the kernel."""
        path = self.find(f"include/uapi/{name}") or self.find(f"include/{name}")
        return path.read_text("utf-8") if path and name in _HEADERS else ""


class Programs:
    """Compiled disciplines. They are kept while this is open."""

    def __init__(self, tree: Path | None = None) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="roamlab-queues-")
        self._folder = Path(self._place.name)
        self._sources = Sources(tree)
        self._made: dict[str, Path] = {}

    def __enter__(self) -> Programs:
        return self

    def __exit__(self, *_: object) -> None:
        self._place.cleanup()

    def has(self, queue: Queue) -> bool:
        """True if there is a source of the queue."""
        return self._sources.find(queue.source) is not None

    def origin(self, queue: Queue) -> dict[str, str]:
        """Sources from which the queue is compiled."""
        path = self._sources.find(queue.source)
        assert path is not None
        package = f"linux-source-{VERSION} {build.release(VERSION)}"
        of_package = path.is_relative_to(self._sources.package)
        return {
            "file": queue.source,
            "of": package if of_package else "a tree of Linux",
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }

    def run(self, queue: Queue, arrivals: Arrivals, seed: int) -> tuple[Any, Any]:
        """When packets left the kernel's queue, and their fates: 0 served, 1 marked, 2 dropped."""
        program = self._made.get(queue.source) or self._compile(queue)
        count = len(arrivals.times_ns)
        words = [queue.qdisc, str(seed), str(queue.lead_ms * 1_000_000), str(count), str(len(arrivals.rates))]
        arrays = [arrivals.times_ns, arrivals.sizes, arrivals.flows, queue.octets(arrivals)]
        arrays += [np.array(column, np.uint64) for column in zip(*arrivals.rates, strict=True)]
        data = b"".join(array.tobytes() for array in arrays)
        done = subprocess.run(
            [program, *words, *queue.options(arrivals.limit)], input=data, capture_output=True, check=False
        )
        if done.returncode or len(done.stdout) != 9 * count:
            raise RoamlabError(
                f"the kernel's {queue.qdisc} ends early: {done.stderr.decode(errors='replace')}"
            )
        return np.frombuffer(done.stdout, np.uint64, count), np.frombuffer(
            done.stdout, np.uint8, -1, 8 * count
        )

    def _compile(self, queue: Queue) -> Path:
        source, fifo, trees = map(self._sources.find, (queue.source, _FIFO, _TREES))
        if source is None or fifo is None or trees is None:
            raise RoamlabError(
                f"Linux {VERSION} has no {queue.source}\n  help: name a tree of Linux that has it with --tree"
            )
        headers = self._folder / "headers" / queue.source
        text = source.read_text("utf-8")
        has_trees = "linux/rbtree.h" in text
        texts = [fifo.read_text("utf-8"), text, *([trees.read_text("utf-8")] if has_trees else [])]
        self._write_headers(headers, [*texts, *(f"#include <{name}>" for name in _OF_PROGRAM)])
        program = self._folder / f"{Path(queue.source).stem}"
        own = [] if source == fifo else [f'-DDISCIPLINE="{source}"']
        own += [f'-DTREES="{trees}"'] if has_trees else []
        command = [
            "gcc",
            "-O2",
            "-w",
            f"-I{headers}",
            f'-DFIFO="{fifo}"',
            *own,
            "-o",
            str(program),
            str(PROGRAM),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RoamlabError(f"{source} does not fit {PROGRAM.name}:\n{done.stderr[:2000]}")
        self._made[queue.source] = program
        return program

    def _write_headers(self, folder: Path, texts: list[str]) -> None:
        """Write the headers that the texts include, and those that these include."""
        left = [name for text in texts for name in _INCLUDED.findall(text)]
        while left:
            name = left.pop()
            if not (folder / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                text = self._sources.header(name)
                (folder / name).write_text(text, "utf-8")
                left += _INCLUDED.findall(text)
