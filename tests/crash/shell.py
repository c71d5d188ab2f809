"""Kills `roamlab shell` at random moments, and looks at what is left: no test, but what the tests start.

    python tests/crash/shell.py [KILLS]

After each kill, within two seconds, no process of it is left, and none of its namespaces is in use. The
interfaces and mounts of this machine and the folder of temporary files are as they were. Prints the number of
kills and of those after which something was left; the exit code is 1 if there was one. Needs user namespaces
and /dev/net/tun.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
COMMAND = Path(sys.executable).parent / "roamlab"
EXAMPLE = HERE.parents[1] / "examples/real-time.toml"
MARK = "ROAMLAB_KILLED"
SERVER = f"{sys.executable} -c \"import socket; s = socket.create_server(('', 80)); s.accept()[0].recv(9); input()\""
# A process of it is stopped, and one has left its parent: neither could end alone.
PROGRAM = """
sleep 100 & kill -STOP $!
(setsid sleep 100 &)
exec python3 -c "import socket, time; socket.create_connection(('server', 80)); time.sleep(100)"
"""
LONGEST_S = 1.6
"""Kills are within this number of seconds: the program runs after one, and ends at two."""
PATIENCE_S = 2.0


def marked(mark: str) -> list[int]:
    """Processes with this mark in their environment."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for process in processes():
        try:
            if wanted in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                found.append(process)
        except OSError:
            continue
    return found


def processes() -> list[int]:
    """All of the machine."""
    return [int(process.name) for process in Path("/proc").glob("[0-9]*")]


def namespaces(of: list[int]) -> set[str]:
    """The namespaces of these processes. One that has ended, and that whose status was not read, has none."""
    found = set()
    for process in of:
        try:
            if Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                continue
        except OSError:
            continue
        for kind in ("user", "net", "mnt", "pid_for_children"):
            try:
                found.add(str(Path(f"/proc/{process}/ns/{kind}").readlink()))
            except OSError:
                continue
    return found


def machine(temporary: Path) -> tuple[list[str], ...]:
    """Traces that a run could have left on the machine: interfaces, mounts, temporary files."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return (
        sorted(name for _, name in socket.if_nameindex()),
        sorted(mounts),
        sorted(each.name for each in temporary.iterdir()),
    )


def kill_one(number: int, after_s: float) -> str:
    """Kill a run; what is left of it, or nothing."""
    mark = f"{os.getpid()}-{number}"
    with tempfile.TemporaryDirectory() as folder:
        temporary, out = Path(folder, "tmp"), Path(folder, "out")
        temporary.mkdir()
        before, own = machine(temporary), namespaces([os.getpid()])
        process = subprocess.Popen(
            [
                *(COMMAND, "shell", EXAMPLE, "--node", "mh", "--set", "run.duration=2 s", "--out", out),
                *("--serve", SERVER, "--", "/bin/sh", "-c", PROGRAM),
            ],
            env=os.environ | {MARK: mark, "TMPDIR": str(temporary)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(after_s)
        made = namespaces(marked(mark)) - own
        held = {process: in_it for process in processes() if (in_it := namespaces([process]) & made)}
        process.kill()
        process.wait()
        limit = time.monotonic() + PATIENCE_S
        while (left := marked(mark)) and time.monotonic() < limit:
            time.sleep(0.02)
        faults = [f"{len(left)} processes"] if left else []
        # A namespace that has gone gives its number to a new one: only who was in it before counts.
        kept = [in_it for process, before_it in held.items() if (in_it := namespaces([process]) & before_it)]
        if kept:
            faults.append(f"namespaces {kept}")
        for old, new in zip(before, machine(temporary), strict=True):
            if old != new:
                faults.append(f"{sorted(set(old) ^ set(new))}")
        shutil.rmtree(out, ignore_errors=True)
    return ", ".join(faults)


def main() -> int:
    """Kill as often as the first argument."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    draws = random.Random(1)
    faults = 0
    for number in range(kills):
        after_s = draws.uniform(0, LONGEST_S)
        if found := kill_one(number, after_s):
            faults += 1
            print(f"killed after {after_s:.3f} s: {found}", flush=True)
    print(f"shell: killed at {kills} moments, {faults} faults")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
