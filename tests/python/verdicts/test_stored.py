"""Measures of papers are kept, found again to the last bit, and continued where they were interrupted."""

from __future__ import annotations

import math
import struct
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import COMMAND, DEEP
from roamlab import _roamlab
from roamlab.base.errors import BadInput
from roamlab.papers import runs, stored
from roamlab.papers.lte import measures as lte
from roamlab.papers.mblue import experiments
from roamlab.papers.mblue import measures as mblue
from roamlab.papers.records import QueueTrace
from roamlab.papers.runs import Batch
from roamlab.papers.stored import decode, encode, name_of
from roamlab.records.storage.shards import Shards

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.booleans() | st.tuples(st.integers()), inner)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_any_value_comes_back(value: Any) -> None:
    found = decode(encode(value))
    assert (found, repr(found)) == (value, repr(value))


def test_numbers_come_back_to_the_last_bit() -> None:
    for value in (math.nan, math.inf, -math.inf, -0.0, 5e-324, np.float64(0.1), 1 / 3):
        assert struct.pack("d", decode(encode(value))) == struct.pack("d", value)
    assert type(decode(encode(np.int64(3)))) is int


def test_dataclasses_and_arrays_come_back() -> None:
    times = np.array([0.1, math.nan, 3.0])
    trace = QueueTrace(times, times, times[::2], times[:0], np.arange(4.0).reshape(2, 2))
    found = decode(encode({"red": [trace]}))["red"][0]
    assert type(found) is QueueTrace
    for name in ("times", "packets", "average", "probability", "forwarded"):
        np.testing.assert_array_equal(getattr(found, name), getattr(trace, name))
    congestion = lte.Congestion(1, 0, 2)
    assert decode(encode(congestion)) == congestion


def test_only_the_papers_values_are_kept() -> None:
    with pytest.raises(TypeError, match="Path cannot be kept"):
        encode(stored._PACKAGE)
    with pytest.raises(TypeError, match="Batch cannot be kept"):
        encode(Batch())


HOSTILE = [
    '{"kind": "subprocess.Popen", "of": [["args", "ls"]]}',
    '{"kind": "roamlab.papers.stored.Path", "of": []}',
    '{"kind": "roamlab.papers.index.reproduce", "of": [["out", "x"]]}',
    '{"kind": "roamlab.papers.runs.Thread", "of": []}',
    '{"kind": ["a", "list"], "of": []}',
    '{"neither": 1}',
    '{"kind": "roamlab.papers.lte.measures.Congestion", "of": [["no_such_field", 1]]}',
    '{"array": "AAAAAAAAAAA=", "dtype": "O", "shape": [1]}',
    '{"array": "AAAA", "dtype": "<f8", "shape": [10000000000]}',
    '{"pairs": [[[1], 2]]}',
    "[" * 100_000,
    "no JSON",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_store_from_someone_else_calls_nothing_and_is_refused_by_its_file(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(stored.Damaged):
        decode(text)
    with Shards(tmp_path / "measures", {"value": pl.String}) as kept:
        batch = Batch()
        _wanted(batch)
        for job, wanted in batch._wanted.items():
            for name in wanted:
                kept.add(runs._key(job, name), [(text,)])
    with pytest.raises(BadInput, match=r"measures/shards/[0-9a-f]{32}\.parquet: .*\n  expected: values that"):
        _made(tmp_path)


def test_the_name_holds_what_determines_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        name_of(mblue.outage),
        name_of(lte.handover),
        name_of(partial(lte.handover, largest=20)),
        name_of(partial(lte.handover, largest=28)),
    ]
    stored.code.cache_clear()
    monkeypatch.setattr(stored, "sources", lambda module: {module: b"changed"})
    names.append(name_of(lte.handover))
    stored.code.cache_clear()
    assert len(set(names)) == 5
    with pytest.raises(TypeError, match="is no function of a module"):
        name_of(lambda results: results)


def test_the_code_is_that_of_measures_not_of_claims_and_figures() -> None:
    found = {name.removeprefix("roamlab.") for name in stored.sources("roamlab.papers.mblue.evidence")}
    paper = {name.removeprefix("papers.mblue.") for name in found if name.startswith("papers.mblue.")}
    assert paper == {"evidence", "measures", "experiments"}
    assert {"records.metrics", "records.results", "papers.records"} <= found


def test_the_code_of_a_space_has_its_axes() -> None:
    found = stored.sources("roamlab.papers.mblue.space")
    assert b"[[axis]]" in found["roamlab.papers.mblue.space axes"]
    assert not any(name.endswith(" axes") for name in stored.sources("roamlab.papers.mblue.evidence"))


def _wanted(batch: Batch) -> dict[str, list[Any]]:
    scenarios = {queue: (experiments.one_handoff(queue), 2) for queue in ("red", "mblue")}
    return batch.each(scenarios, mblue.one_handoff)


def test_what_was_measured_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, made = _roamlab.run_many, 0

    def interrupted(jobs: Any, threads: int, sink: Callable[..., None], *rest: Any) -> None:
        def once(index: int, tables: Any) -> None:
            nonlocal made
            made += 1
            sink(index, tables)
            if made == 1:
                raise KeyboardInterrupt

        real(jobs, 1, once, *rest)

    monkeypatch.setattr(_roamlab, "run_many", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _made(tmp_path)
    first = _made(tmp_path)
    assert made == 4, "the run before the interrupt is not made again"
    assert "runs: 1 of 4 found in the store" in capsys.readouterr().err
    assert _made(tmp_path) == first == _made(tmp_path / "another")
    assert made == 8
    # Damage to the store: what is lost is made again.
    for path in (tmp_path / "measures/shards").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert _made(tmp_path) == first
    assert made == 12


def _made(store: Path) -> dict[str, list[Any]]:
    batch = Batch()
    found = _wanted(batch)
    batch.make(store, threads=1)
    return found


PAIR = """
scenario = "handover.toml"
replications = 8
metrics = ["flows.*.goodput_bps"]
baseline = "64 pkt"
[set]
"run.duration" = "11 s"
[grid]
"mobility.buffer.limit" = ["4 pkt", "64 pkt"]
"""


@pytest.mark.parametrize("arguments", [["sweep", "pair.toml"], ["reproduce", "mblue", "--runs", "1"]])
def test_two_at_once_into_one_folder_both_end_well(tmp_path: Path, root: Path, arguments: list[str]) -> None:
    (tmp_path / "handover.toml").write_bytes((root / "examples/handover.toml").read_bytes())
    (tmp_path / "pair.toml").write_text(PAIR)
    # First into no folder, then over the result; reproductions do the second in `make deep`.
    for _ in range(2 if arguments[0] == "sweep" or DEEP else 1):
        both = [
            subprocess.Popen(
                [COMMAND, *arguments, "--out", "result"],
                cwd=tmp_path,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        errors = [one.communicate(timeout=300)[1] for one in both]
        assert [one.returncode for one in both] == [0, 0], errors
    assert not list(tmp_path.rglob(".roamlab-*"))
