"""The current congestion controls in whole runs: one download across a handover, as in `examples/today`."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl
import pytest

import roamlab as rl
from conftest import ROOT
from roamlab.running.executor import LocalPool
from roamlab.sweeps.sweep import execute
from roamlab.sweeps.sweepfile import load_sweep

if TYPE_CHECKING:
    from pathlib import Path

BASE = rl.load(ROOT / "examples/today/congestion-controls.toml")
TRANSPORT = "flows.download.transport"
RATE = 20e6 * 1448 / 1488  # of the data, without headers


def _tcp(**transport: object) -> rl.Results:
    return rl.run(BASE.set_all({f"{TRANSPORT}.{name}": value for name, value in transport.items()}))


def _goodput(results: rl.Results, begin: float, end: float) -> float:
    """Bits per second of what arrived between these times in seconds."""
    arrived = results.deliveries.filter(pl.col("time_ns").is_between(begin * 1e9, end * 1e9))
    return arrived.height * 1448 * 8 / (end - begin)


def _windows(results: rl.Results) -> list[tuple[float, str, float]]:
    """Time in seconds, event and window of each report."""
    rows = results.tcp.select("time_ns", pl.col("event").cast(pl.String), "cwnd").rows()
    return [(time / 1e9, event, cwnd) for time, event, cwnd in rows]


@pytest.mark.parametrize("as_linux", [False, True])
def test_a_loss_leaves_seven_tenths_of_cubics_window(as_linux: bool) -> None:
    results = _tcp(congestion_control={"kind": "cubic", "as_linux": as_linux})
    cuts = [
        after / before
        for (_, _, before), (_, event, after) in pairwise(_windows(results))
        if event == "fast-retransmit"
    ]
    assert cuts
    assert all(0.65 < cut < 0.72 for cut in cuts), cuts
    assert _goodput(results, 4, 8) > 0.95 * RATE


def test_slow_start_of_linux_ends_before_the_queue_overflows() -> None:
    dropped = {
        kind: int(_tcp(congestion_control={"kind": "cubic", "slow_start": kind}).flows["dropped_pkts"].sum())
        for kind in ("standard", "hystart")
    }
    assert dropped["hystart"] < dropped["standard"]


def test_bbr_keeps_the_queue_short_and_probes_for_the_round_trip_time() -> None:
    bbr, cubic = _tcp(variant="bbr"), _tcp(variant="cubic")
    for begin, end in ((2, 7), (14, 19)):
        assert _goodput(bbr, begin, end) > 0.9 * RATE
    delays = {
        name: results.deliveries.filter(pl.col("time_ns") > 4e9)
        .select((pl.col("time_ns") - pl.col("sent_ns")).median())
        .item()
        for name, results in (("bbr", bbr), ("cubic", cubic))
    }
    assert delays["bbr"] < 0.75 * delays["cubic"], delays
    later = [(time, cwnd) for time, _, cwnd in _windows(bbr) if time > 5]
    begin = next(time for time, cwnd in later if cwnd <= 4.0)
    end = next(time for time, cwnd in later if time > begin and cwnd > 4.0)
    assert 0.2 < end - begin < 0.5, "ProbeRTT lasts 200 ms and a round trip at least"


def _median_delay(results: rl.Results, begin: float, end: float) -> float:
    """Median one-way delay in seconds of what arrived between these times."""
    arrived = results.deliveries.filter(pl.col("time_ns").is_between(begin * 1e9, end * 1e9))
    return float(arrived.select((pl.col("time_ns") - pl.col("sent_ns")).median()).item()) / 1e9


def test_bbr3_halves_its_window_every_five_seconds() -> None:
    bbr3, cubic = _tcp(variant="bbr3"), _tcp(variant="cubic")
    for begin, end in ((2, 5), (14, 19)):
        assert _goodput(bbr3, begin, end) > 0.9 * RATE
    assert _median_delay(bbr3, 4, 20) < 0.75 * _median_delay(cubic, 4, 20)
    # Half of 20 Mbit/s for 48 ms and a segment: some 41 segments.
    windows = [(time, cwnd) for time, _, cwnd in _windows(bbr3) if 2 < time < 8]
    begin = next(time for time, cwnd in windows if 35 < cwnd < 45)
    end = next(time for time, cwnd in windows if time > begin and cwnd > 45)
    assert 5.5 < begin < 5.6, "the first round trip, 50 ms after the start at 0.5 s, is 5 s old"
    assert 0.2 < end - begin < 0.4, "ProbeRTT lasts 200 ms and a round trip at least"


def test_bbr3_over_quic_fills_the_path() -> None:
    quic = rl.run(BASE.set(TRANSPORT, {"kind": "quic", "congestion_control": "bbr3", "datagram": "1452 B"}))
    arrived = quic.deliveries.filter(pl.col("time_ns").is_between(2e9, 7e9)).height
    assert arrived / 5 > 0.9 * 20e6 / 8 / 1480


# All packets are marked that find more than 20 in the queue.
MARKING = {
    "kind": "red",
    "limit": "200 pkt",
    "min_threshold": "20 pkt",
    "max_threshold": "21 pkt",
    "queue_weight": 1.0,
    "max_p": 1.0,
    "mark_ecn": True,
    "use_mark_p": True,
    "mark_p_max": 2.0,
}


def test_dctcp_gives_up_what_is_marked() -> None:
    cuts = {}
    for variant in ("dctcp", "sack"):
        base = BASE.set("cells.enb1.queue", MARKING)
        results = rl.run(base.set_all({f"{TRANSPORT}.variant": variant, f"{TRANSPORT}.ecn": True}))
        cuts[variant] = [
            after / before
            for (_, _, before), (time, event, after) in pairwise(_windows(results))
            if event == "ecn-reduction" and time < 8
        ]
        if variant == "dctcp":
            assert _goodput(results, 3, 8) > 0.95 * RATE
            assert _median_delay(results, 3, 8) < 0.024 + 30 * 1488 * 8 / 20e6, "20 packets, and a few more"
            assert results.flows["dropped_pkts"].sum() < 50, "only what the handover loses"
    assert all(abs(cut - 0.5) < 0.02 for cut in cuts["sack"])
    # Slow start leaves five to eight windows without a mark: alpha is 15/16 to that power.
    assert 1 - (15 / 16) ** 5 / 2 < cuts["dctcp"][0] < 1 - (15 / 16) ** 8 / 2
    assert len(cuts["dctcp"]) > 3 * len(cuts["sack"])
    assert min(cuts["dctcp"][10:]) > 0.75, "alpha is the share of marks, and not one"


def test_prague_keeps_the_queue_at_its_marks() -> None:
    base = BASE.set("cells.enb1.queue", MARKING)
    results = rl.run(base.set(f"{TRANSPORT}.variant", "prague"))
    assert _goodput(results, 3, 8) > 0.95 * RATE
    assert _median_delay(results, 3, 8) < 0.024 + 25 * 1488 * 8 / 20e6, "paced: 20 packets, and little more"
    windows = _windows(results)
    cuts = [
        after / before
        for (_, _, before), (time, event, after) in pairwise(windows)
        if event == "ecn-reduction" and 3 < time < 8
    ]
    assert min(cuts) > 0.75, "the average is the share of marks, and not one"
    first = next(
        after / before for (_, _, before), (_, event, after) in pairwise(windows) if event == "ecn-reduction"
    )
    assert abs(first - 0.5) < 0.02, "the average is 1 before the first mark"


def test_pacing_spreads_a_window() -> None:
    fast = BASE.set_all({"cells.enb1.rate": "200 Mbit/s", f"{TRANSPORT}.initial_window": "30 pkt"})
    together, paced = (
        rl.run(fast.set(f"{TRANSPORT}.pacing", pacing)).deliveries["time_ns"].to_numpy()[11:30]
        for pacing in (False, True)
    )
    assert together[-1] - together[0] < 2e6
    # 18 segments at twice 30 in a round trip of some 48 ms.
    assert 0.012e9 < paced[-1] - paced[0] < 0.017e9


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"congestion_control": {"kind": "cubic", "slow_start": "never"}}, "hystart"),
        ({"abe": True}, "ecn = true"),
        ({"variant": "bbr", "ecn": True, "abe": True}, "cubic"),
        ({"variant": "bbr2"}, "the nearest is `bbr3`"),
        ({"variant": "dctcp", "ecn": False}, "write true, or leave it out"),
        ({"congestion_control": {"kind": "dctcp", "gain": 0.0}}, "write 0.0625"),
        ({"variant": "prague", "accecn": False}, "write true, or leave it out"),
        ({"accecn": True, "ecn": False}, "write true, or leave it out"),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, object], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        _tcp(**values)


def test_one_sweep_compares_the_senders_of_today(tmp_path: Path) -> None:
    plan = load_sweep(ROOT / "examples/today/senders.toml").plan
    runs = execute(replace(plan, replications=1), tmp_path, LocalPool(1))
    goodput = runs.frame.filter(pl.col("metric") == "flows.download.goodput_bps")
    assert runs.points["name"].to_list() == ["cubic", "bbr", "bbr3", "quic", "quic, careful resume"]
    assert goodput["value"].n_unique() == 5
    assert goodput["value"].min() > 0.9 * RATE
