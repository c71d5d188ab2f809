"""Requests of papers to their runs, and their measures: a run records what is read of it, and no table is queried."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from conftest import ROOT
from roamlab import _roamlab, papers
from roamlab.papers import Session
from roamlab.papers.ipf import experiments, measures
from roamlab.papers.records import queue_trace, read_by
from roamlab.papers.runs import Batch
from roamlab.records import results
from roamlab.records.columns import Columns
from roamlab.records.manifest import describe
from roamlab.records.tables import TABLES
from roamlab.running.ensemble import Job
from roamlab.running.run import run
from roamlab.scenarios.scenario import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from roamlab._roamlab import Tables

EVERYTHING = [f"{table}.{column}" for table, schema in TABLES.items() for column in schema.columns]


def _made(jobs: list[Job], wanted: Callable[[int], list[str] | None]) -> list[Tables]:
    found: dict[int, Tables] = {}
    _roamlab.run_many([job.as_tuple() for job in jobs], 2, found.__setitem__, wanted)
    return [found[index] for index in range(len(jobs))]


def test_a_column_alone_is_that_of_the_whole_record() -> None:
    scenario = load(ROOT / "examples/handover.toml").set_all(
        {
            "run.duration": "12 s",
            "record.packets": True,
            "record.variables": True,
            "mobility.buffer.limit": "4 pkt",
        }
    )
    film = {"name": "film", "path": ["ch", "mh"], "app": {"kind": "video", "stop": "1 s"}}
    told = {"policy": "nothing"}
    flows = [
        flow | ({"path_change": told} if "transport" in flow else {}) for flow in scenario.to_dict()["flows"]
    ]
    scenario = scenario.set("flows", [*flows, film])
    jobs = [Job(scenario, 1)] * (len(EVERYTHING) + 1)
    *alone, whole = _made(jobs, lambda index: EVERYTHING[index : index + 1] or None)
    empty = set()
    for name, tables in zip(EVERYTHING, alone, strict=True):
        table, _, column = name.partition(".")
        assert {found: list(tables[found]) for found in tables} == {
            table: [column],
            "names": list(tables["names"]),
        }
        expected, got = (Columns.from_engine(made, table) for made in (whole, tables))
        np.testing.assert_array_equal(got[column], expected[column], name)
        if name in whole["names"]:
            assert got.words(column) == expected.words(column)
        empty |= set() if expected.height else {table}
    assert empty <= {"trace", "policing", "tcp_info", "bearer_gaps"}, "what is empty compares nothing"


class _Watched(Columns):
    """Notes which columns are read."""

    def __init__(self, read: set[str], table: str, values: Any, names: Any) -> None:
        super().__init__(values, names)
        self._read, self._table = read, table

    def _note(self, column: str) -> None:
        self._read.add(f"{self._table}.{column}")

    def __getitem__(self, column: str) -> Any:
        self._note(column)
        return super().__getitem__(column)

    def where(self, column: str, *names: str) -> Any:
        self._note(column)
        return super().where(column, *names)

    def words(self, column: str, *rows: Any) -> list[str]:
        self._note(column)
        return super().words(column, *rows)


@pytest.mark.parametrize("paper", papers.names())
def test_measures_read_what_they_say_and_make_no_frames(
    paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: dict[Any, set[str]] = defaultdict(set)
    said: dict[Any, set[str]] = {}
    taking: Any = None

    def from_engine(cls: type[Columns], tables: Tables, table: str) -> Columns:
        values: Any = tables[table]
        names: Any = tables["names"]
        known = {column: names[f"{table}.{column}"] for column in values if f"{table}.{column}" in names}
        return _Watched(read[taking], table, values, known)

    def frame(*_: object) -> None:
        raise AssertionError("a table becomes a frame")

    class Ended(Exception):
        """All that the paper measures was looked at."""

    def make(batch: Batch, store: Path, threads: int) -> None:
        nonlocal taking
        monkeypatch.setattr(Columns, "from_engine", classmethod(from_engine))
        monkeypatch.setattr(results, "frame_of", frame)
        of_measure: dict[Any, dict[str, tuple[Job, Any]]] = defaultdict(dict)
        for job, wanted in batch._wanted.items():
            for take, _ in wanted.values():
                function = take.func if isinstance(take, partial) else take
                of_measure[function].setdefault(job.scenario.name, (job, take))
        for function, uses in of_measure.items():
            columns = read_by(function)
            jobs = [job for job, _ in uses.values()][:6]
            for job, tables, (_, take) in zip(
                jobs, _made(jobs, lambda _, named=columns: named), uses.values(), strict=False
            ):
                taking, said[function] = function, set(columns)
                take(results.from_engine(tables, describe(job.scenario, job.seed, job.run)))
        raise Ended

    monkeypatch.setattr(Batch, "make", make)
    with pytest.raises(Ended):
        papers.paper(paper).reproduce(Session(tmp_path, tmp_path, tmp_path, 1, 2))
    assert said
    for function, columns in said.items():
        assert read[function] == columns, function.__qualname__


def test_a_run_records_what_its_own_measures_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[set[str]] = []
    real = _roamlab.run_many

    def counted(jobs: Any, threads: int, sink: Callable[..., None], *rest: Any) -> None:
        def note(index: int, tables: Tables) -> None:
            recorded.append(set(tables) - {"names"})
            sink(index, tables)

        real(jobs, threads, note, *rest)

    monkeypatch.setattr(_roamlab, "run_many", counted)
    batch = Batch()
    few, both = (experiments.arrival(1, queue) for queue in ("red", "mred"))
    points = batch.each({"few": (few, 1), "both": (both, 1)}, measures.point)
    traces = batch.each({"both": (both, 1)}, partial(queue_trace, queue=experiments.AIR))
    batch.make(tmp_path, threads=1)
    assert sorted(recorded, key=len) == [{"drops", "flows", "links"}, {"drops", "flows", "links", "queue"}]
    assert all(len(found) == 1 for found in (*points.values(), *traces.values()))


def test_a_measure_that_does_not_say_what_it_reads_is_refused() -> None:
    with pytest.raises(TypeError, match="jump does not declare what it reads"):
        Batch().each({}, measures.jump)


def test_columns_of_a_frame_are_those_of_the_engine(tmp_path: Path) -> None:
    found = run(load(ROOT / "examples/handover.toml").set("run.duration", "3 s"))
    for table in TABLES:
        frame, engine = Columns.of(found.table(table)), found.columns(table)
        assert frame.height == engine.height
        for column in TABLES[table].columns:
            if column in engine._names:
                assert frame.words(column) == engine.words(column)
            else:
                np.testing.assert_array_equal(frame[column], engine[column])
    hand_made = Columns.of(pl.DataFrame({"flow": ["b", "a", "b"], "serial": [3, 1, 2]}))
    assert hand_made.words("flow") == ["b", "a", "b"]
    assert hand_made["serial"][hand_made.where("flow", "b")].tolist() == [3, 2]
    assert not hand_made.where("flow").any()
