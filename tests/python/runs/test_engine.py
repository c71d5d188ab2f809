"""The compiled engine keeps the contract that `_roamlab.pyi` and `roamlab.records.tables` describe."""

from __future__ import annotations

import ast
import inspect
import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from polars.testing import assert_frame_equal

from conftest import COMMAND, ROOT
from roamlab import _roamlab
from roamlab.records.storage.store import Store
from roamlab.records.tables import TABLES
from roamlab.running.ensemble import Job, run_all
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario, load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from roamlab._roamlab import Tables

_EXAMPLE = ROOT / "examples/handover.toml"


@pytest.fixture(scope="module")
def short() -> Scenario:
    """The example, cut to a few seconds."""
    return load(_EXAMPLE).set("run.duration", "3 s")


@pytest.fixture(scope="module")
def raw(short: Scenario) -> Tables:
    """Its tables, as the engine gives them."""
    return _roamlab.run(short.text, short.name, 1, 0, None)


def test_the_stub_names_what_there_is() -> None:
    stub = ast.parse((ROOT / "python/roamlab/_roamlab.pyi").read_text(encoding="utf-8"))
    described = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert {name for name in dir(_roamlab) if not name.startswith("_")} == set(described)
    for name, node in described.items():
        if isinstance(node, ast.FunctionDef):
            offered = list(inspect.signature(getattr(_roamlab, name)).parameters)
            assert offered == [argument.arg for argument in node.args.args]


def test_tables_and_columns_are_the_documented_ones(raw: Tables) -> None:
    assert {table: list(columns) for table, columns in raw.items() if table != "names"} == {
        name: list(table.columns) for name, table in TABLES.items()
    }


_KINDS = {"uint64": "u64", "int64": "i64", "uint32": "u32", "float64": "f64", "bool": "bool"}


def test_columns_have_the_declared_types(raw: Tables) -> None:
    for name, table in TABLES.items():
        for column in table.columns.values():
            values = raw[name][column.name]
            assert isinstance(values, np.ndarray)
            is_text = f"{name}.{column.name}" in raw["names"]
            assert column.kind == ("words" if is_text else _KINDS[values.dtype.name]), (name, column)


def test_columns_are_whole_and_times_are_integers(raw: Tables) -> None:
    for table, columns in raw.items():
        if table == "names":
            continue
        assert len({len(column) for column in columns.values()}) == 1
        for name, column in columns.items():
            assert isinstance(column, np.ndarray)
            if name.endswith("_ns"):
                assert column.dtype in (np.int64, np.uint64)


def test_equal_arguments_give_equal_tables_one_by_one_and_in_parallel(
    short: Scenario, tmp_path: Path
) -> None:
    together = run_all([Job(short, 1, repetition) for repetition in range(3)], Store(tmp_path), threads=2)
    alone = run(short, seed=1, run=2)
    for table in TABLES:
        assert_frame_equal(together[2].table(table), alone.table(table))


def test_an_error_in_a_scenario_names_file_line_and_field() -> None:
    with pytest.raises(_roamlab.ScenarioError, match=r"bad\.toml:2:\d+") as caught:
        _roamlab.check("[run]\nduration = 40\n", "bad.toml")
    assert "duration" in str(caught.value)


def test_a_seed_that_ns2_does_not_take_is_refused_at_its_line(short: Scenario) -> None:
    scenario = short.set("run.random_numbers", "ns2")
    run(scenario, seed=2**31 - 2)
    line = 1 + scenario.text.splitlines().index('random_numbers = "ns2"')
    for seed in (0, 2**31 - 1):
        with pytest.raises(_roamlab.ScenarioError, match=f":{line}:.*seed from 1 to 2147483646.*got {seed}"):
            run(scenario, seed=seed)


def test_ns2s_numbers_are_others_and_stay_the_same(short: Scenario) -> None:
    scenario = short.set("run.random_numbers", "ns2")
    first, again, other = run(scenario), run(scenario), run(scenario, run=1)
    assert_frame_equal(first.table("deliveries"), again.table("deliveries"))
    assert not first.table("deliveries").equals(other.table("deliveries"))
    assert not first.table("deliveries").equals(run(short).table("deliveries"))


def test_a_sink_that_raises_stops_the_runs(short: Scenario) -> None:
    seen = []

    def sink(index: int, tables: Tables) -> None:
        seen.append(index)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _roamlab.run_many([(short.text, short.name, 1, at) for at in range(50)], 2, sink)
    assert len(seen) <= 3


def test_jobs_are_asked_for_as_threads_fall_idle(short: Scenario) -> None:
    given, ended, most_ahead = 0, 0, 0

    def jobs() -> Iterator[tuple[str, str, int, int]]:
        nonlocal given
        for run_number in range(60):
            given += 1
            yield short.text, short.name, 1, run_number

    def sink(index: int, tables: Tables) -> None:
        nonlocal ended, most_ahead
        assert set(tables) == {"flows", "names"}
        ended += 1
        most_ahead = max(most_ahead, given - ended)

    _roamlab.run_many(jobs(), 2, sink, lambda _: ["flows"])
    assert (given, ended) == (60, 60)
    # Two for each thread; of one more it is asked whether it may share the beginning of the last.
    assert most_ahead <= 5


def test_jobs_that_fail_to_come_end_the_runs(short: Scenario) -> None:
    def jobs() -> Iterator[tuple[str, str, int, int]]:
        yield short.text, short.name, 1, 0
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        _roamlab.run_many(jobs(), 2, lambda *_: None)


def test_build_hash_schema_and_catalogue() -> None:
    assert len(_roamlab.build_hash()) >= 16
    assert json.loads(_roamlab.schema())["type"] == "object"
    families = json.loads(_roamlab.catalogue())
    assert {"queue disciplines", "tcp variants", "mobility protocols", "tcp profiles", "applications"} <= set(
        families
    )
    assert "mblue" in {row["name"] for row in families["queue disciplines"]}


@pytest.mark.parametrize("later_s", [0.0, 0.05, 0.15, 0.4])
def test_an_interrupt_stops_an_endless_run_and_leaves_nothing(tmp_path: Path, later_s: float) -> None:
    endless = load(_EXAMPLE).set("run.duration", "1000000 s")
    (tmp_path / "endless.toml").write_text(endless.text, encoding="utf-8")
    with subprocess.Popen(
        [COMMAND, "run", "endless.toml"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            until = time.monotonic() + 120
            while not any(path.stat().st_size for path in tmp_path.glob("out/runs/*/tcp.parquet")):
                assert running.poll() is None
                assert time.monotonic() < until
                time.sleep(0.01)
            time.sleep(later_s)
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=60)
        finally:
            running.kill()
    assert (running.returncode, said.splitlines()[-1]) == (130, "interrupted")
    assert list(tmp_path.glob("out/runs/*")) == []


_WHILE_NUMPY_IS_IMPORTED = """
import os, signal, sys
from roamlab import _roamlab

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGINT)

assert "numpy" not in sys.modules
sys.meta_path.insert(0, Interrupts())
try:
    _roamlab.run(open(sys.argv[1]).read(), "example", 1, 0)
except KeyboardInterrupt:
    print("interrupted", "numpy" in sys.modules)
"""


@pytest.mark.parametrize("module", ["numpy", "numpy._core.multiarray", "numpy.linalg"])
def test_an_interrupt_while_numpy_is_imported_is_no_panic(module: str) -> None:
    command = [sys.executable, "-c", _WHILE_NUMPY_IS_IMPORTED, str(_EXAMPLE), module]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted True\n", "")


_LOST_IN_A_MODULE = """
import os, signal
import roamlab.__main__ as program
from roamlab import cli

def command_line():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise ImportError("numpy is broken") from None

cli.main = command_line
program.main()
"""


def test_an_interrupt_that_a_module_reports_as_its_own_failure_is_said() -> None:
    command = [sys.executable, "-c", _LOST_IN_A_MODULE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
