"""The runs that a paper's claims are decided from, and what each of them draws from a range.

An interpretation may have a range as the value of a field, for a quantity that a paper leaves open. The runs then cover
the range, and an interval over them contains what the paper did not print. In `axes.toml` and `sentences.toml` a range
is `drawn = [low, high]`; with `quantity` it has the draws of other fields with the same one.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

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
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from roamlab.records.results import Results
    from roamlab.scenarios.scenario import Scenario

K = TypeVar("K")
R = TypeVar("R")
T = TypeVar("T")
SEED = 1

KEPT = "measures"
"""In a store: the folder of the papers' measures, next to the summaries of sweeps."""

_COLUMNS = {"value": pl.String}


class NotMade(LookupError):
    """A result of a run that was not made."""


_EMPTY = object()
"""In place of a result that is not there yet: no number, so that whatever would compute with it fails."""


class Runs(list[T]):
    """Results of the runs of a case. They are there once the batch is made, or after the first look at one of them.

    Raises `NotMade` if they are not there and the batch may not make them.
    """

    def __init__(self, count: int, make: Callable[[], None]) -> None:
        super().__init__(cast("list[T]", [_EMPTY] * count))
        self._make: Callable[[], None] | None = make

    def made(self) -> None:
        """All are there."""
        self._make = None

    def _look(self) -> None:
        if self._make is not None:
            self._make()

    def __iter__(self) -> Iterator[T]:
        self._look()
        return super().__iter__()

    def __getitem__(self, at: Any) -> Any:
        self._look()
        return super().__getitem__(at)

    def __add__(self, other: list[Any]) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: list[Any]) -> list[Any]:
        return [*other, *self]


_Wanted: TypeAlias = (
    "Mapping[Job, Mapping[str, tuple[Callable[[Results], Any], Sequence[tuple[Runs[Any], int]]]]]"
)
"""By run, and by the name of a measure: the measure, and the places of its result."""


class Batch:
    """Runs that experiments ask for one by one and that are made together: no processor waits in between.

    Interpretations that do not touch a queue leave its scenario unchanged: equal scenarios are run once.
    """

    def __init__(self, change: Callable[[Scenario], Scenario] | None = None) -> None:
        """`change`: makes of each scenario another one, which is run in its place."""
        self._change = change
        self._changes: dict[Scenario, Scenario] = {}
        self._wanted: dict[Job, dict[str, tuple[Callable[[Results], Any], list[tuple[Runs[Any], int]]]]] = (
            defaultdict(dict)
        )
        self._asked: list[Runs[Any]] = []
        self._offered: tuple[Path, int] | None = None

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
        found: dict[K, list[T]] = {}
        jobs: dict[Job, None] = {}
        asked: list[Runs[Any]] = []

        def make() -> None:
            self._make_offered(jobs, name, asked)

        for case, (scenario, runs) in scenarios.items():
            numbers = range(runs) if isinstance(runs, int) else runs
            found[case] = of_case = Runs[T](len(numbers), make)
            asked.append(of_case)
            for at, run in enumerate(numbers):
                job = Job(self._changed(scenario(run) if callable(scenario) else scenario), SEED, run)
                jobs[job] = None
                _, places = self._wanted[job].setdefault(name, (take, []))
                places.append((of_case, at))
        self._asked += asked
        return found

    def _changed(self, scenario: Scenario) -> Scenario:
        if self._change is None:
            return scenario
        if scenario not in self._changes:
            self._changes[scenario] = self._change(scenario)
        return self._changes[scenario]

    def make(self, store: Path, threads: int, *, say_found: bool = True) -> None:
        """Make the runs, and measure them. What the store holds is not made again; each run is kept as it ends.

        Raises `BadInput` if the store holds what no measure of these papers has given.
        """
        self._make(self._wanted, self._asked, store, threads, say_found=say_found)

    def offer(self, store: Path, threads: int) -> None:
        """Make the runs of an experiment, one call of `each`, when a result of it is first looked at."""
        self._offered = store, threads

    @contextmanager
    def only_made(self) -> Iterator[None]:
        """Within it no run is made: what asks for a result that is not there raises `NotMade`."""
        offered, self._offered = self._offered, None
        try:
            yield
        finally:
            self._offered = offered

    def _make_offered(self, jobs: Iterable[Job], name: str, asked: Sequence[Runs[Any]]) -> None:
        if self._offered is None:
            raise NotMade("the runs of this experiment were not made")
        self._make({job: {name: self._wanted[job][name]} for job in jobs}, asked, *self._offered)

    def _make(
        self,
        wanted: _Wanted,
        asked: Iterable[Runs[Any]],
        store: Path,
        threads: int,
        *,
        say_found: bool = True,
    ) -> None:
        keys = {job: {name: _key(job, name) for name in of_job} for job, of_job in wanted.items()}
        with Shards(store / KEPT, _COLUMNS) as kept:
            while True:
                with suppress(Mended):
                    _make_missing(wanted, keys, kept, threads, say_found=say_found)
                    kept.flush()
                    texts = _read(kept, [key for of_job in keys.values() for key in of_job.values()])
                    break
            for job, of_job in wanted.items():
                for name, (_, places) in of_job.items():
                    for found, at in places:
                        found[at] = _value(kept, keys[job][name], texts)
        for runs in asked:
            runs.made()

    def behaviour(self, threads: int) -> str:
        """One number for what the engine gives in these runs: a hash of all columns that the measures read."""
        read = {job: _columns(take for take, _ in wanted.values()) for job, wanted in self._wanted.items()}

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
    wanted: _Wanted,
    keys: Mapping[Job, Mapping[str, str]],
    kept: Shards,
    threads: int,
    *,
    say_found: bool,
) -> None:
    missing: dict[Job, dict[str, Callable[[Results], Any]]] = {}
    for job, of_job in wanted.items():
        takes = {key: of_job[name][0] for name, key in keys[job].items() if key not in kept}
        if takes:
            missing[job] = takes
    if say_found and len(missing) < len(keys):
        say(f"runs: {len(keys) - len(missing)} of {len(keys)} found in the store", err=True)

    def keep(job: Job, results: Results) -> None:
        for key, take in missing[job].items():
            kept.add(key, [(encode(take(results)),)])

    def read(job: Job) -> list[str]:
        return _columns(missing[job].values())

    loading = Thread(target=_load, daemon=True)
    loading.start()
    measure(list(missing), keep, threads, read)
    loading.join()


def _columns(takes: Iterable[Callable[[Results], Any]]) -> list[str]:
    """The columns that measures read."""
    return sorted({column for take in takes for column in read_by(take)})


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


def draws(name: str, run: int) -> np.random.Generator:
    """Random numbers for what the paper could not have fixed in run `run`: phases, times of moves, seeds of traffic.

    Equal names and runs give equal numbers, so that all cases of a run that ask with one name are paired. No number
    of the engine's streams is among them.
    """
    return np.random.default_rng([seed(name), SEED, run])


@dataclass(frozen=True)
class Drawn:
    """A range, from which each run draws a value, all equally likely. Raises `ValueError` if it is empty."""

    low: float
    high: float
    quantity: str = ""
    """The name of the draw, if several fields have the same one. Empty: that of the field."""

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"no range: {self.low} to {self.high}")

    def __format__(self, form: str) -> str:
        return f"{self.low:{form}} to {self.high:{form}} (drawn)"

    def __str__(self) -> str:
        return f"{self:g}"

    def of_run(self, place: str, field: str, run: int) -> float:
        """The value of this run for a field of the interpretation of a module, to six decimals."""
        name = f"{place}.{self.quantity or field}"
        return round(float(draws(name, run).uniform(self.low, self.high)), 6)


@cache
def of_run(interpretation: R, run: int) -> R:
    """The interpretation of one run: a value in place of each range. Equal in all cases of the run.

    `interpretation` is a dataclass; the name of a draw is its module's with that of the field or of the quantity.
    """
    place = type(interpretation).__module__
    ranges = {
        field.name: found.of_run(place, field.name, run)
        for field in fields(interpretation)  # type: ignore[arg-type]
        if isinstance(found := getattr(interpretation, field.name), Drawn)
    }
    return replace(interpretation, **ranges) if ranges else interpretation  # type: ignore[type-var]


def each_run(experiment: Callable[[R], Scenario], interpretation: R) -> Scenario | Callable[[int], Scenario]:
    """An experiment for `Batch.each`: one scenario, or, if the interpretation has a range, a scenario for each run."""
    if of_run(interpretation, 0) == interpretation:
        return experiment(interpretation)
    return lambda run: experiment(of_run(interpretation, run))


def number(of: Any) -> float:
    """A quantity of the interpretation of one run. Raises `TypeError` for a range."""
    if isinstance(of, Drawn):
        raise TypeError(f"{of}: each run has its own value, see `of_run`")
    return float(of)
