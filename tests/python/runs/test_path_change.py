"""A sender that is notified of a new path, from Python."""

from __future__ import annotations

import polars as pl
import pytest

import roamlab as rl
from conftest import ROOT
from roamlab._roamlab import ScenarioError
from roamlab.records import why

EXAMPLE = ROOT / "examples/today/path-change.toml"
_POLICY = "flows.download.path_change.policy"


@pytest.fixture(scope="module")
def scenario() -> rl.Scenario:
    return rl.load(EXAMPLE)


def test_the_table_has_the_notice_and_what_it_changed(scenario: rl.Scenario) -> None:
    results = rl.run(scenario.set(_POLICY, "count-lost"), seed=1)
    [row] = results.path_changes.iter_rows(named=True)
    assert (row["flow"], row["host"], row["policy"]) == ("download", "phone", "count-lost")
    assert row["genuine"]
    assert row["acted"]
    # From the phone to the server: 5 ms of air, and 62 + 2 + 15 ms of wires.
    assert 84_000_000 < row["time_ns"] - row["changed_ns"] < 86_000_000
    assert (row["cwnd"], row["srtt_ns"], row["rto_ns"]) == (10.0, 0, 10**9)
    assert row["lost_pkts"] > 50
    events = results.tcp.filter(pl.col("event") == "path-change")
    assert events["cause"].to_list() == [row["cause"]]
    # Neither a loss nor a timeout is counted for it.
    assert results.signalling.filter(pl.col("message") == "path-change").height == 1


def test_why_names_the_policy_the_message_and_the_phase(scenario: rl.Scenario) -> None:
    results = rl.run(scenario.set(_POLICY, "restart"), seed=1)
    told = why.lines(results, "path_changes", 0)
    assert [line.split(maxsplit=1)[1].split(",")[0] for line in told[1:4]] == [
        "path-change restart at server",
        "message path-change at phone",
        "phase link-up at phone",
    ]


def test_a_policy_that_the_sender_cannot_follow_is_refused_where_it_stands(scenario: rl.Scenario) -> None:
    with pytest.raises(ScenarioError, match="no ProbeRTT") as refused:
        rl.run(scenario.set_all({"flows.download.transport.variant": "cubic", _POLICY: "probe-rtt"}), seed=1)
    assert "flows[0].path_change.policy" in str(refused.value)
    assert '"restart" or "count-lost"' in str(refused.value)


def test_a_sender_of_quic_resumes_half_of_its_window(scenario: rl.Scenario) -> None:
    quic = {"kind": "quic", "congestion_control": "cubic"}
    resumes = scenario.set("flows.download.transport", quic).set(_POLICY, "careful-resume")
    events = rl.run(resumes, seed=1).tcp.filter(pl.col("event").is_in(["path-change", "jump"]))
    assert events["event"].cast(pl.String).to_list()[:2] == ["path-change", "jump"]
    assert events["cwnd"][0] == 10.0
