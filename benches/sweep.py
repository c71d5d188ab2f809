#!/usr/bin/env python3
"""Cost of a sweep in addition to its runs: overhead per run, memory, and the gain of a second core.

    python benches/sweep.py [--runs 10000] [--repetitions 5]

* Overhead: a scenario of a few packets, many runs. The time of the sweep less that of the same runs alone, per run;
  once with a new scenario at every point, once with repetitions of one.
* Memory: resident memory at the tenth and at the last part of that sweep.
* Efficiency: T(1 thread) / (2 T(2 threads)) by the clock on runs of some tenths of a second, medians of alternating
  measurements. In addition the same for independent processes, which is what the machine has to give at that
  time, and the share of the CPU time that only one thread can spend, the interpreter's.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import roamlab as rl
from roamlab import _roamlab
from roamlab.running.executor import LocalPool
from roamlab.running.summary import Measurement

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "handover.toml"


def resident_mib() -> float:
    """The process's resident memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Watched(LocalPool):
    """The local pool, with the resident memory noted as runs end."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.memory: list[float] = []

    def execute(self, jobs, measurement, sink, *, tables):
        ended = 0

        def watched(*found):
            nonlocal ended
            sink(*found)
            ended += 1
            if ended % 100 == 0:
                self.memory.append(resident_mib())

        super().execute(jobs, measurement, watched, tables=tables)


def tiny() -> rl.Scenario:
    return rl.Scenario.from_dict(
        {
            "run": {"duration": "100 ms"},
            "links": [{"between": ["a", "b"], "rate": "1 Mbit/s", "delay": "10 ms"}],
            "flows": [
                {"name": "file", "path": ["a", "b"], "transport": {"kind": "tcp"}, "app": {"kind": "ftp"}}
            ],
        },
        "tiny",
    )


def alone(base: rl.Scenario, runs: int) -> float:
    """CPU seconds of runs without a receiver of their results."""
    start = time.process_time()
    _roamlab.run_many(
        ((base.text, base.name, 1, run) for run in range(runs)),
        1,
        lambda *_: None,
        lambda _: Measurement().tables,
    )
    return time.process_time() - start


def overhead(runs: int) -> None:
    base = tiny()
    designs = {
        "a point each": ({"links.0.delay": [f"{10_000 + n} us" for n in range(runs)]}, 1),
        "one point": ({"links.0.delay": ["10 ms"]}, runs),
    }
    for name, (design, replications) in designs.items():
        with tempfile.TemporaryDirectory() as store:
            bare, pool, start = alone(base, runs), Watched(1), time.process_time()
            sweep = rl.sweep(base, design, replications=replications, store=store, executor=pool)
            made = time.process_time() - start
            start = time.process_time()
            rl.sweep(base, design, replications=replications, store=store)
            again = time.process_time() - start
            size = sum(path.stat().st_size for path in Path(store).rglob("*") if path.is_file())
        assert len(sweep) == runs
        print(
            f"{runs} runs, {name}: alone {bare / runs * 1e3:.3f} ms, overhead {(made - bare) / runs * 1e3:.3f} ms, "
            f"found again {again / runs * 1e3:.3f} ms a run; {size / runs:.0f} B a run on disk; resident memory "
            f"{pool.memory[len(pool.memory) // 10]:.0f} MiB at a tenth, {pool.memory[-1]:.0f} MiB at the end",
            flush=True,
        )


def efficiency(repetitions: int) -> None:
    base = rl.load(EXAMPLE).set("flows.moving.app.start_within", "1 s").set("run.duration", "400 s")

    def swept(threads: int) -> float:
        with tempfile.TemporaryDirectory() as store:
            start = time.perf_counter()
            rl.sweep(
                base,
                {"mobility.buffer.limit": ["4 pkt", "64 pkt"]},
                replications=20,
                store=store,
                executor=LocalPool(threads),
            )
            return time.perf_counter() - start

    def processes(count: int) -> float:
        """As many busy processes as there are threads, half the work each: what two cores give at best."""
        loop = f"for _ in range({12_000_000 // count}): pass"
        start = time.perf_counter()
        started = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(count)]
        for process in started:
            process.wait()
        return time.perf_counter() - start

    ratios, machine = [], []
    before, serial = time.process_time(), time.thread_time()
    for _ in range(repetitions):
        ratios.append(swept(1) / swept(2) / 2)
        machine.append(processes(1) / processes(2) / 2)
    serial = (time.thread_time() - serial) / (time.process_time() - before)
    ours, best = statistics.median(ratios), statistics.median(machine)
    print(
        f"efficiency on 2 cores: {ours:.2f} (median of {repetitions}: {', '.join(f'{r:.2f}' for r in ratios)})"
    )
    print(f"independent processes on the same machine: {best:.2f} ({', '.join(f'{r:.2f}' for r in machine)})")
    print(f"the interpreter's share of the CPU time: {100 * serial:.2f} %, so at best {1 / (1 + serial):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    overhead(arguments.runs)
    efficiency(arguments.repetitions)
