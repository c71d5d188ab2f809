"""`readers.py TARGET SECONDS [SEED]`: random edits of files that Python reads. Any answer but a report is a failure.

Targets: `sweep` (sweep files), `manifest` (manifests of run folders), `trace` (ns-2 traces and variables), `inputs`
(what drives a run: recorded links, schedules of handovers).
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import roamlab as rl
from roamlab.base.errors import RoamlabError
from roamlab.records.storage.store import Store, open_run
from roamlab.running.ensemble import Job, run_all
from roamlab.sweeps.sweepfile import load_sweep
from roamlab.traces import open_trace

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"

ODD = [
    b"",
    b"0",
    b"-1",
    b"18446744073709551616",
    b"1e999",
    b"nan",
    b"null",
    b"[]",
    b"{}",
    b'"',
    b"\xff",
    b"[" * 2000,
]


def edit(text: bytes, dice: random.Random) -> bytes:
    """A few random edits: bytes, pieces, lines, numbers."""
    for _ in range(dice.randint(1, 3)):
        start = dice.randrange(len(text) + 1)
        end = min(len(text), start + dice.choice([0, 1, 1, 4, 40]))
        piece = dice.choice([*ODD, text[dice.randrange(len(text) + 1) :][: dice.randint(0, 30)]])
        if dice.random() < 0.2:
            text = text[:start]
        elif dice.random() < 0.3:
            lines = text.split(b"\n")
            dice.shuffle(lines)
            text = b"\n".join(lines[: dice.randint(0, len(lines))])
        else:
            text = text[:start] + piece + text[end:]
    return text


def sweep_target(folder: Path) -> tuple[list[bytes], Callable[[bytes], object]]:
    """Sweep files with their scenario."""
    (folder / "handover.toml").write_bytes((EXAMPLES / "handover.toml").read_bytes())
    path = folder / "sweep.toml"

    def take(text: bytes) -> object:
        path.write_bytes(text)
        return load_sweep(path)

    return [(EXAMPLES / "buffers.toml").read_bytes()], take


def manifest_target(folder: Path) -> tuple[list[bytes], Callable[[bytes], object]]:
    """Manifests of a run folder."""
    short = rl.load(EXAMPLES / "handover.toml").set("run.duration", "100 ms")
    store = Store(folder / "runs")
    (results,) = run_all([Job(short, 1)], store)
    run = store.folder(results.manifest)
    manifest = run / "manifest.json"

    def take(text: bytes) -> object:
        manifest.write_bytes(text)
        return open_run(run).flows

    return [manifest.read_bytes()], take


def trace_target(folder: Path) -> tuple[list[bytes], Callable[[bytes], object]]:
    """Files of other simulators."""
    path = folder / "trace"

    def take(text: bytes) -> object:
        path.write_bytes(text)
        return open_trace(path)

    names = ("reno.var", "reno.xg")
    return [(EXAMPLES / "beside-ns2" / name).read_bytes()[:20_000] for name in names], take


def inputs_target(folder: Path) -> tuple[list[bytes], Callable[[bytes], object]]:
    """Files that a scenario names: each edited text is taken for a recorded link and for a schedule."""
    names = ("drive.toml", "moves.csv", "cell.down", "cell.up")
    given = {name: (EXAMPLES / "imported" / name).read_bytes() for name in names}
    for name, text in given.items():
        (folder / name).write_bytes(text)

    def take(text: bytes) -> object:
        for name in ("moves.csv", "cell.up"):
            (folder / name).write_bytes(text)
            try:
                rl.load(folder / "drive.toml").expanded(1, 0)
            except rl.ScenarioError:
                pass
            finally:
                (folder / name).write_bytes(given[name])
        return None

    return [given["moves.csv"], given["cell.up"]], take


TARGETS = {"sweep": sweep_target, "manifest": manifest_target, "trace": trace_target, "inputs": inputs_target}


def main() -> int:
    """Edit and read for so long."""
    name, seconds, seed = sys.argv[1], float(sys.argv[2]), int([*sys.argv, "1"][3])
    with tempfile.TemporaryDirectory() as folder:
        valid, take = TARGETS[name](Path(folder))
        executions, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            text = edit(
                random.Random(f"{seed} {executions}").choice(valid), random.Random(f"{executions} {seed}")
            )
            try:
                take(text)
            except (RoamlabError, rl.ScenarioError):
                pass
            except Exception:
                Path(f"{name}.failing").write_bytes(text)
                print(
                    f"{name}: seed {seed}, execution {executions} fails; the input is in {name}.failing",
                    file=sys.stderr,
                )
                raise
            executions += 1
    print(f"{name}: {executions} executions in {seconds:g} s from seed {seed}, none fails")
    return 0


if __name__ == "__main__":
    sys.exit(main())
