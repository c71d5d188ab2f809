"""Mutates inputs at random and gives them to the commands: not a test, but what the tests start.

Scenarios, sweeps, run folders and traces.

    python tests/mutate/mutate.py COUNT [--seed N] [--first N] [--kind scenario]

A case is determined by the seed and its number. Each is run in a worker process that lives on from case to case, with
a limit on its memory. Prints the failures, then the counts as JSON; exit code 1 if a case failed. A case fails by

* a traceback, a panic or the end of the process, which the memory limit is one reason for;
* a violated law of the simulator;
* bad input that is reported without its place or without help.

A case that takes the processor for longer than `LONGEST_S` is cut off and counted; on a busy machine others wait.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

import materials

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_S, LONGEST_WAIT_S = 60.0, 600.0
"""Of the processor, and on the wall."""

MEMORY = 3 << 30
"""Bytes that a worker may have beyond what it has when all modules are loaded."""

LONGEST_RUN_S, MOST_RUNS = 4.0, 40
"""Scenarios of more simulated time, and sweeps of more runs, are only checked."""

KINDS = ("scenario", "scenario", "sweep", "run", "trace")
"""Mutated kinds; scenarios twice as often."""

_LOCATED = re.compile(
    r"^error: (?:\S*(?:mutant|case)\S*|--\S+|metric |table |sweep, |sweep file |RUN|.*field `)"
)


def call(*arguments: str) -> tuple[int, str, str]:
    """The exit code, output and errors of a command."""
    from roamlab import cli

    out, err = StringIO(), StringIO()
    sys.argv = ["roamlab", *arguments]
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as stop:
            code = int(str(stop.code or 0))
    return code, out.getvalue(), err.getvalue()


def complaint(code: int, out: str, err: str, *, may_differ: bool) -> str:
    """Faults in the end of a command; empty if there are none."""
    if "\x1b" in out + err:
        return f"an escape sequence is printed: {out + err}"
    if code == 0 or (code == 1 and may_differ and "first difference" in out):
        return ""
    if code != 2:
        return f"exit code {code}: {err}"
    last = err[err.rfind("error: ") :]
    if not _LOCATED.match(last):
        return f"no place: {err}"
    return "" if "help: " in last else f"no help: {err}"


class Case:
    """One mutated input, in a separate folder."""

    def __init__(self, rng: random.Random, bases: materials.Bases, kinds: Sequence[str] = KINDS) -> None:
        self.rng, self.bases = rng, bases
        self.kind = rng.choice(kinds)
        self.accepted = False

    def run(self) -> str:
        """Make it and give it to the commands; what is wrong, or nothing."""
        return str(getattr(self, f"_{self.kind}")())

    def _give(self, *arguments: str, may_differ: bool = False) -> str:
        """Give it to a command; what is wrong with how that ended."""
        code, out, err = call(*arguments)
        self.accepted = code != 2
        return complaint(code, out, err, may_differ=may_differ)

    def _scenario(self) -> str:
        name, text = self.rng.choice(sorted(self.bases.scenarios.items()))
        Path("mutant.toml").write_bytes(materials.mutated_text(self.rng, text))
        found = self._give("check", "mutant.toml")
        if found or not _is_short("mutant.toml"):
            return f"{name}: {found}" if found else ""
        return self._give("run", "mutant.toml", "--out", "case")

    def _sweep(self) -> str:
        scenario, text = self.bases.scenarios["handover"], self.rng.choice(self.bases.sweeps)
        of_scenario = self.rng.random() < 0.2
        mutant = materials.mutated_text(self.rng, scenario if of_scenario else text)
        Path("mutant.toml").write_bytes(mutant if of_scenario else scenario.encode())
        Path("mutant_sweep.toml").write_bytes(text.encode() if of_scenario else mutant)
        if not _is_small("mutant_sweep.toml"):
            return ""
        arguments = ("sweep", "mutant_sweep.toml", "--store", "case", "--out", "case_out", "--threads", "1")
        return self._give(*arguments)

    def _run(self) -> str:
        shutil.copytree(self.bases.run, "mutant")
        materials.mutate_run(self.rng, Path("mutant"), self.bases.other)
        commands = (
            ("chart", "mutant", "-o", "case.svg"),
            ("chart", "mutant", "--text", "--handover", str(self.rng.randrange(3))),
            ("trace", "mutant", "--packet", str(self.rng.randrange(200))),
            ("compare-trace", "mutant", str(self.bases.run)),
            ("export", "mutant", "--format", "pcapng", "--node", "mh", "--out", "case_out"),
            ("export", "mutant", "--format", self.rng.choice(("ns2", "csv", "arrow")), "--out", "case_out"),
            ("why", "mutant"),
            ("explore", "mutant", "--out", "case.html"),
        )
        return self._give(*self.rng.choice(commands), may_differ=True)

    def _trace(self) -> str:
        form, text = self.rng.choice(sorted(self.bases.traces.items()))
        Path("case_whole").write_text(text, encoding="utf-8")
        Path("mutant").write_bytes(materials.mutated_text(self.rng, text))
        forced = ("--format", form) if self.rng.random() < 0.5 else ()
        names = ["mutant", "case_whole"]
        self.rng.shuffle(names)
        return self._give("compare-trace", *names, *forced, may_differ=True)


def _is_short(path: str) -> bool:
    """True if the scenario is invalid, or is simulated in a moment."""
    from roamlab import RoamlabError, ScenarioError, load

    with suppress(RoamlabError, ScenarioError):
        return load(path).outline.duration_ns <= LONGEST_RUN_S * 1e9
    return True


def _is_small(path: str) -> bool:
    """True if the sweep is invalid, or few short runs."""
    from roamlab import RoamlabError, ScenarioError
    from roamlab.sweeps.sweepfile import load_sweep

    with suppress(RoamlabError, ScenarioError):
        plan = load_sweep(path).plan
        each = plan.replications if isinstance(plan.replications, int) else plan.replications.budget
        if each * len(plan.design) > MOST_RUNS:
            return False
        return all(
            plan.scenario(point).outline.duration_ns <= LONGEST_RUN_S * 1e9
            for point in range(len(plan.design))
        )
    return True


def work(seed: int, kinds: Sequence[str]) -> None:
    """The worker: takes numbers of cases from its input, answers each with a line of JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("error")
    start = Path.cwd()
    bases = materials.bases(start / "bases", call)
    with Path("/proc/self/statm").open() as sizes:
        present = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (present + MEMORY, present + MEMORY))
    for line in sys.stdin:
        folder = Path(tempfile.mkdtemp(dir=start))
        os.chdir(folder)
        case = Case(random.Random(f"{seed}/{line.strip()}"), bases, kinds)
        try:
            wrong = case.run()
        except BaseException:  # noqa: BLE001  (panics of the engine are no `Exception`)
            wrong = traceback.format_exc()
        os.chdir(start)
        shutil.rmtree(folder, ignore_errors=True)
        answers.write(json.dumps([case.kind, wrong, case.accepted]) + "\n")
        answers.flush()


class Worker:
    """A process that runs cases, started again when it dies."""

    def __init__(self, seed: int, kinds: Sequence[str], folder: Path) -> None:
        self._seed, self._kinds, self._folder = seed, kinds, folder
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, str(Path(__file__).resolve()), "--worker"]
        command += ["--seed", str(self._seed), *(f"--kind={kind}" for kind in self._kinds)]
        with (self._folder / "errors.txt").open("w") as errors:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def case(self, number: int) -> tuple[str, str, bool]:
        """Kind, what is wrong, and whether the input was accepted."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{number}\n")
        self._process.stdin.flush()
        ready = self._wait(self._process.stdout)
        answer = self._process.stdout.readline() if ready else ""
        if answer:
            kind, wrong, accepted = json.loads(answer)
            return kind, wrong, accepted
        self.close()
        said = (self._folder / "errors.txt").read_text(errors="replace")[-2000:]
        ended = f"ended with {self._process.returncode}: {said}" if ready else ""
        kind = Case(random.Random(f"{self._seed}/{number}"), materials.NONE, self._kinds).kind
        self._process = self._start()
        return kind if ready else "cut off", ended, False

    def _wait(self, answers: IO[str]) -> bool:
        """True if an answer comes before the case has taken its time."""
        used, begin = self._seconds(), time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(answers, selectors.EVENT_READ)
            while self._seconds() - used < LONGEST_S and time.monotonic() - begin < LONGEST_WAIT_S:
                if selector.select(min(1.0, LONGEST_S)):
                    return True
        return False

    def _seconds(self) -> float:
        """Processor time of the process."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End the process."""
        with suppress(OSError):
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream:
                    stream.close()


def main() -> None:
    """Run the cases and print what failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0] if __doc__ else None)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--kind", action="append", choices=KINDS, help="mutate this only, or these")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    kinds = asked.kind or KINDS
    if asked.worker:
        work(asked.seed, kinds)
        return
    counts: Counter[str] = Counter()
    accepted: Counter[str] = Counter()
    failures = []
    with tempfile.TemporaryDirectory(prefix="roamlab-mutate-") as folder:
        worker = Worker(asked.seed, kinds, Path(folder))
        try:
            for number in range(asked.first, asked.first + asked.count):
                kind, wrong, taken = worker.case(number)
                counts[kind] += 1
                accepted[kind] += taken
                if kind == "cut off":
                    print(f"--- case {number} took more than {LONGEST_S:g} s", flush=True)
                if wrong:
                    failures.append(number)
                    print(f"--- case {number} ({kind})\n{wrong.rstrip()}", flush=True)
        finally:
            worker.close()
    print(
        json.dumps(
            {"seed": asked.seed, "cases": dict(counts), "accepted": dict(accepted), "failed": failures}
        )
    )
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
