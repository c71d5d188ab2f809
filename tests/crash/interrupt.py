"""Interrupts commands at random moments, as Ctrl-C does: no test, but what one starts.

    python tests/crash/interrupt.py [--count 1000] [--seed N]

Each command ends alone or with exit code 130, without a traceback or a panic, and leaves no draft. The moment
is drawn from the beginning of the program, imports included, to a little behind its end. Prints the counts;
exit code 1 if anything was otherwise.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEGIN = "import roamlab.__main__ as program, sys; print(flush=True); program.main()"
"""Until `roamlab.__main__` is there, an interrupt is the interpreter's."""

FAULTS = ("Traceback", "Exception ignored", "panicked")
"""Output after an interrupt that was not foreseen."""

SWEEP = """
scenario = "lab.toml"
replications = 2
metrics = ["flows.*.goodput_bps"]
[grid]
"mobility.buffer.limit" = ["4 pkt", "64 pkt"]
"""
COMMANDS = [
    ["list"],
    ["check", "lab.toml"],
    ["run", "lab.toml"],
    ["draw", "lab.toml"],
    ["chart", "--text"],
    ["why"],
    ["explore"],
    ["report"],
    ["export", "--format", "parquet"],
    ["sweep", "sweep.toml", "--threads", "2"],
    ["compare", "lab.toml", "other.toml", "--runs", "2", "--metric", "flows.*.goodput_bps"],
]


def start(arguments: list[str], folder: Path) -> subprocess.Popen[str]:
    """The command, begun."""
    running = subprocess.Popen(
        [sys.executable, "-c", BEGIN, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    running.stdout.readline()
    return running


def main() -> int:
    """Try the cases of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # A shell that starts this in the background has interrupts ignored, and a program inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    dice, ended, faults = random.Random(options.seed), Counter[int](), 0
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        text = (ROOT / "examples/handover.toml").read_text(encoding="utf-8")
        for name, duration in (("lab", "11 s"), ("other", "12 s")):
            (folder / f"{name}.toml").write_text(text.replace('"40 s"', f'"{duration}"'))
        (folder / "sweep.toml").write_text(SWEEP)
        seconds = {}
        for arguments in COMMANDS:
            begin, running = time.monotonic(), start(arguments, folder)
            _, errors = running.communicate()
            if running.returncode != 0:
                raise SystemExit(f"{arguments} fails:\n{errors}")
            seconds[arguments[0]] = time.monotonic() - begin
        for number in range(options.count):
            arguments = dice.choice(COMMANDS)
            running = start([*arguments, *_seed(arguments, number)], folder)
            time.sleep(dice.uniform(0.0, 1.1 * seconds[arguments[0]]))
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=300)
            ended[running.returncode] += 1
            left = [str(path) for path in folder.rglob(".roamlab-*")]
            wrong = running.returncode not in (0, 130) or any(word in errors for word in FAULTS)
            if wrong or left:
                faults += 1
                print(
                    f"{number}: {' '.join(arguments)} ends with {running.returncode}, {left}: {errors}",
                    flush=True,
                )
    print(f"{options.count} interrupts, ended {dict(ended)}, {faults} faults")
    return int(bool(faults))


def _seed(arguments: list[str], number: int) -> list[str]:
    """A run that is in no store yet."""
    return ["--seed", str(number + 2)] if arguments[0] in ("run", "compare") else []


if __name__ == "__main__":
    sys.exit(main())
