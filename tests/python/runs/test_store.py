"""Run folders: whole or not at all, found again, and damage is reported."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from roamlab.base.errors import BadInput
from roamlab.base.output import sweep_drafts
from roamlab.records.manifest import describe
from roamlab.records.results import Results
from roamlab.records.storage.store import Store, open_run
from roamlab.running.ensemble import Job, run_all
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def written(scenario: Scenario, tmp_path: Path) -> Path:
    """A run folder."""
    return Store(tmp_path / "runs").write(run(scenario))


def test_a_run_comes_back_as_it_was(scenario: Scenario, tmp_path: Path) -> None:
    made = run(scenario, seed=2, run=1)
    store = Store(tmp_path / "runs")
    found = open_run(store.write(made))
    assert found.manifest == made.manifest
    assert sorted(found.loaders) == ["causes", "drops", "flows", "queue", "trace"]
    for table in made.loaders:
        assert_frame_equal(found.table(table), made.table(table))
    again = store.find(made.manifest)
    assert again is not None
    assert again.manifest.key == store.folder(made.manifest).name


@given(
    rows=st.lists(
        st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans(), st.text(max_size=5)),
        max_size=20,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
def test_any_table_comes_back(
    scenario: Scenario, tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]]
) -> None:
    schema = {"time_ns": pl.Int64, "average": pl.Float64, "forwarded": pl.Boolean, "detail": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    frame = frame.with_columns(pl.col("detail").cast(pl.Enum(frame["detail"].unique(maintain_order=True))))
    made = Results(describe(scenario, 1, 0), {"odd": lambda _: frame})
    folder = Store(tmp_path_factory.mktemp("runs")).write(made)
    assert_frame_equal(open_run(folder).table("odd"), frame)


def test_a_table_that_lacks_a_column_is_refused(scenario: Scenario, tmp_path: Path) -> None:
    """That of another build is to be made again; one of this build is broken."""
    frame = pl.DataFrame({"time_ns": pl.Series([1], dtype=pl.UInt64)})
    problems = {
        describe(scenario, 1, 0).build_hash: "there is no column 'place'",
        "earlier": r"without the column 'place'[^$]*run the scenario again",
    }
    for build, problem in problems.items():
        manifest = replace(describe(scenario, 1, 0), build_hash=build)
        folder = Store(tmp_path / build).write(Results(manifest, {"drops": lambda _: frame}))
        with pytest.raises(BadInput, match=problem):
            open_run(folder).table("drops")


def test_the_key_holds_everything_that_determines_the_content(
    scenario: Scenario, engine: pytest.MonkeyPatch
) -> None:
    manifest = describe(scenario, 1, 0)
    assert describe(Scenario("# a comment\n" + scenario.text, "other.toml"), 1, 0).key == manifest.key
    others = [
        describe(scenario, 2, 0),
        describe(scenario, 1, 1),
        describe(scenario, 0, 1),
        describe(scenario.set("cells.bs2.queue.kind", "blue"), 1, 0),
        replace(manifest, build_hash="another"),
        replace(manifest, schema_hash="another"),
    ]
    assert len({manifest.key, *(other.key for other in others)}) == len(others) + 1


def test_a_failure_between_write_and_rename_leaves_nothing(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path).write(run(scenario))
    assert list(tmp_path.iterdir()) == []


def test_a_kill_between_write_and_rename_leaves_no_run(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from pathlib import Path
import polars as pl
from roamlab.records.manifest import Manifest
from roamlab.records.results import Results
from roamlab.records.storage.store import Store
Path.rename = lambda self, target: os.kill(os.getpid(), signal.SIGKILL)
manifest = Manifest("name", "text", "{}", 1, 0, "0", "schema", "build")
Store(Path(sys.argv[1])).write(Results(manifest, {"flows": lambda _: pl.DataFrame({"flow": [1]})}))
"""
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [path.name.startswith(".roamlab-") for path in tmp_path.iterdir()] == [True]
    sweep_drafts(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_another_process_made_first_is_kept(scenario: Scenario, written: Path) -> None:
    before = (written / "manifest.json").stat().st_mtime_ns
    assert Store(written.parent).write(run(scenario)) == written
    assert (written / "manifest.json").stat().st_mtime_ns == before
    assert [path.name for path in written.parent.iterdir()] == [written.name]


def _edit(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / "manifest.json"
        content = json.loads(path.read_text())
        del content["key"]
        change(content)
        path.write_text(json.dumps(content))

    return damage


def _shape(**parameters: Any) -> Callable[[Path], None]:
    return _edit(lambda content: content["parameters"].update(parameters))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json: not JSON"),
        (lambda folder: (folder / "manifest.json").write_bytes(b"\xff"), "manifest.json: not JSON"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "not a JSON object"),
        (lambda folder: (folder / "manifest.json").write_text("[" * 100_000), "manifest.json: not JSON"),
        (_edit(lambda content: content.pop("seed")), "field 'seed' is missing or not int"),
        (_edit(lambda content: content.update(seed=True)), "field 'seed' is missing or not int"),
        (_edit(lambda content: content.update(format=99)), "format 99, this version reads 1"),
        (_edit(lambda content: content.update(tables=["flows"])), "field 'tables' is missing or not dict"),
        (_edit(lambda content: content["tables"].update(flows=3)), "flows.parquet: the content is not"),
        (_edit(lambda content: content["tables"].update({"../flows": ""})), "which is no table"),
        (_edit(lambda content: content.update(scenario_name="\udc80")), "a text in it is not Unicode"),
        (_shape(hosts={"mh": []}), "field `parameters.hosts` is not list"),
        (_shape(hosts=[{"visits": []}]), "field `parameters.hosts\\[0\\].name` is missing"),
        (_shape(hosts=[{"name": "mh", "visits": 3}]), "hosts\\[0\\].visits` is not list"),
        (_shape(hosts=[{"name": "mh", "visits": [{}]}]), "hosts\\[0\\].visits\\[0\\].cell` is missing"),
        (_shape(links=[{"between": ["a", "b", "c"]}]), "links\\[0\\].between` has 3 entries, not 2"),
        (_shape(links=[{"between": "ab"}]), "links\\[0\\].between` is not list"),
        (_shape(cells={"bs1": 3}), "field `parameters.cells.bs1` is not dict"),
        (_shape(cells={"bs1": {"router": []}}), "field `parameters.cells.bs1.router` is not str"),
        (_shape(record=[]), "field `parameters.record` is not dict"),
        (_shape(record={"tcp": "yes"}), "field `parameters.record.tcp` is not bool"),
        (lambda folder: (folder / "flows.parquet").unlink(), "flows.parquet: No such file"),
        (lambda folder: (folder / "flows.parquet").write_bytes(b""), "flows.parquet: the content is not"),
        (lambda folder: os.truncate(folder / "flows.parquet", 100), "flows.parquet: the content is not"),
    ],
)
def test_damage_is_reported_with_its_place_and_remedy(
    written: Path, damage: Callable[[Path], None], said: str
) -> None:
    damage(written)
    with pytest.raises(BadInput, match=said) as caught:
        _ = open_run(written).flows
    assert f"help: move {written} away and run again" in str(caught.value)


def test_another_folder_is_no_run_and_no_one_is_told_to_delete_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as caught:
        open_run(".")
    assert "not a run folder: there is no manifest.json in it" in str(caught.value)
    assert "expected: a folder that `roamlab run` wrote" in str(caught.value)
    assert "delete" not in str(caught.value)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such folder"):
        open_run(tmp_path / "nothing")


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: os.truncate(folder / "manifest.json", 100),
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "flows.parquet").unlink(),
        lambda folder: os.truncate(folder / "flows.parquet", 100),
        _edit(lambda content: content.update(seed=7)),
    ],
)
def test_a_damaged_run_is_made_again(
    scenario: Scenario, written: Path, damage: Callable[[Path], None]
) -> None:
    before = {path.name: path.read_bytes() for path in written.iterdir()}
    (written / "notes.txt").write_text("mine")
    damage(written)
    (results,) = run_all([Job(scenario, 1)], Store(written.parent), threads=1)
    assert results.flows.equals(run(scenario).flows)
    after = {path.name: path.read_bytes() for path in written.iterdir()}
    assert after == before | {"notes.txt": b"mine"}
    assert [path.name for path in written.parent.iterdir()] == [written.name]


def test_a_run_folder_has_the_modes_of_the_umask(scenario: Scenario, tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        folder = Store(tmp_path).write(run(scenario))
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o664}
    assert folder.stat().st_mode & 0o777 == 0o775


def test_a_link_in_the_place_of_a_run_is_not_written_through(scenario: Scenario, tmp_path: Path) -> None:
    """The key of a run is known beforehand, so a folder from another person can have a link of that name."""
    made = run(scenario)
    store, outside = Store(tmp_path / "runs"), tmp_path / "outside"
    outside.mkdir()
    store.root.mkdir()
    (outside / "manifest.json").write_text("do not lose me")
    store.folder(made.manifest).symlink_to(outside)
    with pytest.raises(BadInput, match="a symbolic link is in the place of the run's folder"):
        store.write(made)
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [
        ("manifest.json", "do not lose me")
    ]


@pytest.mark.parametrize("kind", ["file", "pipe", "folder in it"])
def test_what_is_in_the_place_of_a_run_is_named(scenario: Scenario, tmp_path: Path, kind: str) -> None:
    """The error names that place, not the draft's, which is gone by then."""
    made = run(scenario)
    store = Store(tmp_path)
    place = store.folder(made.manifest)
    if kind == "folder in it":
        place /= "flows.parquet"
        place.mkdir(parents=True)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.write_text("mine")
    with pytest.raises(
        BadInput, match=r"is in the place of (the run's folder|one of the run's files)"
    ) as caught:
        store.write(made)
    assert str(caught.value).startswith(f"{place}: ")


def test_a_link_that_comes_while_a_run_is_mended_is_not_written_through(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = run(scenario)
    store, outside = Store(tmp_path / "runs"), tmp_path / "outside"
    outside.mkdir()
    (outside / "manifest.json").write_text("do not lose me")
    place = store.folder(made.manifest)
    place.mkdir(parents=True)
    (place / "mine").touch()

    def swapped(*_: object) -> None:
        place.rename(tmp_path / "aside")
        place.symlink_to(outside)

    monkeypatch.setattr(Store, "find", swapped)
    store.write(made)
    assert [path.name for path in outside.iterdir()] == ["manifest.json"]
    assert (outside / "manifest.json").read_text() == "do not lose me"
    assert (tmp_path / "aside/manifest.json").exists()


@pytest.mark.parametrize("indent", [None, 0, 1, 2, "\t"])
def test_a_manifest_of_any_indent_is_read(written: Path, indent: int | str | None) -> None:
    before = open_run(written).manifest
    manifest = written / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()), indent=indent))
    found = open_run(written).manifest
    assert found.parameters == before.parameters
    assert found.outline == before.outline


def test_a_manifest_that_is_a_pipe_is_not_waited_for(written: Path) -> None:
    (written / "manifest.json").unlink()
    os.mkfifo(written / "manifest.json")
    with pytest.raises(BadInput, match="not a regular file"):
        open_run(written)


def _forged(folder: Path, table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change a table, and its digest with it, as who forges a run does."""
    path, manifest = folder / f"{table}.parquet", folder / "manifest.json"
    change(pl.read_parquet(path)).write_parquet(path)
    content = json.loads(manifest.read_text())
    del content["key"]
    content["tables"][table] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.drop("serial"), "there is no column 'serial'"),
        (
            lambda frame: frame.with_columns(pl.lit("a").alias("serial")),
            "'serial' has the type String, not u64",
        ),
        (lambda frame: frame.with_columns(pl.lit(-1.5).alias("time_ns")), "has the type Float64, not u64"),
        (
            lambda frame: frame.with_columns(pl.lit([1]).alias("cause")),
            r"has the type List\(Int64\), not i64",
        ),
        (
            lambda frame: frame.with_columns(pl.lit(None, pl.Int64).alias("cause")),
            "column 'cause' lacks values",
        ),
        (
            lambda frame: frame.with_columns(pl.lit("\x1b[31m").cast(pl.Enum(["\x1b[31m"])).alias("kind")),
            r"has the word .*x1b\[31m', which it never holds",
        ),
    ],
)
def test_a_table_of_another_shape_is_refused_with_its_file_and_column(
    written: Path, change: Callable[[pl.DataFrame], pl.DataFrame], said: str
) -> None:
    assert open_run(written).table("causes").height > 0
    _forged(written, "causes", change)
    with pytest.raises(BadInput, match=rf"causes.parquet: .*{said}"):
        open_run(written).table("causes")


def test_a_table_of_more_rows_than_can_be_read_is_refused_before_it_is_read(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal rows take next to no place in a file."""
    _forged(written, "drops", lambda frame: frame.head(1).select(pl.all().repeat_by(100_000).explode()))
    assert (written / "drops.parquet").stat().st_size < 50_000
    with monkeypatch.context() as little:
        little.setattr("roamlab.records.storage.parquet.available_memory", lambda: 1_000_000)
        with pytest.raises(
            BadInput, match=r"drops.parquet: it has 100,000 rows\n  expected: at most .* rows"
        ):
            open_run(written).table("drops")
    assert open_run(written).table("drops").height == 100_000
    monkeypatch.setattr("roamlab.records.storage.parquet.MOST_ROWS", {"drops": 99_999})
    with pytest.raises(BadInput, match="it has 100,000 rows\n  expected: at most 99,999 rows"):
        open_run(written).table("drops")
