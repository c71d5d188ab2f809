"""Many runs, in parallel and into a store. What was made before is found, so an interrupted set goes on."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from roamlab import _roamlab
from roamlab.manifest import Manifest, describe
from roamlab.results import Results, from_engine
from roamlab.store import open_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from roamlab._roamlab import Tables
    from roamlab.scenario import Scenario
    from roamlab.store import Store

T = TypeVar("T")

QUIET_SECONDS = 2.0
"""Work that ends sooner shows no progress bar."""

LOG_SECONDS = 10.0
"""Where there is no terminal, a line this often."""


@dataclass(frozen=True)
class Job:
    """One run that is wanted."""

    scenario: Scenario
    seed: int
    run: int = 0


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(jobs: Sequence[Job], store: Store, threads: int | None = None) -> list[Results]:
    """The results of `jobs`, in their order, read from the store's folders when they are looked at.

    Runs that the store holds are not made again. When this is interrupted, the runs that had ended stay.
    """
    manifests = [describe(job.scenario, job.seed, job.run) for job in jobs]
    found = {manifest.key: store.find(manifest) for manifest in manifests}
    missing: dict[str, tuple[Job, Manifest]] = {
        manifest.key: (job, manifest)
        for job, manifest in zip(jobs, manifests, strict=True)
        if found[manifest.key] is None
    }
    if missing:
        _simulate(list(missing.values()), store, threads or processors())
    return [found[manifest.key] or open_run(store.folder(manifest)) for manifest in manifests]


def replicate(
    variants: Mapping[str, Scenario], runs: int, store: Store, *, seed: int = 1, threads: int | None = None
) -> dict[str, list[Results]]:
    """`runs` repetitions of each variant. Repetition n draws from the same streams in every variant."""
    jobs = [Job(scenario, seed, run) for scenario in variants.values() for run in range(runs)]
    results = run_all(jobs, store, threads)
    return {name: results[at * runs : (at + 1) * runs] for at, name in enumerate(variants)}


def measure(jobs: Sequence[Job], take: Callable[[Job, Results], T], threads: int | None = None) -> list[T]:
    """`take(job, results)` of every job, in their order. Each run is let go once it is measured."""
    measured: dict[int, T] = {}
    with _progress(len(jobs)) as advance:

        def keep(index: int, tables: Tables) -> None:
            job = jobs[index]
            measured[index] = take(job, from_engine(tables, describe(job.scenario, job.seed, job.run)))
            advance()

        _run_many(jobs, threads or processors(), keep)
    return [measured[index] for index in range(len(jobs))]


def _run_many(jobs: Sequence[Job], threads: int, keep: Callable[[int, Tables], None]) -> None:
    _roamlab.run_many(
        [(job.scenario.text, job.scenario.name, job.seed, job.run) for job in jobs], threads, keep
    )


def _simulate(work: list[tuple[Job, Manifest]], store: Store, threads: int) -> None:
    with _progress(len(work)) as advance:

        def keep(index: int, tables: Tables) -> None:
            store.write(from_engine(tables, work[index][1]))
            advance()

        _run_many([job for job, _ in work], threads, keep)


def _log_lines(total: int) -> Callable[[], None]:
    """Counts runs in a log: a line each `LOG_SECONDS`."""
    done = 0
    due = time.monotonic() + LOG_SECONDS

    def advance() -> None:
        nonlocal done, due
        done += 1
        if time.monotonic() >= due:
            due += LOG_SECONDS
            print(f"runs: {done} of {total}", file=sys.stderr, flush=True)

    return advance


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """Counts runs; a bar appears on the terminal once the work has taken `QUIET_SECONDS`."""
    if not sys.stderr.isatty():
        yield _log_lines(total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("runs", total=total)
    later = threading.Timer(QUIET_SECONDS, bar.start)
    later.daemon = True
    later.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        later.cancel()
        later.join()
        bar.stop()
