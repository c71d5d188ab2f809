"""The folder of built kernels, and the key of each: what its build depends on."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = ("agent.c", "shim.c", "options.config")
"""Parts of a kernel in addition to Linux."""

PROGRAMS = ("linux", "initramfs", "shim.so")
"""The files that a run needs."""

VERSIONS = ("6.12", "6.1")
"""The versions of Linux that can be built: those of Debian 12, of which the newest was backported."""


def root() -> Path:
    """The folder of all built kernels: `$ROAMLAB_KERNELS`, or `roamlab/kernel` in the user's cache."""
    named = os.environ.get("ROAMLAB_KERNELS")
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "roamlab" / "kernel"


def key(version: str, hz: int, source: str, compiler: str) -> str:
    """A name for a build: the version, the clock's rate, and a hash of all that the build depends on.

    `source` is the release of the source package, `compiler` the compiler's own version text.
    """
    digest = hashlib.sha256()
    for part in (version, str(hz), source, compiler, *((HERE / name).read_text("utf-8") for name in SOURCES)):
        digest.update(part.encode())
        digest.update(b"\0")
    return f"{version}-{hz}-{digest.hexdigest()[:12]}"


def is_whole(folder: Path) -> bool:
    """True if a folder has all that a run needs."""
    return all((folder / name).is_file() for name in PROGRAMS)


def built(version: str) -> Path | None:
    """The kernel of this version that runs take: the one built last; None if none is built."""
    folder = root() / version
    return folder.resolve() if is_whole(folder) else None


def compiler() -> str:
    """The first line of the C compiler's version text."""
    import subprocess

    said = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout
    return said.partition("\n")[0]
