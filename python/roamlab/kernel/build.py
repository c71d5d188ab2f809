"""Builds a Linux kernel as a program (User Mode Linux), its only process, and its seeded source of randomness.

The source is the distribution's package, unpatched. One default changes: `HZ` has no prompt in User Mode Linux and is
100, so that TCP's timers would be rounded to 10 ms.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from roamlab.base.errors import RoamlabError
from roamlab.base.output import draft_folder, sweep_drafts
from roamlab.kernel import cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Tell = Callable[[str, float], None]
    """Takes the name of a step, and which part of the build is done (0 to 1)."""

_TOOLS = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "xz": "xz-utils",
    "ld": "binutils",
}
"""Programs that the build calls, with their packages."""

_HEADERS = {"/usr/include/x86_64-linux-gnu/bits/libc-header-start.h": "libc6-dev"}

_UNUSED = re.compile(
    r"/(drivers/(gpu|media|staging|net/(ethernet|wireless)|infiniband|scsi)/.*\.[ch]|sound/.*\.[ch]|tools/testing/.*"
    r"|Documentation/.*\.rst|arch/(?!um/|x86/)[^/]+/.*\.(S|dts[i]?|[ch]))$"
)
"""Files of the source that the build does not read; it reads the Kconfig and Makefile of every folder."""

NEEDED = (
    "UML_TIME_TRAVEL_SUPPORT",
    "VIRTIO_UML",
    "VIRTIO_NET",
    "NET_NS",
    "PACKET",
    "TCP_CONG_CUBIC",
    "TCP_CONG_BBR",
)
"""Options without which there is no run; the others add congestion controls and queues."""

OBJECTS = 1150
"""Files that the build compiles or links, for its progress: some 1,150 of Linux 6.12, 1,080 of 6.1."""

MINUTES = 5
"""Of a build on one idle core."""


class Missing(RoamlabError):
    """A tool of the build is missing; the text has the command that installs it."""


def source_of(version: str) -> Path:
    """The tarball of the distribution's source package of Linux.

    Raises `Missing` if it, a tool or the right machine is not there.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise Missing(
            f"a kernel is built on Linux on x86_64 alone, not on {platform.system()} on {platform.machine()}"
        )
    tarball = Path(f"/usr/src/linux-source-{version}.tar.xz")
    wanted = [package for tool, package in _TOOLS.items() if not shutil.which(tool)]
    wanted += [package for file, package in _HEADERS.items() if not Path(file).is_file()]
    wanted += [] if tarball.is_file() else [f"linux-source-{version}"]
    if wanted:
        raise Missing(
            f"not installed: {', '.join(wanted)}\n"
            f"  help: sudo apt-get install --no-install-recommends {' '.join(wanted)}"
        )
    return tarball


def build(version: str, hz: int, jobs: int, tell: Tell) -> Path:
    """Build this version into the cache, unless it is there, and let runs take it. Gives its folder.

    It takes some minutes, and a gigabyte in the cache meanwhile.
    """
    tarball = source_of(version)
    source = f"{tarball.stat().st_size} {release(version)}"
    root = cache.root()
    folder = root / cache.key(version, hz, source, cache.compiler())
    root.mkdir(parents=True, exist_ok=True)
    sweep_drafts(root)
    if not cache.is_whole(folder):
        with draft_folder(root) as place, _together(place) as group:
            _build_in(place, tarball, hz, jobs, group, tell)
            _replace(place / "made", folder)
    _point(root / version, folder)
    return folder


_WATCH = """
import os, shutil, signal, sys, time
while os.read(0, 1):
    pass
try:
    os.killpg(int(sys.argv[1]), signal.SIGKILL)
except ProcessLookupError:
    pass
for _ in range(50):
    shutil.rmtree(sys.argv[2], ignore_errors=True)
    if not os.path.lexists(sys.argv[2]):
        break
    time.sleep(0.1)
"""


@contextmanager
def _together(place: Path) -> Iterator[int]:
    """A process group for the commands of a build.

    When this process ends, killed or not, they end and `place` is deleted. A second process waits for that, in a
    group that no interrupt of the terminal reaches.
    """
    with subprocess.Popen(
        ["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, process_group=0
    ) as leader:
        watch = [sys.executable, "-I", "-S", "-c", _WATCH, str(leader.pid), str(place)]
        with subprocess.Popen(watch, stdin=subprocess.PIPE, process_group=0):
            yield leader.pid


def release(version: str) -> str:
    """The version of the installed source package; empty if the package manager does not know it."""
    command = ["dpkg-query", "--show", "--showformat=${Version}", f"linux-source-{version}"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


def _build_in(place: Path, tarball: Path, hz: int, jobs: int, group: int, tell: Tell) -> None:
    tree, made = place / "linux", place / "made"
    made.mkdir()
    tell("unpacking the source", 0.0)
    _unpack(tarball, tree)
    tell("configuring", 0.1)
    _configure(tree, hz, group)
    done = 0
    for line in _lines(["make", "ARCH=um", f"-j{jobs}", "linux"], group, tree):
        done += line.startswith(("  CC", "  AS", "  AR", "  LD", "  HOSTCC"))
        tell("compiling", 0.12 + 0.86 * min(1.0, done / OBJECTS))
    tell("linking", 0.98)
    _call(["strip", "-o", str(made / "linux"), str(tree / "linux")], group)
    agent, listing = place / "agent", place / "initramfs.list"
    _call(["gcc", "-O2", "-static", "-o", str(agent), str(cache.HERE / "agent.c")], group)
    library = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(made / "shim.so"), str(cache.HERE / "shim.c")]
    _call(library, group)
    listing.write_text(
        f"dir /dev 0755 0 0\nnod /dev/console 0600 0 0 c 5 1\ndir /proc 0755 0 0\nfile /init {agent} 0755 0 0\n",
        "utf-8",
    )
    archive = subprocess.run(
        [tree / "usr/gen_init_cpio", "-t", "0", listing], capture_output=True, check=True
    ).stdout
    (made / "initramfs").write_bytes(archive)
    (made / "config").write_bytes((tree / ".config").read_bytes())


def _unpack(tarball: Path, tree: Path) -> None:
    with tarfile.open(tarball, "r:xz") as archive:
        for member in archive:
            member.name = member.name.partition("/")[2]
            if member.name and not _UNUSED.search(f"/{member.name}"):
                archive.extract(member, tree, filter="tar")


def _configure(tree: Path, hz: int, group: int) -> None:
    kconfig = tree / "arch/um/Kconfig"
    text = kconfig.read_text("utf-8")
    changed = re.sub(
        r"(^config HZ\n(?:.*\n)*?\s*default )\d+", rf"\g<1>{hz}", text, count=1, flags=re.MULTILINE
    )
    if changed == text and f"default {hz}" not in text:
        raise RoamlabError(f"{kconfig}: HZ is not where it was in Linux 6.1 and 6.12")
    kconfig.write_text(changed, "utf-8")
    _call(["make", "ARCH=um", "tinyconfig"], group, tree)
    options = (cache.HERE / "options.config").read_text("utf-8")
    with (tree / ".config").open("a", encoding="utf-8") as config:
        config.write(options)
    _call(["make", "ARCH=um", "olddefconfig"], group, tree)
    chosen = (tree / ".config").read_text("utf-8").splitlines()
    lost = [option for option in NEEDED if f"CONFIG_{option}=y" not in chosen]
    if lost:
        raise RoamlabError(f"this Linux has no {', '.join(lost)}")


def _environment() -> dict[str, str]:
    # The kernel's own name, which goes into its random numbers, is the same wherever it is built.
    named = {"TIMESTAMP": "1970-01-01", "USER": "roamlab", "HOST": "roamlab", "VERSION": "1"}
    fixed = {f"KBUILD_BUILD_{what}": value for what, value in named.items()}
    return {**os.environ, "LC_ALL": "C", "MAKEFLAGS": ""} | fixed


def _lines(command: list[str], group: int, folder: Path) -> Iterator[str]:
    """The lines that a command prints, in this process group; one that fails ends with its last lines."""
    last: list[str] = []
    with subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=group,
    ) as process:
        try:
            for line in process.stdout or ():
                last = [*last[-19:], line]
                yield line
        except BaseException:
            os.killpg(group, 9)
            raise
    if process.returncode:
        raise RoamlabError(f"{' '.join(command)} failed:\n{''.join(last)}")


def _call(command: list[str], group: int, folder: Path = Path()) -> None:
    for _ in _lines(command, group, folder):
        pass


def _replace(made: Path, folder: Path) -> None:
    """Put a finished build where it belongs, in one step; what another build put there meanwhile is as good."""
    try:
        made.rename(folder)
    except OSError:
        if not cache.is_whole(folder):
            shutil.rmtree(folder)
            made.rename(folder)


def _point(name: Path, folder: Path) -> None:
    """Let runs take this build: a link of the version's name, replaced in one step."""
    with draft_folder(name.parent) as place:
        (place / name.name).symlink_to(folder.name)
        (place / name.name).replace(name)
