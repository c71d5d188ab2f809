"""The congestion controls of today in whole runs: one download across a handover, as in `examples/today`."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest

import roamlab as rl
from conftest import ROOT

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
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, object], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        _tcp(**values)
