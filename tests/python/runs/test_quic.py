"""QUIC as a transport of a scenario: from the file to the tables, the metrics and the causes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import roamlab as rl
from conftest import ROOT
from roamlab.records import why
from roamlab.records.analysis import stalls

if TYPE_CHECKING:
    from roamlab.records.results import Results

_S = 1_000_000_000


@pytest.fixture(scope="module")
def scenario() -> rl.Scenario:
    return rl.load(ROOT / "examples/quic.toml").set("record", {"packets": True, "variables": True})


@pytest.fixture(scope="module")
def results(scenario: rl.Scenario) -> Results:
    return rl.run(scenario, seed=1)


def _events(results: Results, flow: str = "download") -> pl.DataFrame:
    text = pl.col("flow", "event", "timeout").cast(pl.String)
    return results.tcp.with_columns(text).filter(pl.col("flow") == flow)


def test_a_download_fills_the_link_before_it_moves(results: Results) -> None:
    row = results.flows.row(0, named=True)
    assert row["kind"] == "quic"
    arrived = results.deliveries.filter((pl.col("time_ns") >= 3 * _S) & (pl.col("time_ns") < 5 * _S))
    # 10 Mbit/s for packets of 1228 B: 1017.9 in a second.
    assert arrived.height == pytest.approx(2 * 1017.9, abs=3)
    assert row["delivered_bytes"] == row["delivered_pkts"] * 1161
    assert row["sent_pkts"] - row["retransmitted_pkts"] >= row["delivered_pkts"]


def test_sizes_are_those_of_the_wire(results: Results) -> None:
    packets = results.packets.with_columns(pl.col("event", "kind").cast(pl.String))
    sent = packets.filter(pl.col("event") == "send")
    assert sent.filter((pl.col("kind") == "syn") & (pl.col("time_ns") > _S)).is_empty()
    sizes = {kind: set(sent.filter(pl.col("kind") == kind)["wire_bytes"]) for kind in ("data", "syn", "ack")}
    assert sizes["data"] == sizes["syn"] == {1228}
    # 57 B of headers and tag; the frame has 5 B at least.
    assert min(sizes["ack"]) == 62
    handshake = sent.filter(pl.col("kind") == "syn")
    data = sent.filter(pl.col("kind") == "data")
    # A round trip over wires of 15, 2, 1 and 3 ms, and the times on the links.
    assert 0.042 * _S < data["time_ns"][0] - handshake["time_ns"][0] < 0.046 * _S


@pytest.fixture(scope="module")
def outage(scenario: rl.Scenario) -> Results:
    """The server's link is down for 1.2 s, and loses what it carries in both directions."""
    changes = [{"at": "3 s", "up": False}, {"at": "4.2 s", "up": True}]
    return rl.run(scenario.set("links.0.changes", changes), seed=1)


def test_an_outage_is_persistent_congestion(outage: Results) -> None:
    events = _events(outage).filter(pl.col("time_ns").is_between(3 * _S, 5 * _S))
    timeouts = events.filter(pl.col("event") == "timeout")
    collapse = events.filter(pl.col("event") == "persistent-congestion")
    assert timeouts.height >= 3
    # Each is twice the one before.
    assert timeouts["rto_ns"].to_list() == [
        timeouts["rto_ns"][0] << count for count in range(timeouts.height)
    ]
    # The first segment outstanding has arrived: its acknowledgement was lost.
    assert set(timeouts["timeout"]) == {"spurious"}
    # They cut nothing. What follows leaves two packets.
    assert timeouts["cwnd"].n_unique() == 1
    assert timeouts["cwnd"][0] > 20.0
    assert collapse["cwnd"].to_list() == [2.0]
    assert collapse["time_ns"][0] > 4.2 * _S


def test_causes_lead_from_the_collapse_to_the_outage(outage: Results) -> None:
    rows = _events(outage).with_row_index("row").filter(pl.col("event") == "persistent-congestion")
    told = "\n".join(why.lines(outage, "tcp", int(rows["row"][0])))
    assert "persistent-congestion" in told
    assert "link-change" in told


def _migrations(results: Results) -> pl.DataFrame:
    return _events(results).filter(pl.col("event") == "migration")


def test_a_new_address_begins_a_new_window(results: Results) -> None:
    migration = _migrations(results)
    assert migration["cwnd"].to_list() == [10.0]
    # The phone is in the new cell at 6.3 s. PING, challenge and answer take a round trip and a half of 42 ms.
    assert 6.3 + 0.062 < migration["time_ns"][0] / _S < 6.3 + 0.075
    packets = results.packets.with_columns(pl.col("event", "kind", "place").cast(pl.String))
    sent = packets.filter((pl.col("event") == "send") & (pl.col("place") == "server"))
    challenges = sent.filter((pl.col("kind") == "ack") & (pl.col("time_ns") > 6 * _S))
    # A small one as far as the limit goes, one for the address before (RFC 9000, section 9.3.3), and one in 1200 B
    # when the new address has answered (section 8.2.1). The last PATH_RESPONSE is acknowledged (section 13.2.1).
    small, *expanded, ack = challenges["wire_bytes"]
    assert small < 3 * 62
    assert expanded == [1228, 1228]
    assert ack < small
    times = challenges["time_ns"].to_list()
    assert times[0] == times[1]
    assert times[2] == migration["time_ns"][0]
    held = (pl.col("kind") == "data") & pl.col("time_ns").is_between(
        challenges["time_ns"][0], migration["time_ns"][0], closed="none"
    )
    assert sent.filter(held).height == 0, "the limit lets no data go before the answer"
    told = "\n".join(why.lines(results, "tcp", _row(results, "migration")))
    assert "motion" in told


def _row(results: Results, event: str) -> int:
    return int(_events(results).with_row_index("row").filter(pl.col("event") == event)["row"][0])


def test_policies_differ_after_a_migration(scenario: rl.Scenario) -> None:
    def after(policy: str) -> tuple[int, int]:
        changed = scenario.set("flows.download.transport.migration", policy).set("radio.gap", "20 ms")
        run = rl.run(changed, seed=1)
        again = run.packets.filter(pl.col("retransmission") & (pl.col("time_ns") > 6 * _S))
        return _migrations(run).height, again.height

    (kept, by_loss), (reset, _), (abandoned, again) = (after(each) for each in ("keep", "rfc", "quic-go"))
    assert (kept, reset, abandoned) == (0, 1, 1)
    # quic-go repeats the window that was in flight.
    assert again > by_loss


def test_without_migration_nobody_notices(scenario: rl.Scenario) -> None:
    still = rl.run(scenario.set("flows.download.transport", {"kind": "quic"}), seed=1)
    assert _migrations(still).is_empty()


def test_the_stall_is_found(results: Results) -> None:
    gaps = [each for each in stalls(results, "download") if each.start_ns > 5 * _S]
    assert len(gaps) == 1
    assert 0.3 * _S < gaps[0].end_ns - gaps[0].start_ns < 1.0 * _S


def test_the_variables_are_recorded(results: Results) -> None:
    variables = results.variables.filter(pl.col("time_ns") < 6 * _S)
    assert variables["srtt_ns"].max() < 0.2 * _S
    assert variables["una"].to_list() == sorted(variables["una"].to_list())


def test_files_end_and_pages_load(scenario: rl.Scenario) -> None:
    file = rl.run(
        scenario.set("flows.download.app", {"kind": "ftp", "size": "300 kB", "start": "1 s"}), seed=1
    )
    row = file.flows.row(0, named=True)
    assert row["delivered_pkts"] == -(-300_000 // 1161)
    assert row["completed_ns"] > 0
    web = rl.run(scenario.set("flows.download.app", {"kind": "web", "think": "300 ms"}), seed=1)
    pages = web.units.filter(pl.col("completed_ns") > 0)
    assert pages.height > 5


@pytest.mark.parametrize(
    ("field", "value", "advice"),
    [
        ("datagram", "1000 B", '"1200 B"'),
        ("probes", 3, "write 2"),
        ("time_threshold", 0.5, "write 1.125"),
        ("max_ack_delay", "20 s", '"25 ms"'),
        ("window", "64 pkt", "datagram"),
        ("migration", "msft", "msquic"),
    ],
)
def test_bad_parameters_are_refused_with_advice(
    scenario: rl.Scenario, field: str, value: object, advice: str
) -> None:
    with pytest.raises(rl.ScenarioError) as told:
        scenario.set(f"flows.download.transport.{field}", value).check()
    assert field in str(told.value)
    assert advice in str(told.value)


def test_quinn_itself_carries_the_same_download(scenario: rl.Scenario) -> None:
    run = rl.run(scenario.set("flows.download.transport", {"kind": "quinn", "migration": True}), seed=1)
    row = run.flows.row(0, named=True)
    assert row["kind"] == "quinn"
    assert row["delivered_bytes"] * 8 / 12e6 > 8.5
    # The server, which sends, sees the phone's new address half a round trip after 6.3 s.
    assert [time / _S for time in _migrations(run)["time_ns"]] == [pytest.approx(6.32, abs=0.01)]
    sent = run.packets.with_columns(pl.col("event", "kind").cast(pl.String)).filter(pl.col("event") == "send")
    assert sent["wire_bytes"].max() == 1228
    assert sent.filter((pl.col("kind") == "syn") & (pl.col("time_ns") > 5 * _S)).is_empty()


def test_a_resumed_window_is_told(scenario: rl.Scenario) -> None:
    resumes = scenario.set("flows.download.transport.migration", "careful-resume")
    run = rl.run(resumes.set("radio.gap", "700 ms"), seed=1)
    jump = _events(run).filter(pl.col("event") == "jump")
    assert jump.height == 1
    assert 30.0 < jump["cwnd"][0] < 40.0
    told = "\n".join(why.lines(run, "tcp", _row(run, "jump")))
    assert "motion" in told
