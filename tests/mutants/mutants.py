"""Plants bugs in the engine and in the Python package, one at a time, and sees whether the tests find them.

    python tests/mutants/mutants.py [NAME ...] [--fast] [--python | --world]

A mutant of `mutants.toml` (transports and queues), `world.toml` (the assembly and what it rests on) or
`python.toml` (Python) is a file, a text that occurs once in it, and its replacement. The project is copied,
and each mutant is planted in the copy. The tests run in steps, the cheap ones first; the first step that
fails kills the mutant, and so does one that does not end. A mutant may have `tests`, its own steps: what
cargo is asked for, or pytest with its arguments. For those without, whole runs come last, where those that
change nothing by the list are planted together, and each alone if they are found. Prints a line for each
mutant, then the counts. A mutant that survives must have `lives`, the reason why no test can or need find it,
and no other may have it; exit code 1 if that is not so. With `--fast` whole runs are left out; with
`--python` all but the bugs in Python, which take some minutes, and with `--world` all but those of
`world.toml`.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPY = ROOT / "target/mutants/project"
PYTHON = "python/roamlab"
LONGEST_S = 900
"""Seconds; a step takes some ten, and many times that where other work shares the machine."""
STEPS = {
    "congestion": [
        "test -p roamlab-congestion --lib",
        "test -p roamlab-tcp --test conformance",
        "test -p roamlab-tcp -p roamlab-quic --lib",
    ],
    "tcp": ["test -p roamlab-tcp --test conformance", "test -p roamlab-tcp --lib"],
    "quic": ["test -p roamlab-quic --lib"],
    "qdisc": ["test -p roamlab-qdisc --lib"],
}
"""Arguments of cargo, by the crate that the mutant is in, if it has no `tests`: scripts and unit tests."""
FAST = "pytest -q -x -n 0 tests/python/mistakes/test_small_parts.py"
"""Tests that have to find a bug in Python that has no `tests`."""
WHOLE = "test -p roamlab-world --test runs -- every_recorded_run ns2::recorded"
"""All recorded runs of ns-2."""


@dataclass(frozen=True)
class Mutant:
    """A planted bug."""

    name: str
    file: str
    old: str
    new: str
    lives: str | None = None
    tests: tuple[str, ...] = ()
    folder: str = "crates"
    listed: str = "mutants.toml"

    @property
    def path(self) -> Path:
        """Its file, from the project's folder."""
        return Path(self.folder, self.file)

    @property
    def steps(self) -> list[str]:
        """The tests that may find it."""
        if self.tests:
            return list(self.tests)
        return [FAST] if self.folder == PYTHON else STEPS[self.file.split("/")[0]]

    @property
    def meets_whole_runs(self) -> bool:
        """True if whole runs come after its steps."""
        return self.folder != PYTHON and not self.tests


LISTS = {"mutants.toml": "crates", "world.toml": "crates", "python.toml": PYTHON}
"""The lists, and the folder of their files."""


def read_list(name: str) -> list[Mutant]:
    """The mutants of a list."""
    with Path(__file__).with_name(name).open("rb") as file:
        entries = tomllib.load(file)["mutants"]
    return [Mutant(**entry, folder=LISTS[name], listed=name) for entry in entries]


def check(mutants: list[Mutant]) -> None:
    """Ends the program unless each old text occurs once in its file."""
    for mutant in mutants:
        found = (ROOT / mutant.path).read_text(encoding="utf-8").count(mutant.old)
        if found != 1:
            sys.exit(f"{mutant.name}: its old text occurs {found} times in {mutant.path}")


def read() -> list[Mutant]:
    """All lists, checked against the sources."""
    mutants = [mutant for name in LISTS for mutant in read_list(name)]
    check(mutants)
    return mutants


def _copy_project() -> None:
    """Files of the project that git tracks, and nothing else."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, COPY / name)
    for engine in (ROOT / PYTHON).glob("_roamlab*.so"):
        shutil.copy(engine, COPY / PYTHON)


class DoesNotCompileError(Exception):
    """A planted bug that the compiler finds is none."""


def _passes(step: str, *, longest_s: float | None) -> bool:
    """True if the tests of this step pass."""
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(ROOT / "target/mutants/target"),
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "CARGO_INCREMENTAL": "1",
        "PROPTEST_CASES": "64",
        "PYTHONPATH": str(COPY / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if step.startswith("pytest"):
        command = [str(ROOT / ".venv/bin/python"), "-m", *step.split()]
    else:
        wanted, _, names = step.partition(" -- ")
        command = ["cargo", *wanted.split(), "--locked", "--quiet"]
        built = subprocess.run(
            [*command, "--no-run"], cwd=COPY, env=environment, capture_output=True, text=True
        )
        if built.returncode:
            raise DoesNotCompileError(built.stderr)
        command += ["--", *names.split()]
    quiet = subprocess.DEVNULL
    running = subprocess.Popen(
        command,
        cwd=COPY,
        env=environment,
        stdout=quiet,
        stderr=quiet,
        start_new_session=True,
    )
    try:
        return running.wait(longest_s) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)  # cargo and the test that it runs
            running.wait()


def _killer(mutants: list[Mutant], steps: list[str]) -> str | None:
    """The step that finds these bugs, all planted together."""
    sound = {COPY / mutant.path: "" for mutant in mutants}
    for path in sound:
        sound[path] = path.read_text(encoding="utf-8")
    try:
        for mutant in mutants:
            path = COPY / mutant.path
            planted = path.read_text(encoding="utf-8").replace(mutant.old, mutant.new)
            path.write_text(planted, encoding="utf-8")
        for step in steps:
            if not _passes(step, longest_s=LONGEST_S):
                return step
    finally:
        for path, text in sound.items():
            path.write_text(text, encoding="utf-8")
    return None


def _killers(mutants: list[Mutant], *, fast: bool) -> dict[str, str | None]:
    """The tests that kill each mutant; prints them. A bug that does not compile counts as one that survives."""
    killers: dict[str, str | None] = {}
    for mutant in mutants:
        try:
            killer = _killer([mutant], mutant.steps)
            if killer is None and mutant.lives is None and not fast and mutant.meets_whole_runs:
                killer = _killer([mutant], [WHOLE])
        except DoesNotCompileError as error:
            print(f"{mutant.name}: does not compile:\n{error}")
            killer = None
        killers[mutant.name] = killer
        print(f"{mutant.name}: {'killed by ' + killer if killer else 'SURVIVED'}", flush=True)
    explained = [
        mutant
        for mutant in mutants
        if mutant.lives and killers[mutant.name] is None and mutant.meets_whole_runs
    ]
    if explained and not fast and _killer(explained, [WHOLE]):
        for mutant in explained:
            killers[mutant.name] = _killer([mutant], [WHOLE])
    if WHOLE in killers.values() and not _passes(WHOLE, longest_s=None):
        sys.exit(f"without a mutant these tests fail: cargo {WHOLE}")
    return killers


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="only these mutants")
    parser.add_argument("--fast", action="store_true", help="without whole runs")
    part = parser.add_mutually_exclusive_group()
    part.add_argument(
        "--python", dest="part", action="store_const", const="python.toml", help="only bugs in Python"
    )
    part.add_argument(
        "--world", dest="part", action="store_const", const="world.toml", help="only those of world.toml"
    )
    arguments = parser.parse_args()
    mutants = [
        mutant
        for mutant in read()
        if arguments.part in (None, mutant.listed) and (not arguments.names or mutant.name in arguments.names)
    ]
    _copy_project()
    for step in dict.fromkeys(step for mutant in mutants for step in mutant.steps):
        if not _passes(step, longest_s=None):
            sys.exit(f"without a mutant these tests fail: {step}")
    killers = _killers(mutants, fast=arguments.fast)
    killed = sum(killer is not None for killer in killers.values())
    wrong = [
        mutant.name for mutant in mutants if (killers[mutant.name] is None) != (mutant.lives is not None)
    ]
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{killed} of {len(mutants)} killed; {(spent.ru_utime + spent.ru_stime) / 60:.0f} minutes of CPU")
    if wrong:
        print(f"not as in the list: {', '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
