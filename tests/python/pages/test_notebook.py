"""Output of a session in Python or in a notebook. With the real engine."""

from __future__ import annotations

import base64
import os
import pickle
import subprocess
import sys
import types
from importlib.metadata import version
from typing import TYPE_CHECKING

import matplotlib as mpl
import polars as pl
import pytest

import roamlab as rl
from conftest import ROOT
from roamlab.running import progress

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def base() -> rl.Scenario:
    scenario = rl.load(ROOT / "examples/handover.toml")
    return scenario.set_all(
        {"run.duration": "3 s", "hosts.mh.visits.1.at": "1.5 s", "flows.moving.app.start_within": "500 ms"}
    )


@pytest.fixture(scope="module")
def runs(base: rl.Scenario, tmp_path_factory: pytest.TempPathFactory) -> rl.Runs:
    design = {"mobility.buffer.limit": ["4 pkt", "64 pkt"], "mobility.buffer.mark_forwarded": [True, False]}
    metrics = ["flows.moving.goodput_bps", "flows.moving.timeouts"]
    return base.sweep(design, replications=3, metrics=metrics, store=tmp_path_factory.mktemp("store"))


def test_the_package_offers_its_names_and_no_others() -> None:
    program = "import roamlab as rl; print(*dir(rl)); print(rl.__version__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names, number = done.stdout.splitlines()
    assert {"run", "load", "sweep", "smallest", "__version__"} <= set(names.split())
    assert not {"Any", "ModuleType", "sys", "import_module"} & set(names.split())
    assert number == version("roamlab")


def test_reprs_are_short_and_pages_are_safe(base: rl.Scenario, runs: rl.Runs) -> None:
    results = base.run()
    evil = rl.Scenario(base.text, "<script>")
    for shown in (base, results, runs):
        assert len(repr(shown)) < 250
        assert "examples/handover.toml" in repr(shown)
        assert "<table" in shown._repr_html_() or "<pre>" in shown._repr_html_()
    assert "2 cells, 1 host, 1 flow" in repr(base)
    assert "seed 1, run 0" in repr(results)
    assert "12 runs of 4 points" in repr(runs)
    assert "<script>" not in evil._repr_html_()
    assert "<script>" not in evil.run()._repr_html_()


def test_a_scenario_is_shown_as_its_drawing(base: rl.Scenario) -> None:
    image = base._repr_html_().partition("data:image/svg+xml;base64,")[2].partition('"')[0]
    drawn = base64.b64decode(image).decode()
    assert "<svg" in drawn
    assert all(f"<!-- {name} -->" in drawn for name in ("ch", "fa1", "bs1", "bs2"))
    wrong = rl.Scenario(base.text.replace('router = "fa1"', 'router = "fa9"'), "wrong.toml")._repr_html_()
    assert "<img" not in wrong
    assert "there is no node" in wrong
    link = base.to_dict()["links"][0]
    many = [link | {"between": [f"n{n}", f"n{n + 1}"]} for n in range(120)]
    large = rl.Scenario.from_dict({"run": {"duration": "1 s"}, "links": many})
    assert "<img" not in large._repr_html_(), "it would take seconds"


def test_a_notebook_shows_progress_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> str:
        with progress.progress({"a": 3}) as advance:
            for _ in range(3):
                advance("a")
        return capsys.readouterr().err

    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    assert work() == "", "a log has a line each ten seconds"
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    shown = work()
    assert shown.startswith("\rruns: 1 of 3")
    assert shown.endswith(" \r"), "the line is wiped at the end"


def test_results_survive_a_pickle(base: rl.Scenario) -> None:
    results = rl.run(base, seed=3)
    again = pickle.loads(pickle.dumps(results))
    assert again.manifest == results.manifest
    assert again.loaders.keys() == results.loaders.keys()
    for name in results.loaders:
        assert again.table(name).equals(results.table(name))


def test_a_figure_shows_itself_and_pyplot_does_not_know_it(base: rl.Scenario, runs: rl.Runs) -> None:
    mpl.use("agg")
    from matplotlib import pyplot as plt

    for figure in (base.run().plot_queue("bs2/air"), runs.plot("flows.moving.goodput_bps")):
        assert figure._repr_png_().startswith(b"\x89PNG")
    assert plt.get_fignums() == []


def test_frames_keep_the_types_of_axes(runs: rl.Runs) -> None:
    axes = {"mobility.buffer.limit": pl.String, "mobility.buffer.mark_forwarded": pl.Boolean}
    assert {name: runs.points.schema[name] for name in axes} == axes
    assert runs.frame.columns == ["point", "run", *axes, "metric", "value"]
    assert {name: runs.frame.schema[name] for name in axes} == axes
    assert runs.frame.height == 4 * 3 * 2
    assert runs.wide.columns == ["point", "run", *axes, *runs.metrics]
    assert runs.wide.height == 4 * 3
    for point, run, *values in runs.wide.select("point", "run", *runs.metrics).iter_rows():
        assert values == [runs.values(metric, point)[run] for metric in runs.metrics]


def test_numbers_and_tables_on_axes(base: rl.Scenario, tmp_path: Path) -> None:
    queues = [{"kind": "droptail"}, {"kind": "red"}]
    runs = base.sweep(
        {"cells.bs2.queue": queues, "flows.moving.transport.sack_blocks": [2, 3]},
        replications=1,
        store=tmp_path,
    )
    assert runs.points["cells.bs2.queue"].to_list() == ["droptail", "droptail", "red", "red"]
    assert runs.points["flows.moving.transport.sack_blocks"].dtype == pl.Int64
    runs = base.sweep(
        [{"run": {"duration": "2 s"}}, {"run": {"duration": "3 s"}}], replications=1, store=tmp_path
    )
    assert runs.frame.columns[:3] == ["point", "run", "[run]"], (
        "a table of the scenario is no number of a run"
    )


def test_a_plot_has_a_line_for_each_value_of_the_other_axes(runs: rl.Runs) -> None:
    (axes,) = runs.plot("flows.moving.goodput_bps").axes
    assert axes.get_xlabel() == "mobility.buffer.limit [pkt]"
    assert axes.get_ylabel().startswith("goodput of moving [Mbit/s]")
    lines = [container.lines[0].get_xydata().tolist() for container in axes.containers]
    means = runs.means("flows.moving.goodput_bps")["mean"].to_list()
    assert [[at for at, _ in line] for line in lines] == [[4.0, 64.0], [4.0, 64.0]]
    assert [value * 1e6 for line in lines for _, value in line] == pytest.approx(
        [means[0], means[2], means[1], means[3]]
    )


def test_the_stub_of_the_engine_is_the_engine(tmp_path: Path) -> None:
    """`__all__` is pyo3's; the other two are names for types."""
    allowed = tmp_path / "allowed"
    allowed.write_text("".join(f"roamlab._roamlab.{name}\n" for name in ("__all__", "Column", "Tables")))
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "--concise", "--allowlist", allowed, "roamlab._roamlab"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT / "python")},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_run_is_shown_on_a_page(base: rl.Scenario, runs: rl.Runs) -> None:
    """At most 8 columns; a notebook folds the others."""
    results = base.run()
    head, *lines = str(results).splitlines()
    assert head.endswith("examples/handover.toml, seed 1, run 0")
    assert max(map(len, lines[:-1])) <= 100
    assert len(lines[2].split("┆")) <= 8
    assert lines[-1].startswith("tables: ")
    shown, _, folded = results._repr_html_().partition("<details>")
    assert 4 <= shown.count("<th>") <= 8
    assert all(f"<th>{column}</th>" in shown + folded for column in results.flows.columns)
    assert runs._repr_html_().count("<th>") <= 8


def test_a_printed_comparison_has_difference_and_interval(runs: rl.Runs) -> None:
    printed = str(runs.compare("flows.moving.goodput_bps", baseline="4 pkt"))
    heading = printed.splitlines()[2]
    assert all(name in heading for name in ("metric", "difference", "low", "high", "runs")), printed
    assert max(map(len, printed.splitlines())) <= 100
