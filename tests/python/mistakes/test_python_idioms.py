"""Idioms of dictionaries, pandas and other simulators on our classes, and arguments of statistics."""

from __future__ import annotations

import copy
import pickle
import re
from typing import TYPE_CHECKING, Any

import pytest

import roamlab as rl
from conftest import ROOT
from roamlab.statistics import stats

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EXAMPLE = ROOT / "examples/handover.toml"
GOODPUT = "flows.moving.goodput_bps"


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A scenario, a run, a sweep, a search and a store."""
    base = rl.load(EXAMPLE).set("run.duration", "4 s")
    folder = tmp_path_factory.mktemp("store")
    axis = {"cells.bs2.queue.limit": ["110 pkt", "120 pkt"]}
    return {
        "rl": rl,
        "stats": stats,
        "base": base,
        "res": rl.run(base),
        "runs": rl.sweep(base, axis, replications=2, metrics=[GOODPUT], store=folder),
        "found": base.smallest(
            "cells.bs2.queue.limit",
            where=f"{GOODPUT} > 0",
            between=("110 pkt", "120 pkt"),
            share=0.5,
            budget=16,
            store=folder,
        ),
        "store": rl.Store(folder / "runs"),
    }


@pytest.mark.parametrize(
    ("code", "said"),
    [
        # A scenario as a dictionary, a list, or the model of another simulator.
        ("base['run']", "write scenario.parameters['run']"),
        ("base.__setitem__('run', 1)", "write scenario = scenario.set('run', 1)"),
        ("base.__delitem__('run')", "scenario.set('run', None), which removes a field"),
        ("'run' in base", "write scenario.to_dict()"),
        ("base.remove('mobility.buffer')", ".set(path, None) removes a field"),
        ("base.copy()", "no copy is needed"),
        ("base.add_link('a', 'b')", '[*scenario.to_dict()["links"], {…}]'),
        ("base.get('run')", "read in .parameters"),
        ("base.update({})", ".set_all({path: value})"),
        ("base.simulate()", "write .run(seed=1)"),
        ("base.set('links.9', {})", 'base.set("links", [*base.to_dict()["links"], {…}])'),
        ("base.set('flows.9', {})", 'base.set("flows", [*base.to_dict()["flows"], {…}])'),
        ("base.set('links.-1.loss', 0.1)", "for the last one"),
        ("base.set('flows[moving].app.start', '1 s')", "write flows.moving.app.start"),
        ("base.set('run/duration', '1 s')", "write run.duration"),
        ("rl.load('examples/*.toml')", ".glob('*.toml')"),
        ("rl.Scenario.from_dict({'result': 'out/runs/x', 'flows': []})", "what `roamlab run --json` prints"),
        # Designs.
        ("rl.Grid(**{'radio.gap': ['1 ms']})", "write Grid({\"radio.gap\": ['1 ms']})"),
        ("rl.Grid()", 'write Grid({"mobility.buffer.limit": ["4 pkt", "64 pkt"]})'),
        ("rl.Grid([{'radio.gap': '1 ms'}])", "a list of points is a rl.Listed"),
        (
            "rl.Listed({'radio.gap': ['1 ms', '2 ms']})",
            'write [{"radio.gap": "1 ms"}, {"radio.gap": "2 ms"}]',
        ),
        ("rl.Listed({'radio.gap': '1 ms'})", 'write the points in brackets: [{"radio.gap": "1 ms"}]'),
        ("rl.Listed(**{'radio.gap': '1 ms'})", "write Listed([{\"radio.gap\": '1 ms'}])"),
        ("rl.Random(**{'radio.gap': ['1 ms']})", "write Random(100, {\"radio.gap\": ['1 ms']})"),
        ("rl.Grid({'radio.gap': ['1 ms']}).points", "it has axes, choices"),
        # Results of searches, sweeps and runs.
        ("found.value", ".at_most is the smallest value"),
        ("found.result", ".at_most is the smallest value"),
        ("runs.dataframe", ".frame has a row for each point"),
        ("runs.to_pandas()", ".frame has a row for each point"),
        ("res.plot_cwnd('moving')", "`roamlab chart`"),
        ("res.cwnd", "the table .variables"),
        ("res.to_pandas()", ".flows.to_pandas()"),
        ("'flows' in res", "`results.loaders` has the names"),
        ("res.manifest.sed", "did you mean 'seed'?"),
        ("list(store)", "[roamlab.open_run(path.parent)"),
        ("store['x']", "roamlab.open_run(store.root / 'x')"),
        ("store.save(res)", "a run is kept by .write(results)"),
        ("store.remove('x')", "a run is deleted with its folder"),
        ("rl.LocalPool(2).map", "it has execute"),
        ("rl.Job(base, 1).result", "it has as_tuple, run"),
        ("stats.student([1, 2, 3]).mean", ".effect is the estimate"),
        # Statistics.
        ("stats.share_interval(0.9, 30)", "write successes = 27"),
        ("stats.share_interval(27.0, 30)", "write successes = 27"),
        ("stats.share_interval('27', 30)", "count them"),
        ("stats.share_interval(90, 30)", "expected 0 to 30 successes"),
        ("stats.student(5)", "write values = [1.5, 2.0, 1.8]"),
        ("stats.student('abc')", "numbers in a list or an array"),
        ("stats.student(['a', 'b'])", "expected numbers, got ['a', 'b']"),
        ("stats.student({'a': 1})", "expected numbers"),
        ("stats.student(res.flows)", "expected numbers"),
        ("stats.quantile([1, 2, 3], 90)", "write 0.9"),
        ("stats.paired(5, 6)", "numbers in a list or an array"),
        ("stats.holm([5, 0.1])", "expected probabilities from 0 to 1, got 5"),
        ("stats.holm(0.05)", "numbers in a list or an array"),
        ("stats.exact('a')", "expected: a number"),
        ("stats.clipped(stats.student([1, 2, 3]), 5, 1)", "the smaller bound first"),
    ],
)
def test_an_idiom_of_elsewhere_is_answered_with_what_to_write(
    code: str, said: str, names: dict[str, Any]
) -> None:
    with pytest.raises((rl.BadInput, AttributeError, ValueError)) as caught:
        eval(code, names)
    assert said in str(caught.value)


def test_results_are_compared_by_their_content(names: dict[str, Any], tmp_path: Path) -> None:
    base, first = names["base"], names["res"]
    again = rl.run(base)
    assert first is not again
    assert first == again
    assert hash(first) == hash(again)
    assert first == rl.open_run(rl.Store(tmp_path).write(first))
    assert first == pickle.loads(pickle.dumps(first))
    assert first != rl.run(base.set("cells.bs1.queue.limit", "60 pkt"))
    assert first != 5


def test_sweeps_and_searches_are_compared_by_their_content(names: dict[str, Any], tmp_path: Path) -> None:
    runs, found, base = names["runs"], names["found"], names["base"]

    def sweep(*limits: str) -> rl.Runs:
        axis = {"cells.bs2.queue.limit": [*limits]}
        return rl.sweep(base, axis, replications=2, metrics=[GOODPUT], store=tmp_path)

    assert runs == sweep("110 pkt", "120 pkt")
    assert runs != sweep("110 pkt", "130 pkt")
    assert found == found.__class__(**vars(found))
    assert found != found.__class__(**vars(found) | {"share": 0.7})


def test_hints_leave_copies_and_pickles_as_they_were() -> None:
    grid = rl.Grid({"radio.gap": ["1 ms"]})
    assert pickle.loads(pickle.dumps(grid)) == copy.copy(grid) == grid
    interval = stats.student([1.0, 2.0, 3.0])
    assert pickle.loads(pickle.dumps(interval)) == interval


def test_a_tilde_is_the_home_folder(
    names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    folder = rl.Store("~/runs").write(names["res"])
    assert folder.is_relative_to(tmp_path / "home")
    assert rl.open_run(f"~/runs/{folder.name}") == names["res"]
    rl.sweep(names["base"], {"run.duration": ["2 s"]}, replications=1, metrics=[GOODPUT], store="~/sweep")
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["runs", "sweep"]
    assert not (tmp_path / "~").exists()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda base: base.sweep("run.duration", ["1 s", "2 s"], replications=2),
            r"too many.*write sweep\(\{",
        ),
        (lambda base: base.sweep({"radio.gap": ["50 ms", "0.05 s"]}), "a value is listed twice"),
        (lambda base: base.set("links.core->r1.delay", "5 ms"), r"write links\.1"),
        (lambda base: base.set("links.r1-core.delay", "5 ms"), r"write links\.1"),
        (lambda base: base.set("record.deliveries", False).run(seed=1).deliveries, "did not record it"),
        (lambda base: base.set("record.tcp", False).run(seed=1).tcp, "did not record it"),
        (lambda base: base.set(duration="5 s"), r'write set\("run.duration"'),  # type: ignore[call-arg]
        (lambda base: base.set("hosts.phone.visits.bs2.at", "8 s"), r"write hosts\.phone\.visits\.1"),
        (
            lambda base: rl.smallest(base, "run.duration", where=max, between=("1 s", "2 s"), step=1),
            "timeouts == 0",
        ),
        (lambda _: rl.load("busy-cell"), "copy the example of this name: roamlab new busy-cell"),
        (lambda _: rl.Random(3, {"links.0.loss": {"low": 0.0, "high": 0.1, "scale": "log"}}), "has no 0"),
        (
            lambda base: base.set("hosts.phone.visits.2", {"cell": "bs1", "at": "15 s"}),
            r'\["hosts"\]\[0\]\["visits"\]',
        ),
    ],
)
def test_a_call_that_other_libraries_take(call: Callable[[rl.Scenario], object], said: str) -> None:
    with pytest.raises(rl.BadInput, match=re.compile(said, re.DOTALL)):
        call(rl.load(ROOT / "examples/busy-cell.toml"))


def test_classes_and_results_say_where_a_part_is() -> None:
    with pytest.raises(AttributeError, match=r"roamlab\.drawing"):
        getattr(rl.load(ROOT / "examples/busy-cell.toml"), "draw")  # noqa: B009
    for owner, name in ((rl.Scenario, "from_toml"), (rl.Store, "open"), (rl.Results, "load")):
        with pytest.raises(AttributeError, match=r"roamlab\."):
            getattr(owner, name)
    results = rl.load(ROOT / "examples/handover.toml").run(seed=1)
    for name, said in (
        ("seed", "manifest.seed"),
        ("scenario", "manifest.scenario_text"),
        ("tables", "table"),
    ):
        with pytest.raises(AttributeError, match=said):
            getattr(results, name)
