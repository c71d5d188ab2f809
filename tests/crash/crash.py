"""Kills commands that write, and looks at what is left: no test, but what the tests start.

    python tests/crash/crash.py [--commands run,sweep,compare,reproduce,...] [--calls N] [--moments N]

Each command is killed at N of the calls that change a file (0: at every one), and at N random moments. After
each kill the old or the new result is in its folder, whole. The same command then ends well, with the same
files as one that was left alone, no shard of the store is lost, and nothing half-made is left. Prints a line
for each command; the exit code is 1 if anything was otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import roamlab.cli
import roamlab.papers
import roamlab.papers.mblue
import roamlab.papers.reporting
import roamlab.records.storage.shards
import roamlab.running.ensemble
import roamlab.showing.page
import roamlab.showing.report

# Imported here, used only in the forks: threads that one had started would be missing in them.
import roamlab.statistics.claims
import roamlab.statistics.stats
import roamlab.sweeps.compare
import roamlab.sweeps.sweepfile
import roamlab.sweeps.sweepresult
from roamlab.base import figures
from roamlab.papers.mblue import experiments, measures
from roamlab.papers.runs import Batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.papers import Session

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples/handover.toml"
SHORT = """
[set]
"run.duration" = "1500 ms"
"hosts.mh.visits" = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "700 ms" }]
"flows.moving.app.start_within" = "200 ms"
"""
SWEEP = f"""
scenario = "base.toml"
replications = 2
metrics = ["flows.*.goodput_bps", "flows.moving.disruption_s"]
baseline = "64 pkt"
{SHORT}
[grid]
"mobility.buffer.limit" = ["4 pkt", "64 pkt"]
"""

MADE = "made"
"""A run folder, which some commands read."""

COMMANDS = {
    "run": (["run", "base.toml"], "out/runs"),
    "sweep": (["sweep", "sweep.toml", "--threads", "2"], "out/sweeps/sweep"),
    "compare": (
        ["compare", "base.toml", "other.toml", "--runs", "2", "--metric", "flows.*.goodput_bps"],
        "out/compare",
    ),
    "reproduce": (["reproduce", "small", "--runs", "2"], "out/small"),
    "report": (["report", MADE], "out/report"),
    "export": (["export", MADE, "--format", "csv", "--out", "out/export"], "out/export"),
    "explore": (["explore", MADE], "out/explore.html"),
    "chart": (["chart", MADE, "--out", "out/chart.svg"], "out/chart.svg"),
    "draw": (["draw", "base.toml", "--out", "out/network.svg"], "out/network.svg"),
}
"""Arguments, and the folder or file of the result."""


def small(session: Session) -> roamlab.showing.report.Report:
    """A paper with two experiments, a claim, a figure and a table."""
    batch = Batch()
    scenarios = {queue: (experiments.one_handoff(queue), session.runs) for queue in ("droptail", "mblue")}
    found = batch.each(scenarios, measures.one_handoff)
    batch.make(session.store, session.threads)
    received = {queue: [float(run.received) for run in runs] for queue, runs in found.items()}
    difference = roamlab.statistics.stats.paired(received["mblue"], received["droptail"])
    measure = roamlab.statistics.claims.Measure(
        "received", difference, "pkt", roamlab.statistics.claims.greater()
    )
    table = roamlab.showing.page.Table(
        "Received", tuple(received), [[str(sum(runs)) for runs in received.values()]]
    )
    roamlab.papers.reporting.write_csv(table, session.tables / "received.csv")
    with figures.new_figure() as (figure, (axes,)):
        axes.plot(range(session.runs), received["mblue"])
        figures.label(axes, ("run", "1"), ("received", "pkt"))
        saved = figures.save(figure, session.figures, "received", "Received in each run.")
    claim = roamlab.statistics.claims.Claim(
        "small.received", "More arrive.", (measure,), "default", "they do"
    )
    return roamlab.showing.report.Report("Small", "None", "", [claim], [saved], [table], [], [], [])


class Trial:
    """A command that is killed and called again in one folder."""

    def __init__(self, name: str, root: Path, shim: ctypes.CDLL) -> None:
        self._arguments, self._result = COMMANDS[name]
        self._shim, self._root, self._place = shim, root, root / "place"
        self.faults = 0
        self._prepare(other=True)
        self._end(self._start())
        self._import_what_it_imports()
        shutil.rmtree(self._place / "out/store", ignore_errors=True)
        shutil.copytree(self._place, root / "template")
        self._old = self._content()
        self._renew()
        begin = time.monotonic()
        if self._end(self._start()) != 0:
            raise SystemExit(f"{name} fails:\n{(root / 'errors.txt').read_text()}")
        self._seconds = time.monotonic() - begin
        self._new = self._content()
        self.calls = int((root / "calls.txt").read_text())

    def _import_what_it_imports(self) -> None:
        """Modules that commands import late are imported once here, and not again in each fork."""
        for name in (self._root / "modules.txt").read_text().split():
            with contextlib.suppress(ImportError):
                importlib.import_module(name)

    def _prepare(self, *, other: bool) -> None:
        """The inputs; `other` ones lead to another result."""
        self._place.mkdir(exist_ok=True)
        text = EXAMPLE.read_text(encoding="utf-8")
        for old, new in {
            'duration = "40 s"': 'duration = "11 s"',
            **({"60 ms": "61 ms"} if other else {}),
        }.items():
            if old not in text:
                raise SystemExit(f"{EXAMPLE} has no {old}")
            text = text.replace(old, new)
        (self._place / "base.toml").write_text(text)
        (self._place / "other.toml").write_text(text.replace('limit = "64 pkt"', 'limit = "8 pkt"'))
        (self._place / "sweep.toml").write_text(SWEEP)
        if MADE in self._arguments:
            runs = self._root / ("other-runs" if other else "runs")
            if not runs.exists() and self._end(
                self._start(arguments=["run", "base.toml", "--out", str(runs)])
            ):
                raise SystemExit(f"run fails:\n{(self._root / 'errors.txt').read_text()}")
            shutil.rmtree(self._place / MADE, ignore_errors=True)
            shutil.copytree(next(runs.iterdir()), self._place / MADE)

    def _renew(self) -> None:
        """An older result, and an empty store."""
        shutil.rmtree(self._place)
        shutil.copytree(self._root / "template", self._place)
        self._prepare(other=False)

    def _start(self, kill_at: int = 0, arguments: Sequence[str] = ()) -> int:
        """A fork that runs the command, or one with these arguments; its process number."""
        child = os.fork()
        if child:
            return child
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(os.open(self._root / "errors.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.chdir(self._place)
        sys.argv = ["roamlab", *(arguments or self._arguments)]
        code = 70
        self._shim.kill_at(os.fsencode(self._place), kill_at)
        try:
            roamlab.cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 71
        finally:
            (self._root / "calls.txt").write_text(str(self._shim.calls_made()))
            (self._root / "modules.txt").write_text(" ".join(sys.modules))
            os._exit(code)

    def _end(self, child: int) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _content(self) -> dict[str, bytes]:
        folder = self._place / self._result
        files = (path for path in (folder, *sorted(folder.rglob("*"))) if path.is_file())
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in files
            if not any(part.startswith(".roamlab-") for part in path.relative_to(folder).parts)
        }

    def _shards(self) -> set[str]:
        return {
            path.name for path in (self._place / "out").rglob("*.parquet") if path.parent.name == "shards"
        }

    def _fault(self, what: str) -> None:
        print(what, flush=True)
        self.faults += 1

    def _look(self, when: str) -> None:
        """After a kill: the old or the new, whole."""
        found = self._content()
        if found not in (self._old, self._new):
            self._fault(f"{when}: neither the old nor the new result, but {sorted(found)}")

    def _resume(self, when: str) -> None:
        before = self._shards()
        if (code := self._end(self._start())) != 0:
            errors = (self._root / "errors.txt").read_text()
            self._fault(f"{when}: called again, it ends with {code}: {errors}")
        elif self._content() != self._new:
            self._fault(f"{when}: called again, it gives another result")
        elif lost := before - self._shards():
            self._fault(f"{when}: called again, it has lost {sorted(lost)}")
        elif left := list(self._place.rglob(".roamlab-*")):
            self._fault(f"{when}: {left} are left")

    def at_calls(self, number: int) -> int:
        """Kill at this number of the calls that change a file; how many kills there were."""
        chosen = range(1, self.calls + 1)
        if number and number < self.calls:
            chosen = sorted(random.Random(5).sample(chosen, number))  # type: ignore[assignment]
        kills = 0
        for call in chosen:
            self._renew()
            if self._end(self._start(call)) == -signal.SIGKILL:
                kills += 1
            self._look(f"killed at call {call}")
            self._resume(f"killed at call {call}")
        return kills

    def at_moments(self, number: int) -> int:
        """Kill at this number of random moments, one attempt after the other in the same folder until one ends."""
        dice = random.Random(6)
        kills = 0
        self._renew()
        while kills < number:
            wait = dice.uniform(0.0, 1.1 * self._seconds)
            child = self._start()
            time.sleep(wait)
            os.kill(child, signal.SIGKILL)
            if (code := self._end(child)) == -signal.SIGKILL:
                kills += 1
                self._look(f"killed after {wait:.3f} s")
            if code != -signal.SIGKILL or dice.random() < 0.2:
                self._resume(f"killed after {wait:.3f} s")
                self._renew()
        self._resume("at last")
        return kills


def main() -> int:
    """Try the cases of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--calls", type=int, default=12)
    parser.add_argument("--moments", type=int, default=12)
    options = parser.parse_args()
    paper = ModuleType("roamlab.papers.small")
    paper.__dict__.update(
        RUNS=2, reproduce=small, example=lambda: experiments.one_handoff("mblue").set("run.duration", "1 s")
    )
    sys.modules["roamlab.papers.small"] = paper
    roamlab.papers.names = lambda: ["small"]
    roamlab.records.storage.shards.SECONDS = 0.0
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    faults = 0
    for name in options.commands.split(","):
        with tempfile.TemporaryDirectory() as root:
            trial = Trial(name, Path(root).resolve(), shim)
            kills = trial.at_calls(options.calls)
            print(f"{name}: killed at {kills} of {trial.calls} calls, {trial.faults} faults", flush=True)
            kills = trial.at_moments(options.moments)
            print(f"{name}: killed at {kills} moments, {trial.faults} faults", flush=True)
            faults += trial.faults
    return int(bool(faults))


def with_shim() -> int:
    """The exit code of this program with the shim before the C library."""
    with tempfile.TemporaryDirectory() as folder:
        shim = Path(folder) / "kill_at.so"
        compiler = [
            "cc",
            "-O1",
            "-Wall",
            "-shared",
            "-fPIC",
            str(HERE / "kill_at.c"),
            "-o",
            str(shim),
            "-ldl",
        ]
        subprocess.run(compiler, check=True)
        environment = os.environ | {"LD_PRELOAD": str(shim)}
        return subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main() if "LD_PRELOAD" in os.environ else with_shim())
