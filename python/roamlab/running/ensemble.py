"""Many runs, in parallel and into a store. Stored runs are found, so an interrupted set continues."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from roamlab import _roamlab
from roamlab.base.calls import called, public
from roamlab.base.errors import BadInput
from roamlab.base.limits import memory_per_run
from roamlab.base.output import sweep_drafts
from roamlab.records.manifest import Manifest, describe
from roamlab.running.progress import progress, weight
from roamlab.running.runprogress import simulated_time
from roamlab.scenarios.scenario import check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from roamlab._roamlab import Tables
    from roamlab.records.results import Results
    from roamlab.records.storage.store import Begun, Store
    from roamlab.records.totals import Totals
    from roamlab.running.progress import Advance
    from roamlab.scenarios.scenario import Scenario

T = TypeVar("T")


@public("write another roamlab.Job(scenario, seed, run)")
@dataclass(frozen=True)
class Job:
    """One run that is wanted."""

    scenario: Scenario
    seed: int
    run: int = 0

    def __post_init__(self) -> None:
        check_number("seed", self.seed)
        check_number("run", self.run)

    def as_tuple(self) -> tuple[str, str, int, int]:
        """For the engine."""
        return self.scenario.text, self.scenario.name, self.seed, self.run


def beginning(scenario: Scenario) -> str:
    """Equal for scenarios that differ in their mobility protocols alone: their runs may have a common beginning."""
    return json.dumps({name: table for name, table in scenario.to_dict().items() if name != "mobility"})


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@called()
def run_all(
    jobs: Sequence[Job],
    store: Store,
    threads: int | None = None,
    ended: Callable[[Totals], None] | None = None,
) -> list[Results]:
    """The results of `jobs`, in their order, read from the store's folders when they are looked at.

    Runs that the store holds are not made again. When this is interrupted, the runs that had ended stay. `ended` gets
    the totals of a single run before it is written, unless the run is large.
    """
    if threads is not None and threads < 1:
        raise BadInput(
            f"threads = {threads}",
            "this number cannot run",
            expected="a whole number from 1 on",
            remedy="leave it out: there is one for each processor",
        )
    sweep_drafts(store.root)
    manifests = [describe(job.scenario, job.seed, job.run) for job in jobs]
    found = {manifest.key: store.find(manifest) for manifest in manifests}
    missing: dict[str, tuple[Job, Manifest]] = {
        manifest.key: (job, manifest)
        for job, manifest in zip(jobs, manifests, strict=True)
        if found[manifest.key] is None
    }
    if missing:
        found |= _simulate(list(missing.values()), store, threads or processors(), ended)
    return [kept for manifest in manifests if (kept := found[manifest.key])]


def measure(
    jobs: Sequence[Job],
    take: Callable[[Job, Results], T],
    threads: int | None = None,
    wanted: Callable[[Job], list[str]] | None = None,
) -> list[T]:
    """`take(job, results)` of every job, in their order. Each run is released once it is measured.

    `wanted(job)` lists the tables, or columns as "table.column", that `take` finds; all without it.
    """
    from roamlab.records.results import from_engine

    measured: dict[int, T] = {}
    weights = {scenario: weight(scenario) for scenario in {job.scenario for job in jobs}}
    alike = {scenario: beginning(scenario) for scenario in weights}

    def rank(index: int) -> tuple[float, str, int, int]:
        job = jobs[index]
        return -weights[job.scenario], alike[job.scenario], job.seed, job.run

    # The longest first: no processor waits long for the last. Alternatives one behind the other: the engine makes
    # what is common to them once.
    order = sorted(range(len(jobs)), key=rank)
    with _progress(jobs) as advance:

        def keep(place: int, tables: Tables) -> None:
            job = jobs[order[place]]
            measured[order[place]] = take(job, from_engine(tables, describe(job.scenario, job.seed, job.run)))
            advance(job.scenario)

        _run_many(
            [jobs[index] for index in order],
            threads or processors(),
            keep,
            wanted and (lambda place: wanted(jobs[order[place]])),
        )
    return [measured[index] for index in range(len(jobs))]


def _progress(jobs: Sequence[Job]) -> AbstractContextManager[Advance]:
    """Progress by scenario: runs of the same scenario take the same time."""
    wanted = Counter(job.scenario for job in jobs)
    return progress(wanted, {scenario: weight(scenario) for scenario in wanted})


def _run_many(
    jobs: Sequence[Job],
    threads: int,
    keep: Callable[[int, Tables], None],
    wanted: Callable[[int], list[str] | None] | None = None,
    tell: Callable[[int, int], None] | None = None,
    pieces: Callable[[int, Tables], None] | None = None,
    totals: Callable[..., None] | None = None,
) -> None:
    memory = memory_per_run(threads)
    _roamlab.run_many((job.as_tuple() for job in jobs), threads, keep, wanted, memory, tell, pieces, totals)


def _simulate(
    work: list[tuple[Job, Manifest]],
    store: Store,
    threads: int,
    ended: Callable[[Totals], None] | None = None,
) -> dict[str, Results]:
    """Make runs and keep them: each by its manifest's key."""
    if len(work) == 1:
        ((job, _),) = work
        with simulated_time(job.scenario.outline.duration_ns) as tell:
            return _make(work, store, 1, tell=tell, totals=ended)
    with _progress([job for job, _ in work]) as advance:
        return _make(work, store, threads, lambda job: advance(job.scenario))


def _make(
    work: list[tuple[Job, Manifest]],
    store: Store,
    threads: int,
    ended: Callable[[Job], None] = lambda _: None,
    tell: Callable[[int, int], None] | None = None,
    totals: Callable[[Totals], None] | None = None,
) -> dict[str, Results]:
    """Make runs. Long tables are written during them; an interruption leaves nothing of a run under way.

    With `totals` no table of a small run is written before it gets these: Polars is loaded for the first one.
    """
    from roamlab.records.totals import Totals

    kept: dict[str, Results] = {}
    small = totals and all(is_small(job) for job, _ in work)
    with ExitStack() as stack:
        under_way: dict[int, tuple[ExitStack, Begun]] = {}

        def begun(index: int) -> tuple[ExitStack, Begun]:
            if index not in under_way:
                of_run = stack.enter_context(ExitStack())
                under_way[index] = of_run, of_run.enter_context(store.begin())
            return under_way[index]

        def keep(index: int, tables: Tables) -> None:
            from roamlab.records.results import from_engine

            job, manifest = work[index]
            of_run, run = begun(index)
            with of_run:
                kept[manifest.key] = run.keep(from_engine(tables, manifest))
            del under_way[index]
            ended(job)

        _run_many(
            [job for job, _ in work],
            threads,
            keep,
            tell=tell,
            pieces=None if small else lambda index, piece: begun(index)[1].pieces.add(piece),
            totals=(lambda _, flows, lost: totals(Totals.from_engine(flows, lost)))
            if totals and small
            else None,
        )
    return kept


SMALL_BYTES, SMALL_FLOWS = 100_000_000, 1000
"""Estimated record, and flows, of a run that is small: all of it is in memory when it ends."""


def is_small(job: Job) -> bool:
    """True if the run stays in memory until it ends, and its totals are there before it is written."""
    return job.scenario.advice[2] <= SMALL_BYTES and job.scenario.outline.flows <= SMALL_FLOWS
