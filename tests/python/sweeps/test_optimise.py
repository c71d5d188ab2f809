"""The race of settings: the best is kept as often as stated, conditions count, and wrong input is refused."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

import roamlab as rl
from conftest import ROOT, only_deep
from roamlab.cli import cli
from roamlab.papers.lte import experiments as lte
from roamlab.papers.mblue import experiments as mblue
from roamlab.statistics.race import Levels, correlation, looks, race, upper_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LIMIT = "mobility.buffer.limit"
GOODPUT = "flows.moving.goodput_bps"


def base() -> rl.Scenario:
    """Examples/handover.toml with a download that begins at a random time, shorter."""
    return rl.load(ROOT / "examples/handover.toml").set_all(
        {"run.duration": "14 s", "flows.moving.app.start_within": "1 s"}
    )


def packets(*numbers: int) -> dict[str, list[str]]:
    return {LIMIT: [f"{number} pkt" for number in numbers]}


class Normal:
    """A response with a known best: noise that all settings share in a run, and noise of each setting."""

    def __init__(self, seed: int, means: np.ndarray[Any, Any], own: float = 0.3, runs: int = 64) -> None:
        rng = np.random.default_rng(seed)
        self.means = means
        self.values = means[:, None] + rng.normal(size=runs) + own * rng.normal(size=(means.size, runs))
        self.met = np.ones(self.values.shape, dtype=bool)

    def __call__(self, which: Sequence[int], runs: int) -> Any:
        return self.values[list(which), :runs], self.met[list(which), :runs]


def quadratic() -> np.ndarray[Any, Any]:
    return -0.01 * (np.arange(21) - 13.0) ** 2


def test_the_true_best_is_in_the_set_and_all_bounds_hold_in_93_of_100_races() -> None:
    means = quadratic()
    kept = covered = runs = 0
    for seed in range(100):
        found = race(means.size, Normal(seed, means), budget=64, tolerance=0.0)
        kept += found.states[13] == "best"
        runs += sum(found.runs)
        left = [at for at, state in enumerate(found.states) if state == "best"]
        covered += all(means.max() - means[at] <= found.behind[at] for at in left)
    assert kept >= 93
    assert covered >= 93
    assert runs < 0.7 * 100 * 21 * 64


def test_equally_good_settings_stay_in_93_of_100_races() -> None:
    """The hardest case: any of the ten may leave by mistake, and the error is shared by all of them."""
    means = np.zeros(10)
    kept = [race(10, Normal(seed, means, 1.0), budget=32, tolerance=0.0).states[0] for seed in range(100)]
    assert kept.count("best") >= 93


def test_a_race_ends_when_all_that_are_left_are_close_enough() -> None:
    means = 100.0 + np.array([0.0, 0.1, 0.2])
    assert set(race(3, Normal(1, means), budget=64, tolerance=0.02).runs) == {8}
    assert set(race(3, Normal(1, means), budget=64, tolerance=0.0001).runs) == {64}


def test_a_setting_that_fails_the_condition_beats_nobody() -> None:
    """The largest mean meets the condition in half of its runs: the next one is the best that meets it."""
    course = Normal(3, np.array([0.0, 1.0, 5.0]), runs=256)
    course.met[2, ::2] = False
    found = race(3, course, budget=256, tolerance=0.0, share=0.9)
    assert found.states == ["beaten", "best", "fails"]
    assert found.behind[1] == 0.0
    short = race(3, course, budget=8, tolerance=0.0, share=0.9)
    assert short.states[:2] == ["open", "open"]


def test_levels_divide_the_error_by_looks_and_rivals() -> None:
    assert looks(8, 64) == [8, 16, 32, 64]
    assert looks(8, 50) == [8, 16, 32, 50]
    assert Levels(21, 4, condition=False).comparison == pytest.approx(0.05 / 80)
    assert Levels(10, 4, condition=True).comparison == pytest.approx(0.025 / 36)
    assert Levels(10, 4, condition=True).share == pytest.approx(0.025 / 40)


def test_bounds_are_those_of_student_and_the_correlation_that_of_pairs() -> None:
    from scipy import stats

    values = np.random.default_rng(7).normal(size=(3, 8))
    one_sided = stats.ttest_rel(values[1], values[0]).confidence_interval(0.9)
    assert upper_bounds(values, 0.05)[0, 1] == pytest.approx(one_sided.high)
    assert math.isnan(correlation(np.ones((2, 8))))
    same = np.vstack([values[0], values[0] + 1.0])
    assert correlation(same) == pytest.approx(1.0)


def test_the_best_of_real_runs_is_found_and_a_second_call_makes_none(tmp_path: Path) -> None:
    ask: dict[str, Any] = {"objective": f"max {GOODPUT}", "store": tmp_path}
    found = rl.optimise(base(), packets(4, 48, 64, 80), **ask)
    assert (found.best, found.cheapest) == (["64 pkt", "80 pkt"], "64 pkt")
    assert "the best of 4 settings of mobility.buffer.limit is among 2 settings (64 pkt; 80 pkt)" in repr(
        found
    )
    assert found.tried["state"].to_list() == ["beaten", "beaten", "best", "best"]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("shards/*")}
    assert rl.optimise(base(), packets(4, 48, 64, 80), **ask) == found
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("shards/*")} == before


def test_a_condition_leaves_the_cheapest_that_meets_it(tmp_path: Path) -> None:
    """4 packets cost a timeout in every run, 64 none."""
    ask: dict[str, Any] = {"objective": f"max {GOODPUT}", "where": "flows.moving.timeouts == 0", "share": 0.8}
    found = rl.optimise(base(), packets(4, 64), store=tmp_path, **ask)
    assert found.tried["state"].to_list() == ["fails", "best"]
    assert found.tried["met"][0] == 0
    assert "with flows.moving.timeouts == 0 in 80% of runs: 64 pkt is the best" in found.sentence


def test_a_pilot_tries_few_settings_and_finds_the_edge(tmp_path: Path) -> None:
    """Any of 1 to 100 packets could be the least with which nothing is lost."""
    found = rl.optimise(
        base(), packets(*range(1, 101)), objective="min flows.moving.dropped_pkts", coarse=32, store=tmp_path
    )
    assert found.combinations == 100
    assert found.tried.height <= 20
    assert found.tried.filter(name=found.cheapest)["mean"][0] == 0.0
    assert "settings tried of 100" in found.sentence


def test_the_command_writes_the_sentence_a_figure_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.toml").write_text(base().text)
    call = ["optimise", "lab.toml", "--over", f'{LIMIT}=["4 pkt", "64 pkt"]', "--for", f"max {GOODPUT}"]
    done = CliRunner().invoke(cli, [*call, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["cheapest"] == "64 pkt"
    assert found["settings"][0]["behind"] is None
    kept = json.loads((tmp_path / "out/optimise/optimum.json").read_text())
    assert kept["sentence"] == found["sentence"]
    drawn = (tmp_path / "out/optimise/means.svg").read_text()
    assert "Goodput of moving over mobility.buffer.limit" in drawn
    assert found["sentence"] in CliRunner().invoke(cli, call).stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"objective": GOODPUT}, f'write "max {GOODPUT}" or "min {GOODPUT}"'),
        ({"objective": "max flows.*.goodput_bps"}, 'write "max mean(flows.*.goodput_bps)"'),
        ({"objective": "most goodput here"}, '"max" or "min"'),
        ({"over": packets(4)}, "list more values"),
        ({"over": {LIMIT: "4 pkt"}}, 'write ["4 pkt"]'),
        ({"over": {LIMIT: ["4 pkt", "8 s"]}}, "over, field mobility.buffer.limit"),
        ({"over": [1]}, "over"),
        ({"budget": 4}, "from 8 on"),
        ({"share": 2}, "write 0.95"),
        ({"tolerance": -1}, "write 0.02"),
        ({"coarse": 0}, "leave it out: 1"),
        ({"where": "flows.moving.timeouts == 0"}, "write 134"),
        ({"where": "timeouts"}, "the comparison is missing"),
    ],
)
def test_what_cannot_be_used_is_refused(change: dict[str, Any], said: str) -> None:
    over = change.pop("over", packets(4, 64))
    ask: dict[str, Any] = {"objective": f"max {GOODPUT}", **change}
    with pytest.raises(rl.BadInput) as caught:
        rl.optimise(base(), over, **ask)
    assert said in str(caught.value)


PAPERS = {
    "mblue": (lambda: mblue.one_handoff("mblue"), LIMIT),
    "lte": (
        lambda: lte.forwarding("standard"),
        "mobility.buffer_limit",
    ),
}


@only_deep
@pytest.mark.parametrize("paper", list(PAPERS))
def test_the_named_buffer_is_within_5_percent_of_a_sweep_with_ten_times_the_points(
    paper: str, tmp_path: Path
) -> None:
    made, path = PAPERS[paper]
    scenario = made()
    values = [f"{number} pkt" for number in range(1, 161)]
    metric = f"flows.{scenario.to_dict()['flows'][0]['name']}.goodput_bps"
    found = rl.optimise(
        scenario, {path: values}, objective=f"max {metric}", coarse=32, budget=32, store=tmp_path
    )
    assert found.tried.height <= len(values) / 10
    means = rl.sweep(scenario, {path: values}, replications=32, metrics=[metric], store=tmp_path).means()
    best = max(means["mean"])
    assert means.filter(name=found.leader)["mean"][0] >= 0.95 * best
