"""Sweeps: their points, what they keep, how they compare, and what they refuse."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import fake_engine
from conftest import ROOT
from roamlab import Grid, Listed, Random, Until, _roamlab, sweep
from roamlab.base.errors import BadInput
from roamlab.running.summary import TOTALS, Measurement, names, unit
from roamlab.scenarios.scenario import load
from roamlab.sweeps import sweep_page
from roamlab.sweeps.compare import compare, until
from roamlab.sweeps.design import AS_IN_BASE, BadDesign
from roamlab.sweeps.drawing import overview
from roamlab.sweeps.sweepfile import load_sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.scenarios.scenario import Scenario

METRICS = ["flows.*.delivered_pkts", "flows.moving.goodput_bps"]
KINDS = {"cells.bs2.queue.kind": ["red", "blue"]}


@pytest.fixture
def noisy(engine: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """An engine whose goodput is 100 · seed + noise of the run, and 10 more with blue. Lists what was run.

    With mblue it is 10 and the noise again more.
    """
    ran: list[tuple[str, int, int]] = []
    noise = [0.0, 3.0, -3.0, 6.0, -6.0, 1.0, -1.0]

    def run_many(jobs: Any, threads: int, sink: Callable[..., None], *_: Any) -> None:
        for index, (text, name, seed, run) in enumerate(jobs):
            kind = "blue" if "blue" in text else "red"
            ran.append((kind, seed, run))
            tables = fake_engine.run(text, name, seed, run, None)
            times = 2 if "mblue" in text else 1
            tables["flows"]["goodput_bps"][0] = (
                100.0 * seed + times * noise[run % 7] + 10.0 * (kind == "blue")
            )
            sink(index, tables)

    engine.setattr(_roamlab, "run_many", run_many)
    return ran


def test_a_grid_is_all_combinations_in_order() -> None:
    grid = Grid({"a": [1, 2], "b.c": ["x", {"kind": "red", "limit": 3}]})
    assert [grid.labels(point) for point in range(len(grid))] == [
        ("1", "x"),
        ("1", "red"),
        ("2", "x"),
        ("2", "red"),
    ]
    assert grid.values(1) == (1, {"kind": "red", "limit": 3})


def test_points_may_have_names_and_leave_fields_as_in_the_base() -> None:
    points = Listed([{}, {"a": 1, "name": "small"}, {"a": 2}, {"a": 2, "b": "x"}])
    assert points.axes == ("a", "b")
    assert [points.name(point) for point in range(4)] == ["base", "small", "a = 2", "2, x"]
    assert points.values(0) == (AS_IN_BASE, AS_IN_BASE)
    assert points.values(2) == (2, AS_IN_BASE)


def test_the_base_is_a_point_that_others_are_compared_with(
    scenario: Scenario, tmp_path: Path, noisy: list[tuple[str, int, int]]
) -> None:
    points = [{}, {"name": "other queue", "cells.bs2.queue.kind": "blue"}]
    runs = sweep(scenario, points, replications=3, metrics=METRICS, store=tmp_path)
    assert runs.points["name"].to_list() == ["base", "other queue"]
    assert runs.points["cells.bs2.queue.kind"].to_list() == [None, "blue"]
    assert runs.plan.scenario(0).parameters == scenario.parameters
    (difference,) = runs.compare("flows.moving.goodput_bps", baseline="base").iter_rows(named=True)
    assert (difference["name"], difference["difference"]) == ("other queue", 10.0)
    assert runs.plot("flows.moving.goodput_bps").axes[0].get_xticklabels()[0].get_text() == "base"
    overview(runs.means(), runs.points, runs.kept, tmp_path)
    alone = sweep(scenario, [{}], replications=3, metrics=METRICS, store=tmp_path)
    assert alone.plot("flows.moving.goodput_bps").axes[0].get_ylabel() == "point"
    file = tmp_path / "sweep.toml"
    (tmp_path / "small.toml").write_text(scenario.text)
    named = '[[points]]\n\n[[points]]\nname = "other queue"\n"cells.bs2.queue.kind" = "blue"\n'
    file.write_text(f'scenario = "small.toml"\nbaseline = "other queue"\n{named}')
    assert [load_sweep(file).plan.label(point) for point in (0, 1)] == ["base", "other queue"]


def test_a_point_with_files_finds_them_whatever_it_is_called(tmp_path: Path) -> None:
    """A name with a slash is no folder: files are next to the base."""
    base = load(ROOT / "examples/imported/drive.toml").set("run.duration", "200 ms")
    trace = {"trace": "../imported/cell.down", "reverse": "cell.up"}
    runs = sweep(base, {"cells.north.rate": [trace]}, replications=1, store=tmp_path)
    assert runs.values("flows.download.delivered_pkts", 0)[0] > 0


def test_tables_of_one_kind_are_told_apart() -> None:
    grid = Grid({"a": [{"kind": "red", "limit": 3}, {"kind": "red", "limit": 4}]})
    assert grid.labels(1) == ('{"kind": "red", "limit": 4}',)


def test_random_draws_lie_in_their_ranges_and_do_not_depend_on_their_number() -> None:
    ranges = {
        "rate": {"low": "1 Mbit/s", "high": "100 Mbit/s", "scale": "log"},
        "limit": {"low": "10 pkt", "high": "20 pkt"},
        "weight": {"low": 0.5, "high": 1.0},
        "hops": {"low": 1, "high": 4},
        "kind": ["red", "blue"],
    }
    many, few = Random(400, ranges, seed=5), Random(3, ranges, seed=5)
    assert [few.values(point) for point in range(3)] == [many.values(point) for point in range(3)]
    drawn = [many.values(point) for point in range(400)]
    rates = [float(values[0].removesuffix(" Mbit/s")) for values in drawn]
    assert 1 <= min(rates) < 1.3
    assert 77 < max(rates) <= 100
    # Half of a log-uniform range lies below its geometric mean, 10.
    assert 160 < sum(rate < 10 for rate in rates) < 240
    assert {values[1] for values in drawn} == {f"{limit} pkt" for limit in range(10, 21)}
    assert all(0.5 <= values[2] < 1.0 for values in drawn)
    assert {values[3] for values in drawn} == {1, 2, 3, 4}
    assert {values[4] for values in drawn} == {"red", "blue"}
    assert len({many.labels(point) for point in range(400)}) == 400


@pytest.mark.parametrize(
    ("make", "field", "said"),
    [
        (lambda: Grid({}), "grid", "empty"),
        (lambda: Grid({"a": []}), "a", "without values"),
        (lambda: Grid({"a": [1, 1]}), "a", "twice"),
        (lambda: Grid({f"a{n}": list(range(1000)) for n in range(3)}), "grid", "1000 by 1000 by 1000 points"),
        (lambda: Grid({"a": [{"b": 1}], "a.b": [1, 2]}), "a.b", "changes what `a` sets"),
        (lambda: Listed([]), "points", "there is no point"),
        (lambda: Listed([{}, {}]), "points", "'base' is listed twice"),
        (lambda: Listed([{"name": "x", "a": 1}, {"name": "x"}]), "points", "'x' is listed twice"),
        (lambda: Listed([{"a": 1}, {"name": ""}]), "name", "the name '' of point 1"),
        (lambda: Listed([{"a": 1}, {"a": 1}]), "points", "twice"),
        (lambda: Random(0, {"a": [1]}), "points", "0 points"),
        (lambda: Random(3, {}), "random", "no axis"),
        (lambda: Random(3, {"a": {"low": 2, "high": 1}}), "a", "no range"),
        (lambda: Random(3, {"a": {"low": "1 s", "high": "2 ms"}}), "a", "no range"),
        (lambda: Random(3, {"a": {"low": 0.0, "high": 2.0, "scale": "log"}}), "a", "no range"),
        (lambda: Random(10**9, {"a": [1]}), "points", "too many"),
    ],
)
def test_a_design_that_makes_no_sense_names_its_field(
    make: Callable[[], object], field: str | int, said: str
) -> None:
    with pytest.raises(BadDesign, match=re.escape(said)) as caught:
        make()
    assert caught.value.field[-1] == field


def test_a_sweep_measures_every_run_and_makes_none_twice(
    scenario: Scenario, tmp_path: Path, noisy: list[tuple[str, int, int]]
) -> None:
    runs = sweep(scenario, KINDS, replications=2, metrics=METRICS, store=tmp_path)
    assert noisy == [("red", 1, 0), ("red", 1, 1), ("blue", 1, 0), ("blue", 1, 1)]
    assert runs.metrics == ["flows.moving.delivered_pkts", "flows.[resident].delivered_pkts", METRICS[1]]
    assert runs.values("flows.moving.goodput_bps", 1) == [110.0, 113.0]
    assert runs.values("flows.[resident].delivered_pkts", 0) == [200.0, 201.0]
    assert (len(runs), runs.points["name"].to_list()) == (4, ["red", "blue"])
    noisy.clear()
    more = sweep(scenario, KINDS, replications=3, metrics=METRICS, store=tmp_path)
    assert noisy == [("red", 1, 2), ("blue", 1, 2)]
    assert more.frame.filter(pl.col("run") < 2).equals(runs.frame)


def test_another_build_metric_or_seed_is_another_run(
    scenario: Scenario,
    tmp_path: Path,
    noisy: list[tuple[str, int, int]],
    engine: pytest.MonkeyPatch,
) -> None:
    def made(**changes: Any) -> int:
        noisy.clear()
        sweep(scenario, KINDS, **{"replications": 1, "metrics": METRICS, "store": tmp_path} | changes)
        return len(noisy)

    assert [made(), made(), made(seed=2), made(metrics=METRICS[:1])] == [2, 0, 2, 2]
    engine.setattr(_roamlab, "build_hash", lambda: "repaired")
    assert made() == 2


def test_points_that_come_to_the_same_share_their_runs(tmp_path: Path) -> None:
    base = load(ROOT / "examples/handover.toml").set("run.duration", "200 ms")
    points = [{"links.0.delay": "60 ms"}, {"links.0.delay": "9 ms"}, {"links.0.delay": "60000 us"}]
    runs = sweep(base, points, replications=2, metrics=["census.events"], store=tmp_path)
    assert pl.read_parquet(next((tmp_path / "shards").iterdir())).height == 4
    assert (
        runs.values("census.events", 0) == runs.values("census.events", 2) != runs.values("census.events", 1)
    )
    assert runs.frame["point"].to_list() == [0, 0, 1, 1, 2, 2]


def test_repetitions_of_alternatives_are_pairs(
    scenario: Scenario, tmp_path: Path, noisy: list[tuple[str, int, int]]
) -> None:
    runs = sweep(scenario, KINDS, replications=5, metrics=METRICS, store=tmp_path, seed=4)
    row = runs.compare("flows.moving.goodput_bps", baseline="red").row(0, named=True)
    # Noise is common: the difference is 10 in every run.
    assert (row["name"], row["baseline"], row["reference"]) == ("blue", "red", 400.0)
    assert (row["difference"], row["low"], row["high"], row["p_holm"]) == (10.0, 10.0, 10.0, None)
    assert row["unit"] == "bit/s"
    apart = sweep(
        scenario, KINDS, replications=5, metrics=METRICS, store=tmp_path, seed=4, common_random_numbers=False
    )
    assert len({seed for _, seed, _ in noisy}) == 3
    assert apart.values(METRICS[1], 0) != runs.values(METRICS[1], 0)


def test_a_baseline_may_be_a_value_of_one_axis(
    scenario: Scenario, tmp_path: Path, noisy: list[tuple[str, int, int]]
) -> None:
    grid = {**KINDS, "run.duration": ["1 s", "2 s"]}
    runs = sweep(scenario, grid, replications=2, metrics=METRICS, store=tmp_path)
    found = runs.compare("flows.*.goodput_bps", baseline="red")
    assert found["name"].to_list() == ["blue, 1 s", "blue, 2 s"]
    assert found["baseline"].to_list() == ["red, 1 s", "red, 2 s"]
    whole = runs.compare(METRICS[1], baseline="red, 2 s")
    assert whole["name"].to_list() == ["red, 1 s", "blue, 1 s", "blue, 2 s"]
    with pytest.raises(BadInput, match="no such point"):
        runs.compare(METRICS[1], baseline="green")
    with pytest.raises(BadInput, match="did not keep it"):
        runs.compare("flows.moving.timeouts", baseline="red")


def test_means_have_intervals(scenario: Scenario, tmp_path: Path, noisy: list[tuple[str, int, int]]) -> None:
    runs = sweep(scenario, KINDS, replications=3, metrics=METRICS, store=tmp_path)
    row = runs.means("flows.moving.goodput_bps").row(0, named=True)
    # 100, 103 and 97: the mean is 100, the half-width 4.3027 · 3 / √3 = 7.4524.
    assert (row["mean"], row["runs"]) == (100.0, 3)
    assert row["high"] - 100.0 == pytest.approx(7.4524, abs=1e-3)


def test_no_interval_reaches_what_a_metric_cannot_be(
    scenario: Scenario, tmp_path: Path, noisy: list[tuple[str, int, int]]
) -> None:
    """Student's interval of 0, 0 and 0.9 is -0.99 to 1.59, that of the differences as wide."""
    runs = sweep(scenario, KINDS, replications=3, metrics=METRICS[1:], store=tmp_path)
    values = [0.0, 0.0, 0.9, 0.9, 0.0, 0.0]
    made = replace(
        runs, kept=runs.kept.with_columns(metric=pl.lit("flows.moving.loss_ratio"), value=pl.Series(values))
    )
    assert [(row["low"], row["high"]) for row in made.means().rows(named=True)] == [(0.0, 1.0), (0.0, 1.0)]
    (row,) = made.compare(baseline="red").rows(named=True)
    assert (row["low"], row["high"]) == (-1.0, 1.0)
    timeouts = made.kept.with_columns(metric=pl.lit("flows.moving.timeouts"))
    mean = replace(runs, kept=timeouts).means().row(0, named=True)
    assert (mean["low"], mean["mean"]) == (0.0, pytest.approx(0.3))
    assert mean["high"] == pytest.approx(0.3 + 4.3027 * 0.3, abs=1e-3)


def test_stopping_asks_for_what_the_pilot_says(
    scenario: Scenario, tmp_path: Path, noisy: list[tuple[str, int, int]]
) -> None:
    # The pilot 0, 3, -3, 6, -6 has s = 4.7434; (2.7764 · 4.7434 / 4)² = 10.84.
    rule = Until("flows.moving.goodput_bps", half_width=4.0, minimum=5, budget=30)
    runs = sweep(scenario, KINDS, replications=rule, metrics=METRICS[:1], store=tmp_path)
    assert list(runs.counts) == [11, 11]
    row = runs.means(rule.metric).row(0, named=True)
    assert row["high"] - row["mean"] == pytest.approx(2.7764 * 4.7434 / math.sqrt(11), rel=1e-4)
    noisy.clear()
    again = sweep(scenario, KINDS, replications=rule, metrics=METRICS[:1], store=tmp_path)
    assert again.frame.equals(runs.frame)
    assert noisy == []


def test_stopping_looks_at_paired_differences_if_there_is_a_baseline(
    scenario: Scenario, tmp_path: Path, noisy: list[tuple[str, int, int]]
) -> None:
    # Blue always gives 10 more than red: five runs are enough. Mblue differs by the noise, as red's mean does above.
    rule = Until("flows.moving.goodput_bps", half_width=4.0, minimum=5, budget=30, baseline="red")
    design = {"cells.bs2.queue.kind": ["blue", "red", "mblue"]}
    runs = sweep(scenario, design, replications=rule, metrics=METRICS[:1], store=tmp_path)
    assert list(runs.counts) == [5, 11, 11]
    blue, mblue = runs.compare(rule.metric, baseline="red").rows(named=True)
    assert (blue["low"], blue["difference"], blue["high"], blue["runs"]) == (10.0, 10.0, 10.0, 5)
    assert mblue["high"] - mblue["difference"] == pytest.approx(2.7764 * 4.7434 / math.sqrt(11), rel=1e-4)
    assert mblue["runs"] == 11
    ordinary = runs.means(rule.metric).row(1, named=True)
    assert ordinary["high"] - ordinary["mean"] == pytest.approx(2.2281 * 3.7779 / math.sqrt(11), rel=1e-3)
    with pytest.raises(BadInput, match="baseline 'green': there is no such point"):
        sweep(scenario, design, replications=replace(rule, baseline="green"), store=tmp_path)


def test_compare_goes_on_until_the_difference_is_known(
    scenario: Scenario, tmp_path: Path, noisy: list[tuple[str, int, int]]
) -> None:
    other = scenario.set("cells.bs2.queue.kind", "mblue")
    rule = until(METRICS[1:], half_width=4.0, runs=5, budget=30)
    assert list(compare(scenario, other, METRICS[1:], rule, 1, tmp_path, 1).counts) == [11, 11]


@pytest.mark.parametrize(
    ("runs", "p", "difference", "expected"),
    [
        (2, 0.001, 1.0, False),
        (2, None, 1.0, False),
        (1, None, 1.0, False),
        (5, None, 1.0, True),
        (5, 0.2, 1.0, False),
    ],
)
def test_two_runs_tell_nothing_of_a_difference(
    runs: int, p: float | None, difference: float, *, expected: bool
) -> None:
    """In bold is only what several runs show; equal differences have no p-value, whatever their number."""
    row = {"runs": runs, "p_holm": p, "difference": difference}
    assert sweep_page.tells(row) is expected
    if p is None:
        assert sweep_page.p_text(row) == ("one run" if runs == 1 else "no spread")


def test_all_tables_are_kept_if_asked_for(scenario: Scenario, tmp_path: Path) -> None:
    runs = sweep(scenario, KINDS, replications=2, metrics=METRICS, keep="tables", store=tmp_path)
    assert len(list((tmp_path / "runs").iterdir())) == 4
    assert runs[3].flows["delivered_pkts"].to_list() == [101, 201]
    assert runs[-1].manifest == runs[3].manifest
    with pytest.raises(IndexError):
        runs[4]
    brief = sweep(scenario, KINDS, replications=2, metrics=METRICS, store=tmp_path / "brief")
    assert brief[3].flows.equals(runs[3].flows)
    assert not (tmp_path / "brief/runs").exists()


def test_metrics_have_names_and_units() -> None:
    assert "flows.FLOW.disruption_s" in names()
    assert all(unit(name.replace("NAME", "created")) for name in names())
    assert [unit(f"flows.a.{column}") for column in ("goodput_bps", "timeouts", "start_ns")] == [
        "bit/s",
        "1",
        "ns",
    ]
    assert Measurement().tables == ["flows"]
    assert Measurement(("jain", "flows.a.loss_ratio")).tables == ["deliveries", "drops", "flows"]
    assert len(Measurement().metrics) == len(TOTALS)
    assert Measurement(("jain",)).digest != Measurement(("synchronisation",)).digest


def test_two_scenarios_that_say_the_same_are_not_compared(scenario: Scenario, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="they are the same"):
        compare(scenario, scenario, METRICS, 2, 1, tmp_path, 1)
    other = scenario.set("cells.bs2.queue.kind", "blue")
    runs = compare(scenario, other, METRICS, 2, 1, tmp_path, 1)
    assert runs.points["name"].to_list() == ["small.toml", "small.toml (2)"]


def test_a_store_of_another_format_is_refused(scenario: Scenario, tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text('{"format": 99}')
    with pytest.raises(BadInput, match=r"store\.json, field `format`: the store has format 99"):
        sweep(scenario, KINDS, replications=1, metrics=METRICS, store=tmp_path)
    (tmp_path / "store.json").write_text("[")
    with pytest.raises(BadInput, match="has no format"):
        sweep(scenario, KINDS, replications=1, metrics=METRICS, store=tmp_path)


GOOD = """# A sweep.
scenario = "small.toml"
replications = 2
metrics = ["flows.*.delivered_pkts"]

[grid]
"cells.bs2.queue.kind" = ["red", "blue"]
"""


def _replace(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = [", r"sweep\.toml:1:\d+: .*\n  expected: TOML"),
        (_replace("small", "none"), r"sweep\.toml:2, field `scenario`: .*No such file"),
        (_replace('scenario = "small.toml"\n', ""), r"field `scenario`: no scenario is named"),
        (
            _replace("replications = 2", "repetitions = 2"),
            r"sweep\.toml:3, field `repetitions`: unknown field",
        ),
        (_replace("= 2", "= 0"), r"sweep\.toml:3, field `replications`: 0 cannot be used"),
        (
            _replace("= 2", "= 10000000000"),
            r"sweep\.toml:3, field `replications`: 10000000000 runs of 2 points",
        ),
        (
            _replace("= 2", '= { metric = "jain", half_width = 1, least = 3 }'),
            r"sweep\.toml:3, field `replications\.least`: unknown field",
        ),
        (
            _replace("= 2", '= { metric = "jain", half_width = -1 }'),
            r"sweep\.toml:3, field `replications\.half_width`: -1 cannot be used",
        ),
        (
            _replace("= 2", '= { metric = "jain", half_width = 1, baseline = "green" }'),
            r"sweep\.toml:3, baseline 'green': there is no such point",
        ),
        (
            _replace("= 2", '= { metric = "jain", half_width = 1, baseline = 3 }'),
            r"sweep\.toml:3, field `replications\.baseline`: 3 cannot be used",
        ),
        (
            _replace("= 2", '= { metric = "jain" }'),
            r"sweep\.toml:3, field `replications`: half_width is missing",
        ),
        (_replace("delivered", "dlivered"), r"sweep\.toml:4, field `metrics\[0\]`: there is no metric"),
        (
            _replace('["red", "blue"]', "[]"),
            r'sweep\.toml:7, field `grid\."cells.bs2.queue.kind"`: an axis without',
        ),
        (
            _replace('"cells.bs2.queue.kind" = ["red", "blue"]\n', ""),
            r"sweep\.toml:6, field `grid`: the grid is empty",
        ),
        (
            _replace("[grid]\n", "[grid]\nbaseline = 3\n"),
            r"sweep\.toml:7, field `grid\.baseline`: `baseline` is a field of the sweep, and under the header \[grid\]",
        ),
        (
            _replace("[grid]\n", "[set]\ngrid = {}\n"),
            r"sweep\.toml:7, field `set\.grid`: `grid` is a field of the sweep, and under the header \[set\]",
        ),
        (
            _replace('"cells', '"clls'),
            r'sweep\.toml:7, field `grid\."clls.bs2.queue.kind"\[0\]`: (.|\n)*unknown field clls',
        ),
        (
            GOOD + "".join(f'"run.x{n}" = {list(range(1000))}\n' for n in range(3)),
            r"sweep\.toml:6, field `grid`: 2 by",
        ),
        (GOOD + '"cells.bs2" = [{}]\n', r"changes what `cells\.bs2` sets too"),
        (
            GOOD + '[[points]]\n"run.duration" = "2 s"\n',
            r"sweep\.toml:8, field `points`: grid and points are both",
        ),
        (
            _replace("[grid]", '[set]\n"cells.bs2" = {}\n[grid]'),
            r'sweep\.toml:7, field `set\."cells.bs2"`: `grid` changes',
        ),
        (
            _replace("[grid]", 'baseline = "green"\n[grid]'),
            r"sweep\.toml:6, baseline 'green': there is no such",
        ),
        (_replace("[grid]", "seed = -1\n[grid]"), r"sweep\.toml:6, field `seed`: -1 cannot be used"),
        (_replace("[grid]", 'keep = "all"\n[grid]'), r"sweep\.toml:6, field `keep`: 'all' cannot be used"),
        (_replace("[grid]", "[random]"), r"sweep\.toml:6, field `random`: the number of points is missing"),
    ],
)
def test_a_bad_sweep_file_is_reported_with_its_line(
    text: str, said: str, tmp_path: Path, scenario: Scenario
) -> None:
    (tmp_path / "small.toml").write_text(scenario.text)
    (tmp_path / "sweep.toml").write_text(text)
    with pytest.raises(BadInput, match=said) as caught:
        load_sweep(tmp_path / "sweep.toml")
    assert re.search(r"expected: .+\n(.|\n)*help: .+", str(caught.value))


def test_the_command_writes_everything_or_nothing(
    scenario: Scenario, tmp_path: Path, engine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from roamlab import cli

    engine.chdir(tmp_path)
    Path("small.toml").write_text(scenario.text)

    def call(text: str) -> int:
        Path("try.toml").write_text(text)
        engine.setattr("sys.argv", ["roamlab", "sweep", "try.toml", "--threads", "1"])
        try:
            cli.main()
        except SystemExit as stop:
            return int(stop.code or 0)
        return 0

    assert call(_replace("[grid]", 'baseline = "green"\n[grid]')) == 2
    assert not Path("out/sweeps/try").exists()
    assert call(_replace("[grid]", 'baseline = "red"\n[grid]')) == 0
    made = {path.name for path in Path("out/sweeps/try").iterdir()}
    assert made == {
        ".roamlab.json",
        "runs.parquet",
        "points.csv",
        "means.csv",
        "compare.json",
        "compare.png",
        "compare.svg",
        "means.png",
        "means.svg",
        "report.html",
        "sweep.json",
    }
    rows = json.loads(Path("out/sweeps/try/compare.json").read_text())
    assert [row["difference"] for row in rows] == [0.0, 0.0]
    assert json.loads(Path("out/sweeps/try/sweep.json").read_text())["runs"] == 4
    assert call(GOOD + '"run.law" = [1]\n') == 1
    assert "conservation" in (err := capsys.readouterr().err) or "created 3" in err
