"""Buffering at the foreign agent, from Python: its duplicates, which the IPF paper's section II.A reports."""

from __future__ import annotations

import polars as pl

import roamlab as rl
from conftest import ROOT

EXAMPLE = ROOT / "examples/handover.toml"


def _run(at: str) -> rl.Results:
    return rl.run(rl.load(EXAMPLE).set("mobility.buffer.at", at), seed=1)


def test_copies_of_a_foreign_agent_trigger_an_unnecessary_fast_retransmit() -> None:
    at_agent, at_station = _run("foreign-agent"), _run("base-station")
    lost = at_agent.drops.filter(pl.col("reason") == "detached").height
    assert 40 < lost < 64, "they reach the old base station in T_loss"
    # All are among the 64 copies. The host has the others already, and the segment that TCP then sends again.
    assert at_agent.releases.height == 64
    assert at_agent.flows["duplicate_pkts"].to_list() == [64 - lost + 1]
    retransmits = pl.col("event") == "fast-retransmit"
    assert at_agent.tcp.filter(retransmits).height == 1
    assert at_agent.flows["timeouts"].to_list() == [0]
    # The base station forwards what the host lacks.
    assert at_station.flows["duplicate_pkts"].to_list() == [0]
    assert at_station.tcp.filter(retransmits).height == 0
