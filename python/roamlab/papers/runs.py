"""The runs that a paper's claims are decided from."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import polars as pl

from roamlab import _roamlab
from roamlab.base.errors import BadInput
from roamlab.base.screen import say
from roamlab.papers.records import read_by
from roamlab.papers.stored import Damaged, decode, encode, name_of
from roamlab.records.manifest import hash_text, schema_hash
from roamlab.records.storage.shards import Mended, Shards
from roamlab.running.ensemble import Job, measure
from roamlab.statistics.stopping import seed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from roamlab.records.results import Results
    from roamlab.scenarios.scenario import Scenario

K = TypeVar("K")
T = TypeVar("T")
SEED = 1

KEPT = "measures"
"""In a store: the folder of the papers' measures, next to the summaries of sweeps."""

_COLUMNS = {"value": pl.String}


class Batch:
    """Runs that experiments ask for one by one and that are made together: no processor waits in between.

    Interpretations that do not touch a queue leave its scenario unchanged: equal scenarios are run once.
    """

    def __init__(self) -> None:
        self._wanted: dict[Job, dict[str, tuple[Callable[[Results], Any], list[tuple[list[Any], int]]]]] = (
            defaultdict(dict)
        )

    def each(
        self,
        scenarios: Mapping[K, tuple[Scenario | Callable[[int], Scenario], int | Sequence[int]]],
        take: Callable[[Results], T],
    ) -> dict[K, list[T]]:
        """`take` of this number of runs of each scenario, or of those with these numbers, in lists that `make` fills.

        Run n draws from the same streams in every scenario. What a run draws outside the engine, such as the times of
        moves, comes from a function that gives run n its scenario: see `draws`. `take` is a function of a
        module, or a partial of one, so that its result is found again; it declares with `reads` what it
        reads, and returns what `stored.encode` takes.
        """
        name = name_of(take)
        read_by(take)
        found: dict[K, list[T]] = {case: [] for case in scenarios}
        for case, (scenario, runs) in scenarios.items():
            numbers = range(runs) if isinstance(runs, int) else runs
            found[case] = cast("list[T]", [None] * len(numbers))
            for at, run in enumerate(numbers):
                of_run = scenario(run) if callable(scenario) else scenario
                _, lists = self._wanted[Job(of_run, SEED, run)].setdefault(name, (take, []))
                lists.append((found[case], at))
        return found

    def make(self, store: Path, threads: int, *, say_found: bool = True) -> None:
        """Make the runs, and measure them. What the store holds is not made again; each run is kept as it ends.

        Raises `BadInput` if the store holds what no measure of these papers has given.
        """
        keys = {job: {name: _key(job, name) for name in wanted} for job, wanted in self._wanted.items()}
        with Shards(store / KEPT, _COLUMNS) as kept:
            while True:
                with suppress(Mended):
                    self._make_missing(keys, kept, threads, say_found)
                    kept.flush()
                    texts = _read(kept, [key for of_job in keys.values() for key in of_job.values()])
                    break
            for job, wanted in self._wanted.items():
                for name, (_, lists) in wanted.items():
                    for found, at in lists:
                        found[at] = _value(kept, keys[job][name], texts)

    def behaviour(self, threads: int) -> str:
        """One number for what the engine gives in these runs: a hash of all columns that the measures read."""
        read = {
            job: sorted({column for take, _ in wanted.values() for column in read_by(take)})
            for job, wanted in self._wanted.items()
        }

        def digest(job: Job, results: Results) -> str:
            found = hashlib.sha256()
            for table, _, column in (name.partition(".") for name in read[job]):
                columns = results.columns(table)
                found.update(f"{table}.{column} {columns.height}".encode())
                if columns.names(column) is None:
                    found.update(np.ascontiguousarray(columns[column]).tobytes())
                else:
                    found.update("\n".join(columns.words(column)).encode())
            return found.hexdigest()

        return hash_text("".join(sorted(measure(list(read), digest, threads, read.__getitem__))))[:16]

    def _make_missing(
        self, keys: Mapping[Job, Mapping[str, str]], kept: Shards, threads: int, say_found: bool
    ) -> None:
        missing: dict[Job, dict[str, Callable[[Results], Any]]] = {}
        for job, wanted in self._wanted.items():
            takes = {key: wanted[name][0] for name, key in keys[job].items() if key not in kept}
            if takes:
                missing[job] = takes
        if say_found and len(missing) < len(keys):
            say(f"runs: {len(keys) - len(missing)} of {len(keys)} found in the store", err=True)

        def keep(job: Job, results: Results) -> None:
            for key, take in missing[job].items():
                kept.add(key, [(encode(take(results)),)])

        def read(job: Job) -> list[str]:
            return sorted({column for take in missing[job].values() for column in read_by(take)})

        loading = Thread(target=_load, daemon=True)
        loading.start()
        measure(list(missing), keep, threads, read)
        loading.join()


def _load() -> None:
    """Imports what draws and decides, while the interpreter waits for runs."""
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_svg
    import matplotlib.style
    import scipy.stats

    del matplotlib, scipy


def _key(job: Job, name: str) -> str:
    """Hash of everything that determines what a measure gives."""
    scenario = hash_text(job.scenario.resolved)
    parts = (scenario, job.seed, job.run, schema_hash(), _roamlab.build_hash(), name)
    return hash_text("/".join(map(str, parts)))


def _read(kept: Shards, keys: list[str]) -> dict[str, str]:
    return {key: value for _, rows in kept.read(dict.fromkeys(keys)) for key, value in rows.iter_rows()}


def _value(kept: Shards, key: str, texts: Mapping[str, str]) -> Any:
    """Result of a measure of a run; a new object each time. Raises `BadInput` with the file that holds it."""
    try:
        return decode(texts[key])
    except Damaged as error:
        raise BadInput(
            kept.file(key),
            str(error),
            expected="values that `roamlab reproduce` has kept",
            remedy="delete the file: what it held is made again",
        ) from None


_FIRST_FURTHER = 10_000


def further(runs: int | range, times: int) -> range:
    """Numbers of further runs, `times` as many as `runs`: no other block of runs has them.

    For an experiment whose runs differ so much that as many as of the others would decide nothing.
    """
    numbers = range(runs) if isinstance(runs, int) else runs
    return range(_FIRST_FURTHER + times * numbers.start, _FIRST_FURTHER + times * numbers.stop)


def draws(name: str, run: int) -> np.random.Generator:
    """Random numbers for what the paper could not have fixed in run `run`: phases, times of moves, seeds of traffic.

    Equal names and runs give equal numbers, so that all cases of a run that ask with one name are paired. No number
    of the engine's streams is among them.
    """
    return np.random.default_rng([seed(name), SEED, run])
