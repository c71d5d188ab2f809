"""`roamlab.optimise` and `roamlab optimise`: the answer against whole sweeps, and calls that are refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import roamlab as rl
from capture_files import called
from conftest import ROOT
from roamlab.base.errors import BadInput
from roamlab.commands.runs.optimise import values_of

if TYPE_CHECKING:
    from pathlib import Path

SIZES = ["4 pkt", "24 pkt", "44 pkt", "52 pkt", "64 pkt"]
METRIC = "flows.moving.goodput_bps"


def _base() -> rl.Scenario:
    base = rl.load(ROOT / "examples/handover.toml")
    return base.set("flows.moving.app.start_within", "1 s")


def test_the_best_buffer_is_that_of_a_sweep(tmp_path: Path) -> None:
    found = rl.optimise(_base(), {"mobility.buffer.limit": SIZES}, objective=f"max {METRIC}", store=tmp_path)
    runs = rl.sweep(
        _base(), {"mobility.buffer.limit": SIZES}, replications=8, metrics=[METRIC], store=tmp_path / "other"
    )
    means = dict(zip(runs.means(METRIC)["name"], runs.means(METRIC)["mean"], strict=True))
    best = max(means, key=lambda name: means[name])
    assert best in found.best["name"].to_list()
    assert found.best["name"].to_list() == ["52 pkt", "64 pkt"], "no buffer of these loses a packet"
    for row in found.tried.iter_rows(named=True):
        assert row["mean"] == pytest.approx(means[row["name"]])
        assert (row["verdict"] == "may be the best") == (row["behind"] is not None)
    assert "52 pkt" in found.sentence
    assert "one of these 2 of 5 settings" in found.sentence


def test_the_smallest_is_the_largest_with_another_sign(tmp_path: Path) -> None:
    found = rl.optimise(
        _base(), {"mobility.buffer.limit": SIZES}, objective="min flows.moving.disruption_s", store=tmp_path
    )
    assert {*found.best["name"]} <= {"52 pkt", "64 pkt"}
    worst = found.tried.filter(pl.col("name") == "4 pkt").row(0, named=True)
    assert worst["verdict"] == "worse"
    assert worst["mean"] > 3 * found.best["mean"].max()


def test_a_condition_leaves_only_settings_that_are_shown_to_meet_it(tmp_path: Path) -> None:
    """With buffers below 52 packets each run has a timeout. A smallest delay would choose them."""
    call: dict[str, Any] = {
        "objective": "min flows.moving.delivered_pkts",
        "where": "flows.moving.timeouts == 0",
        "share": 0.8,
        "store": tmp_path,
    }
    found = rl.optimise(_base(), {"mobility.buffer.limit": SIZES}, budget=64, **call)
    verdicts = dict(zip(found.tried["name"], found.tried["verdict"], strict=True))
    assert all(verdicts[name] == "fails the condition" for name in SIZES[:3])
    assert {verdicts[name] for name in SIZES[3:]} <= {"may be the best", "worse"}
    few = rl.optimise(_base(), {"mobility.buffer.limit": SIZES}, budget=8, **call)
    assert few.best.is_empty()
    assert few.sentence.startswith("No setting was shown to have flows.moving.timeouts == 0 in 80 % of runs.")
    assert "2 settings are open" in few.sentence


def test_a_second_call_makes_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments: dict[str, Any] = {"objective": f"max {METRIC}", "store": tmp_path}
    first = rl.optimise(_base(), {"mobility.buffer.limit": SIZES[:2]}, **arguments)

    def execute(_self: object, jobs: Any, *_: object, **__: object) -> None:
        assert list(jobs) == []

    monkeypatch.setattr(rl.LocalPool, "execute", execute)
    assert rl.optimise(_base(), {"mobility.buffer.limit": SIZES[:2]}, **arguments).tried.equals(first.tried)


def test_ranges_and_lists_of_the_command_line() -> None:
    assert values_of(["a.b=4 pkt to 10 pkt by 3 pkt", 'c.d=["x", "y"]', "e.f=1 to 3 by 1"]) == {
        "a.b": ["4 pkt", "7 pkt", "10 pkt"],
        "c.d": ["x", "y"],
        "e.f": [1, 2, 3],
    }


@pytest.mark.parametrize(
    ("field", "part"),
    [
        ("a.b=4 pkt", "this is one value"),
        ("a.b=4 pkt to 8 pkt by 1 ms", "another unit"),
        ("a.b=4 pkt to 8 pkt by many", "this is no quantity"),
        ("a.b", "there is no `=`"),
    ],
)
def test_fields_that_are_no_values_are_refused(field: str, part: str) -> None:
    with pytest.raises(BadInput, match=part):
        values_of([field])


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"objective": METRIC}, "max METRIC"),
        ({"objective": "max flows.other.goodput_bps"}, "flows.other"),
        ({"share": 1.0}, "between 0 and 1"),
        ({"within": 1.0}, "below 1"),
        ({"budget": 4}, "from 8 on"),
        ({"over": {"mobility.buffer.limit": ["4 pkt"]}}, "2 to 500"),
        ({"where": "flows.moving.timeouts"}, "comparison"),
        ({"objective": "max flows.moving.mos"}, "every run defines"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(change: dict[str, Any], part: str, tmp_path: Path) -> None:
    arguments: dict[str, Any] = {
        "over": {"mobility.buffer.limit": SIZES[:2]},
        "objective": f"max {METRIC}",
        "store": tmp_path,
        **change,
    }
    with pytest.raises(BadInput, match=part):
        rl.optimise(_base(), **arguments)


def test_the_command_prints_the_sentence_and_writes_a_page(tmp_path: Path) -> None:
    out, store = tmp_path / "out", tmp_path / "store"
    arguments = [
        "optimise",
        str(ROOT / "examples/handover.toml"),
        "--over",
        "mobility.buffer.limit=44 pkt to 52 pkt by 8 pkt",
        "--for",
        f"max {METRIC}",
        "--out",
        str(out),
        "--store",
        str(store),
        "--json",
    ]
    done = called(*arguments)
    assert done.code == 0
    data = json.loads(done.out)
    assert data["sentence"].endswith("is that of 52 pkt, the best of 2 settings.")
    assert [row["verdict"] for row in data["settings"]] == ["worse", "may be the best"]
    assert "52 pkt" in (out / "report.html").read_text(encoding="utf-8")
    assert (out / "settings.csv").read_text(encoding="utf-8").count("\n") == 3
