"""Remarks on a run or a sweep before its numbers are trusted: a line each, and none where all is well."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import roamlab as rl
from conftest import ROOT
from roamlab.base import limits
from roamlab.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

HANDOVER = ROOT / "examples/handover.toml"


def lan(window: str, *, rate: str = "4 Mbit/s", limit: str = "100 pkt", flows: int = 1) -> rl.Scenario:
    """Files over one link of 4 Mbit/s and 25 ms: the path holds 17 segments of 1500 B."""
    link = {
        "between": ["a", "b"],
        "rate": rate,
        "delay": "25 ms",
        "queue": {"kind": "droptail", "limit": limit},
    }
    tcp = {"kind": "tcp", "variant": "reno", "window": window, "segment": "1460 B"}
    app = {"kind": "ftp", "start": "0 s"}
    listed = [
        {"name": f"file-{n}", "path": ["a", "b"], "transport": tcp, "app": app | {"start": f"{n} ms"}}
        for n in range(flows)
    ]
    return rl.Scenario.from_dict({"run": {"duration": "8 s"}, "links": [link], "flows": listed})


@pytest.mark.parametrize("window", ["4 pkt", "10 pkt", "14 pkt"])
def test_a_flow_that_its_window_limits_is_named(window: str) -> None:
    results = lan(window).run()
    goodput = results.metric("goodput_bps")
    assert goodput < 0.9 * 4e6, "the network could carry more"
    (said,) = results.warnings
    assert said.startswith(f"limited by the TCP window and not by the network: file-0 ({window}, ")
    assert "`transport.window`" in said


@pytest.mark.parametrize(
    ("window", "limit", "flows"),
    [
        ("19 pkt", "100 pkt", 1),  # just fills the path
        ("60 pkt", "100 pkt", 1),  # a permanent queue
        ("200 pkt", "30 pkt", 1),  # losses
        ("10 pkt", "100 pkt", 5),  # five share the path and fill it
    ],
)
def test_a_flow_that_the_network_limits_is_not_named(window: str, limit: str, flows: int) -> None:
    results = lan(window, limit=limit, flows=flows).run()
    assert results.metric("goodput_bps") > 0.7 * 4e6
    assert results.warnings == []


def test_a_window_that_the_profile_gives_is_named() -> None:
    """ns-2's 20 packets on a path that holds 80."""
    fast = lan("10 pkt", rate="20 Mbit/s").set("run.profile", "ns2-2009")
    flow = fast.to_dict()["flows"][0]
    del flow["transport"]["window"]
    (said,) = fast.set("flows", [flow]).run().warnings
    assert said.startswith("limited by the TCP window and not by the network: file-0 (20 pkt, ")


def test_more_window_is_more_goodput_where_it_was_said_so() -> None:
    assert lan("10 pkt").run().warnings
    assert lan("16 pkt").run().metric("goodput_bps") > 1.4 * lan("10 pkt").run().metric("goodput_bps")


def test_a_flow_that_starts_before_its_host_attaches_is_named_once_for_its_group() -> None:
    base = rl.load(HANDOVER)
    early = base.set("hosts.mh.visits.0.at", "1 s")
    (said,) = early.warnings
    assert (
        'field `flows[0].app.start`: this flow starts at 100 ms, before its host "mh" enters a cell at 1 s'
        in said
    )
    assert said.startswith(f"{HANDOVER} with hosts.mh.visits.0.at"), (
        "no line of the file, which has another text"
    )
    assert early.set("flows.moving.app.start", "1 s").warnings == []
    group = {
        "name": "car",
        "count": 3,
        "stagger": "1 s",
        "home": "ha",
        "visits": [{"cell": "bs1", "at": "0 s"}],
    }
    flows = base.to_dict()["flows"][0] | {"name": "file", "count": 3, "path": ["ch", "car-*"]}
    staggered = base.set_all(
        {
            "hosts": [group],
            "flows": [flows],
            "cells": {"bs1": base.to_dict()["cells"]["bs1"]},
            "mobility": {"kind": "mobile-ip"},
        }
    )
    (said,) = staggered.warnings
    assert 'before its host "car-1" enters a cell at 1 s' in said
    assert staggered.set("flows.file.stagger", "1 s").warnings == []


def test_a_random_plan_that_begins_late_is_seen_too() -> None:
    base = rl.load(HANDOVER)
    plan = {"kind": "random-neighbour", "at": "2 s", "dwell": "4 s", "cells": ["bs1", "bs2"]}
    late = base.set("hosts", [{"name": "mh", "home": "ha", "plan": plan | {"neighbours": "list"}}])
    (said,) = late.warnings
    assert 'before its host "mh" enters a cell at 2 s' in said


def test_runs_without_chance_are_said_to_be_equal(tmp_path: Path) -> None:
    equal = lan("10 pkt").sweep([{}], replications=3, metrics=["goodput_bps"], store=tmp_path)
    (said,) = equal.warnings
    assert said.startswith("all runs of a point are equal, and one shows as much as 3")
    chance = {"flows.file-0.app.start_within": "500 ms"}
    assert (
        lan("10 pkt").sweep([chance], replications=3, metrics=["goodput_bps"], store=tmp_path).warnings == []
    )
    assert lan("10 pkt").sweep([{}], replications=1, metrics=["goodput_bps"], store=tmp_path).warnings == []


def test_a_metric_that_no_run_defines_is_explained(tmp_path: Path) -> None:
    metrics = ["flows.*.mos", "flows.*.disruption_s", "goodput_bps"]
    runs = lan("10 pkt").sweep([{}], replications=1, metrics=metrics, store=tmp_path)
    assert runs.warnings == [
        "metric flows.*.mos: no run defines it; `mos` is about `voip`, and the flow file-0 is `ftp`",
        "metric flows.*.disruption_s: no run defines it; it needs a handover, and no host of the scenario visits a "
        "second cell",
    ]


def test_commands_print_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lan.toml"
    path.write_text(lan("10 pkt").text)
    # It takes the function when it is imported first: not the one of this test.
    import_module("roamlab.records.storage.parquet")
    monkeypatch.setattr(limits, "available_memory", lambda: 1000)
    options = ["--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, ["run", str(path), *options])
    assert done.exit_code == 0
    assert "warning: limited by the TCP window" in done.stderr
    assert "warning: the record may reach" in done.stderr
    monkeypatch.undo()
    sweep = tmp_path / "sweep.toml"
    sweep.write_text('scenario = "lan.toml"\nreplications = 2\nmetrics = ["flows.file-0.mos"]\n[[points]]\n')
    options = ["--out", str(tmp_path / "swept"), "--store", str(tmp_path / "store"), "--json"]
    done = CliRunner().invoke(cli, ["sweep", str(sweep), *options])
    assert done.exit_code == 0, done.output
    assert "no run defines it; `mos` is about `voip`" in done.stderr
    assert '"warnings": [' in done.stdout
    assert "warning: the record" not in CliRunner().invoke(cli, ["check", str(path)]).stderr


def test_an_axis_along_which_nothing_changes_is_named(tmp_path: Path) -> None:
    base = rl.load(ROOT / "examples/handover.toml").set_all(
        {"run.duration": "2 s", "flows.moving.app.start_within": "100 ms"}
    )
    axes = {"mobility.buffer.hold": ["1 s", "2 s"], "flows.moving.transport.window": ["2 pkt", "8 pkt"]}
    runs = rl.sweep(base, axes, replications=2, metrics=["flows.moving.goodput_bps"], store=tmp_path)
    (said,) = (warning for warning in runs.warnings if warning.startswith("axis "))
    assert said.startswith("axis mobility.buffer.hold: all its values give the same metrics in every run")


def test_a_metric_that_no_run_defines_says_nothing_of_an_axis_and_of_chance(tmp_path: Path) -> None:
    base = rl.load(ROOT / "examples/handover.toml").set("run.duration", "2 s")
    runs = rl.sweep(
        base,
        {"mobility.buffer.hold": ["1 s", "2 s"]},
        replications=2,
        metrics=["flows.moving.disruption_s"],
        store=tmp_path,
    )
    assert any("no run defines it" in warning for warning in runs.warnings)
    assert not [warning for warning in runs.warnings if warning.startswith(("axis ", "all runs "))]


def test_loss_at_a_link_that_no_packet_uses_is_named() -> None:
    text = (ROOT / "examples/handover.toml").read_text(encoding="utf-8").replace('"40 s"', '"1 s"')
    spare = '[[links]]\nbetween = ["ch", "spare"]\nrate = "1 Mbit/s"\ndelay = "1 ms"\nloss = 0.1\n\n[[flows]]'
    said = rl.run(rl.Scenario(text.replace("[[flows]]", spare, 1))).warnings
    assert any(".loss: no packet used the link between ch and spare" in line for line in said), said
    used = rl.run(
        rl.Scenario(text.replace('between = ["ch", "ha"]', 'between = ["ch", "ha"]\nloss = 0.01', 1))
    )
    assert not any("no packet used" in line for line in used.warnings)


BUSY = ROOT / "examples/busy-cell.toml"


@pytest.mark.parametrize("start", [{"start": "0 s"}, {}])
def test_a_flow_that_begins_before_its_host_is_registered_is_named(start: dict[str, str]) -> None:
    base = rl.load(BUSY)
    results = base.set("flows.download.app", {"kind": "ftp"} | start).run()
    assert results.drops["sent_ns"][0] == 0, "the SYN is lost"
    (said,) = (each for each in results.warnings if "first packet" in each)
    assert said.startswith(
        "flow download: its first packet, at 0 s, was lost at core (no-binding): host phone was "
    )
    later = base.set(
        "flows.download.app", {"kind": "ftp", "start": said.rpartition('example "')[2].strip('"')}
    )
    assert not any("first packet" in each for each in later.run().warnings)


def test_a_discipline_of_the_network_that_nothing_waits_for_is_named() -> None:
    base = rl.load(BUSY)
    red = {"kind": "red", "limit": "100 pkt", "min_threshold": "10 pkt", "max_threshold": "30 pkt"}
    idle = base.set("network.queue", red).run()
    assert idle.flows.equals(base.run().flows), "it changes nothing"
    (said,) = (each for each in idle.warnings if each.startswith("network.queue: "))
    assert said.endswith("write `queue` in `[cells.NAME]`")
    narrow = base.set_all({"network.queue": red, "links.0.rate": "3 Mbit/s"}).run()
    assert not any(each.startswith("network.queue: ") for each in narrow.warnings)
