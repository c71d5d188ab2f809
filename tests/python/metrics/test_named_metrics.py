"""Metrics by name: of one run, over several flows, of each handover, and those that do not apply."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

import roamlab as rl
from conftest import ROOT
from roamlab.records import handovers
from roamlab.records.why import why
from roamlab.running.summary import Measurement, Name, unit

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def applications() -> rl.Results:
    return rl.load(ROOT / "examples/applications.toml").set("run.duration", "12 s").run()


@pytest.fixture(scope="module")
def base() -> rl.Scenario:
    """Three handovers with a buffer that is too small."""
    changes = {
        "run.duration": "24 s",
        "mobility.buffer.limit": "4 pkt",
        "hosts.mh.visits": [{"cell": f"bs{1 + n % 2}", "at": f"{6 * n} s"} for n in range(4)],
    }
    return rl.load(ROOT / "examples/handover.toml").set_all(changes)


@pytest.fixture(scope="module")
def moving(base: rl.Scenario) -> rl.Results:
    return base.run()


def test_a_metric_of_one_run_is_that_of_a_sweep(applications: rl.Results, tmp_path: Path) -> None:
    base = rl.load(ROOT / "examples/applications.toml").set("run.duration", "12 s")
    names = [f"flows.{flow}.goodput_bps" for flow in applications.flows["flow"]]
    names += ["jain", "census.created", *(name for name in _defined(applications))]
    runs = rl.sweep(base, [{}], replications=1, metrics=names, store=tmp_path)
    for name in names:
        assert applications.metric(name) == rl.metric(applications, name) == runs.values(name, 0)[0], name


def _defined(results: rl.Results) -> list[str]:
    kinds = {flow["name"]: flow["app"]["kind"] for flow in results.manifest.network["flows"]}
    wanted = {"voip": "mos", "video": "freeze_s", "web": "page_load_s", "dash": "rebuffering_ratio"}
    return [f"flows.{flow}.{wanted[kind]}" for flow, kind in kinds.items() if kind in wanted]


def test_a_metric_over_flows_is_made_of_those_that_match(applications: rl.Results) -> None:
    flows = [str(flow) for flow in applications.flows["flow"]]
    values = [applications.metric(f"flows.{flow}.goodput_bps") for flow in flows]
    expected = {"mean": sum(values) / len(values), "min": min(values), "max": max(values), "sum": sum(values)}
    for over, value in expected.items():
        assert applications.metric(f"{over}(flows.*.goodput_bps)") == pytest.approx(value), over
    begin = flows[0][:2]
    some = [value for flow, value in zip(flows, values, strict=True) if flow.startswith(begin)]
    assert applications.metric(f"sum(flows.{begin}*.goodput_bps)") == pytest.approx(sum(some))
    with pytest.raises(rl.BadInput, match=rf"it matches {len(flows)} flows.*"):
        applications.metric("flows.*.goodput_bps")


def test_flows_that_do_not_define_a_metric_are_left_out_of_its_mean(applications: rl.Results) -> None:
    calls = [name for name in _defined(applications) if name.endswith(".mos")]
    values = [applications.metric(name) for name in calls]
    assert values
    assert applications.metric("mean(flows.*.mos)") == pytest.approx(sum(values) / len(values))


def test_a_metric_that_cannot_apply_says_so(moving: rl.Results) -> None:
    with pytest.raises(
        rl.BadInput, match="does not apply: `mos` is about `voip`, and the flow moving is `ftp`"
    ):
        moving.metric("flows.moving.mos")
    with pytest.raises(rl.BadInput, match="there is no flow 'moved'"):
        moving.metric("flows.moved.timeouts")
    still = rl.load(ROOT / "examples/handover.toml").set("run.duration", "1 s").run()
    assert math.isnan(still.metric("flows.moving.disruption_s"))


def test_a_timeout_belongs_to_the_handover_whose_chain_has_its_root(
    base: rl.Scenario, moving: rl.Results, tmp_path: Path
) -> None:
    counts = handovers.timeouts(moving, "moving")
    assert counts.size == 3
    rows = moving.tcp.with_row_index().filter(moving.tcp["event"].cast(str) == "timeout")
    roots = [why(moving, "tcp", row)["time_ns"].to_list()[-1] for row in rows["index"]]
    expected = [roots.count(at * 10**9) for at in (6, 12, 18)]
    assert counts.tolist() == expected
    assert sum(expected) > 0, "the buffer is too small for every handover"
    without = moving.metric("flows.moving.handovers_without_timeout_ratio")
    assert without == expected.count(0) / 3
    name = "flows.moving.handovers_without_timeout_ratio"
    assert base.sweep([{}], replications=1, metrics=[name], store=tmp_path).values(name, 0) == [without]


def test_a_timeout_that_the_entry_of_a_cell_caused_belongs_to_the_handover_before_it() -> None:
    """NewReno repairs some 50 losses one a round trip; the timer expires 1.2 s after the host is in the next cell."""
    scenario = rl.load(ROOT / "tests/python/metrics/cellular_gap.toml")
    results = scenario.run()
    assert results.metric("flows.dl.timeouts") == results.metric("flows.dl.handover_timeouts") == 2
    assert handovers.timeouts(results, "dl").tolist() == [1, 1]
    assert results.metric("flows.dl.handovers_without_timeout_ratio") == 0
    assert not any("caused a timeout" in line for line in results.warnings)


def test_without_a_handover_there_is_no_share() -> None:
    still = rl.load(ROOT / "examples/handover.toml").set("run.duration", "1 s").run()
    assert math.isnan(still.metric("flows.moving.handovers_without_timeout_ratio"))


def test_a_name_has_parts_and_a_unit() -> None:
    assert Name.of("mean(flows.voice-*.mos)") == ("mean", "flows", "voice-*", "mos")
    assert unit("sum(flows.*.goodput_bps)") == "bit/s"
    assert unit("max(flows.*.disruption_s)") == "s"
    assert Measurement(("mean(flows.*.mos)",)).tables == ["deliveries", "flows"]
    for wrong in ("mean(jain)", "mean(census.created)", "flows..mos", "mean(flows.*.mos", "census."):
        assert not Name.of(wrong).known, wrong
