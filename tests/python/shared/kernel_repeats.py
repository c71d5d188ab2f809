"""A run over the Linux kernel, again and again: no test, but what the tests start.

    python tests/python/shared/kernel_repeats.py [RUNS [EXTENSION]]

One scenario with one seed: two flows, random loss, a gap. Every second run has a busy loop for each processor.
Prints how many runs have the tables and the capture of the first one, byte by byte. The exit code is 1 if one has not.
EXTENSION is another build of the extension: as many runs with that one follow.
The tables `tcp` and `variables` are the kernel's reports in TCP_INFO, the capture has its headers.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import roamlab as rl
from roamlab.against.cases import OneLink
from roamlab.exports import pcapng

if TYPE_CHECKING:
    from collections.abc import Iterator

CASE = OneLink(
    number=0,
    control="cubic",
    kind="two-flows",
    rate_mbps=5,
    delay_ms=20,
    queue_pkts=20,
    gap_ms=300,
    loss=0.003,
    second_start_ms=500,
)


def scenario() -> rl.Scenario:
    """Loss and a gap for two flows, with everything recorded, for three seconds."""
    content = CASE.scenario(kernel=True)
    content["run"]["duration"] = "3 s"
    content["record"] = {"tcp": True, "packets": True, "variables": True}
    content["links"][1] |= {"loss": CASE.loss, "reverse_loss": 0}
    content["links"][1]["changes"] = [{"at": "1500 ms", "up": False}, {"at": "1800 ms", "up": True}]
    return rl.Scenario.from_dict(content, name="repeats.toml")


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """The given number of processes that only take time."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def marks() -> dict[str, str]:
    """A hash of each table of a run, and of its capture."""
    results = rl.run(scenario(), 1)
    found = {}
    for name in sorted(results.loaders):
        content = io.BytesIO()
        results.table(name).write_ipc(content)
        found[name] = hashlib.sha256(content.getvalue()).hexdigest()
    capture, packets = pcapng.write(results, ["a", "b"], [])[pcapng.SEEN_FILE]
    if packets < 1000 or results.tcp.is_empty():
        raise SystemExit("the run has no packets or no samples")
    found["capture"] = hashlib.sha256(capture).hexdigest()
    return found


def all_marks(runs: int) -> list[dict[str, str]]:
    """The marks of each run."""
    found = []
    for number in range(runs):
        with busy((os.cpu_count() or 1) * (number % 2)):
            found.append(marks())
    return found


def marks_with(extension: Path, runs: int) -> list[dict[str, str]]:
    """The marks of each run with another build of the extension: another process has it in place of our build."""
    package = Path(rl.__file__).parent
    with TemporaryDirectory() as folder:
        other = Path(folder) / "roamlab"
        other.mkdir()
        for part in package.iterdir():
            if not part.name.startswith("_roamlab."):
                (other / part.name).symlink_to(part)
        (other / "_roamlab.abi3.so").symlink_to(extension.resolve())
        done = subprocess.run(
            [sys.executable, __file__, str(runs), "--marks"],
            env=os.environ | {"PYTHONPATH": folder},
            stdout=subprocess.PIPE,
            check=True,
        )
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def differences(found: list[dict[str, str]]) -> list[list[str]]:
    """Differences from the first run, for each run."""
    first = found[0]
    return [[name for name in first | own if first.get(name) != own.get(name)] for own in found]


def main() -> int:
    """Print the count."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    found = all_marks(runs)
    if sys.argv[2:] == ["--marks"]:
        print(json.dumps(found))
        return 0
    if len(sys.argv) > 2:
        found += marks_with(Path(sys.argv[2]), runs)
    differing = differences(found)
    for number, names in enumerate(differing):
        if names:
            print(f"run {number} has another {', '.join(names)}")
    same = sum(not names for names in differing)
    print(f"{same} of {len(found)} runs are the same, every second of them next to busy loops")
    return int(same < len(found))


if __name__ == "__main__":
    sys.exit(main())
