"""Noticeable quantities of a run, on hand-made records, against numbers worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from hand_made import FakeResults, ns
from roamlab.records import experience


def _record(app: dict[str, Any] | None = None, **tables: Any) -> Any:
    """A run of 10 s of a flow `a` with these tables."""
    parameters = {"run": {"duration": "10 s"}, "flows": [{"name": "a", "app": app or {}}]}
    return FakeResults(
        SimpleNamespace(
            parameters=parameters, network=parameters, outline=SimpleNamespace(duration_ns=10 * 10**9)
        ),
        **{name: pl.DataFrame(table) for name, table in tables.items()},
    )


def test_the_e_model_meets_its_anchor_points() -> None:
    # ITU-T G.107: 93.2 → 4.41, 80 → 4.02 (4.024), 70 → 3.60, 60 → 3.10, 50 → 2.58.
    for r, expected in ((93.2, 4.41), (80.0, 4.02), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)):
        assert experience.mos(r) == pytest.approx(expected, abs=0.005)
    assert (experience.mos(-1.0), experience.mos(101.0)) == (1.0, 4.5)


def test_no_mean_opinion_score_is_below_one() -> None:
    """The polynomial of ITU-T G.107 alone gives 0.989 for R 3.2, and grows above 1 from R 6.5 on."""
    scores = [experience.mos(r / 10) for r in range(-10, 1010)]
    assert min(scores) == experience.mos(3.2) == 1.0
    assert scores == sorted(scores)
    assert experience.mos(6.6) > 1.0


def test_impairments_by_hand() -> None:
    g711, plc, g729 = (experience.CODECS[name] for name in ("g711", "g711-plc", "g729"))
    # 100 ms: 2.4. 200 ms: 4.8 + 0.11 · 22.7 = 7.297.
    assert experience.delay_impairment(0.1) == pytest.approx(2.4)
    assert experience.delay_impairment(0.2) == pytest.approx(7.297)
    # 2 %: 95 · 2 / (2 + 4.3) = 30.159; with concealment 95 · 2 / 27.1 = 7.011; G.729: 11 + 84 · 2 / 21 = 19.
    assert experience.loss_impairment(0.02, g711) == pytest.approx(30.1587, abs=1e-4)
    assert experience.loss_impairment(0.02, plc) == pytest.approx(7.0111, abs=1e-4)
    assert experience.loss_impairment(0.02, g729) == pytest.approx(19.0)
    # In bursts twice as long as by chance: 95 · 2 / (1 + 4.3).
    assert experience.loss_impairment(0.02, g711, burst=2.0) == pytest.approx(35.8491, abs=1e-4)
    # Cole and Rosenbluth at 2 %: 30 ln 1.3 = 7.871; 11 + 40 ln 1.2 = 18.293.
    assert experience.fitted_impairment(0.02, g711) == pytest.approx(7.8709, abs=1e-4)
    assert experience.fitted_impairment(0.02, g729) == pytest.approx(18.2929, abs=1e-4)
    assert experience.r_factor(0.1, 11.0) == pytest.approx(79.8)


def test_a_call_counts_lost_and_late_packets() -> None:
    # 10 sent, 8 came: six after 50 ms, one after 100 ms, one after 111 ms. With 60 ms above 50 ms one is late.
    delays = [0.05] * 6 + [0.1, 0.111]
    sent = [0.02 * at for at in range(8)]
    deliveries = {
        "flow": ["a"] * 8,
        "seq": list(range(8)),
        "fresh": [True] * 8,
        "sent_ns": ns(*sent),
        "time_ns": ns(*(at + delay for at, delay in zip(sent, delays, strict=True))),
    }
    flows = {"flow": ["a"], "sent_pkts": [10]}
    found = _record({"kind": "voip", "codec": "g711"}, deliveries=deliveries, flows=flows)
    assert experience.late_pkts(found, "a", 0.06) == 1
    assert experience.late_pkts(found, "a", 0.05) == 1
    assert experience.late_pkts(found, "a", 0.049) == 2
    call = experience.voice(found, "a", 0.06)
    assert call.loss == pytest.approx(0.3)
    assert call.delay_s == pytest.approx(0.02 + 0.05 + 0.06)  # a packet's time, the network, the buffer
    # Id = 3.12; Ie,eff = 95 · 30 / 34.3 = 83.090; Ie = 30 ln 5.5 = 51.142.
    assert call.r == pytest.approx(93.2 - 3.12 - 83.0904, abs=1e-3)
    assert call.fitted_r == pytest.approx(93.2 - 3.12 - 51.1424, abs=1e-3)
    assert math.isnan(experience.voice(_record({"kind": "cbr"}, deliveries=deliveries, flows=flows), "a").r)


def test_jitter_by_hand() -> None:
    # Sent each 20 ms; 3 is lost. Transit 10, 14, 9, -, 12, 12 ms: differences 4, -5, (pair skipped twice), 0.
    seq = np.array([0, 1, 2, 4, 5])
    sent = 0.02 * seq
    came = sent + np.array([0.010, 0.014, 0.009, 0.012, 0.012])
    assert experience.ipdv_s(seq, sent, came) == pytest.approx([0.004, -0.005, 0.0])
    # RFC 3550 in order of arrival: |D| = 4, 5, 3, 0 ms; J = 0.25, 0.546875, 0.7001953, 0.6564331 ms.
    assert experience.rtp_jitter_s(sent, came) == pytest.approx(0.6564331e-3, rel=1e-6)
    assert math.isnan(experience.rtp_jitter_s(sent[:1], came[:1]))


def test_frames_freeze_by_hand() -> None:
    # Each 40 ms, play-out 100 ms later. The P at 40 ms never is whole: neither it nor what follows is shown until the
    # next I at 200 ms. The B at 240 ms is late, which nothing depends on: 40 ms. The rest is due after the end.
    times = np.array([0.0, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.32])
    kinds = ["I", "P", "B", "P", "B", "I", "B", "P", "P"]
    whole = times + np.array([0.05, math.nan, 0.05, 0.05, 0.05, 0.1, 0.101, 0.05, math.nan])

    def freezes(end_s: float) -> Any:
        return experience.lengths_s(experience.freeze_spans_s(times, whole, kinds, 0.1, end_s))

    assert freezes(0.4) == pytest.approx([0.16, 0.04])
    # A freeze that the end of the run cuts: from the last P's play-out at 0.42 s to 0.45 s.
    assert freezes(0.45) == pytest.approx([0.16, 0.04, 0.03])


UNITS = {
    "flow": ["a"] * 5,
    "kind": ["object"] * 5,
    "group": [0, 0, 1, 1, 2],
    "time_ns": ns(1.0, 1.5, 3.0, 3.2, 6.0),
    "completed_ns": [*ns(1.4, 2.25, 3.1), -1, -1],
}


def test_a_page_is_loaded_with_its_last_object() -> None:
    # Page 0: 1.0 to 2.25 s. Page 1 lacks an object; of page 2 one of two was asked for.
    found = _record({"kind": "web", "objects": 2}, units=UNITS)
    assert experience.page_loads_s(found, "a") == pytest.approx([1.25])
    # Those have loaded for 7 and 4 s when the run ends at 10 s: the mean leaves out neither.
    assert experience.mean_page_load_s(found, "a") == pytest.approx((1.25 + 7.0 + 4.0) / 3)
    # A page that has just begun shows nothing yet.
    late = UNITS | {"time_ns": ns(1.0, 1.5, 9.0, 9.2, 9.5)}
    found = _record({"kind": "web", "objects": 2}, units=late)
    assert experience.mean_page_load_s(found, "a") == pytest.approx(1.25)
    no_units = pl.DataFrame(UNITS, schema_overrides={"flow": pl.Enum(["a"])}).clear()
    none = _record(
        {"kind": "web", "objects": 2},
        units=no_units.with_columns(kind=pl.Series([], dtype=pl.Enum(["object"]))),
    )
    assert math.isnan(experience.mean_page_load_s(none, "a"))


def _call(delays: list[float], sent_pkts: int) -> Any:
    """A call of G.711 whose packets come each 20 ms; with their delays."""
    sent = [0.02 * at for at in range(len(delays))]
    deliveries = {
        "flow": ["a"] * len(delays),
        "fresh": [True] * len(delays),
        "sent_ns": ns(*sent),
        "time_ns": ns(*(at + delay for at, delay in zip(sent, delays, strict=True))),
    }
    frame = pl.DataFrame(
        deliveries,
        schema_overrides={
            "flow": pl.Enum(["a"]),
            "fresh": pl.Boolean,
            "sent_ns": pl.Int64,
            "time_ns": pl.Int64,
        },
    )
    return _record(
        {"kind": "voip", "codec": "g711"}, deliveries=frame, flows={"flow": ["a"], "sent_pkts": [sent_pkts]}
    )


def test_the_play_out_follows_a_longer_path() -> None:
    # 1,000 packets over 50 ms, then 1,000 over 150 ms: the first over the longer path comes at 20.15 s, and all until
    # 200 ms later are late: those of 0, 20, ..., 180 ms. The one of 200 ms is played.
    found = experience.voice(_call([0.05] * 1000 + [0.15] * 1000, 2000), "a")
    assert (found.lost, found.late) == (0.0, 10 / 2000)
    # Mouth to ear: 20 ms a packet, 60 ms, and 50 ms for 1,010 packets, 150 ms for 990.
    assert found.delay_s == pytest.approx(0.08 + (1010 * 0.05 + 990 * 0.15) / 2000)
    assert found.mos > 3.5
    # Without adaption all packets of the longer path are late.
    fixed = experience.voice(_call([0.05] * 1000 + [0.15] * 1000, 2000), "a", adapts=False)
    assert (fixed.late, fixed.mos) == (0.5, 1.0)
    # A shorter path is followed immediately.
    back = experience.voice(_call([0.15] * 1000 + [0.05] * 1000, 2000), "a")
    assert (back.late, back.delay_s) == (0.0, pytest.approx(0.08 + 0.1))


def test_a_call_of_which_nothing_arrives_has_the_worst_score() -> None:
    dead = experience.voice(_call([], 100), "a")
    assert (dead.lost, dead.late, dead.mos) == (1.0, 0.0, 1.0)
    assert math.isnan(experience.voice(_call([], 0), "a").mos), "it never began"


def test_a_film_that_never_begins_stalls_all_the_time() -> None:
    spec = {"kind": "dash", "segment": "4 s", "startup": "4 s", "rates": ["1 Mbit/s"]}
    units = {"flow": ["a"], "kind": ["segment"], "group": [0], "time_ns": ns(1.0), "completed_ns": [-1]}
    assert experience.player(_record(spec, units=units), "a").ratio == 1.0


def test_files_that_never_finish_are_not_left_out() -> None:
    flows = {"flow": ["a"], "start_ns": ns(1), "completed_ns": [-1]}
    assert experience.completed_ratio(_record({"kind": "ftp", "size": "1 MB"}, flows=flows), "a") == 0.0
    assert math.isnan(experience.completed_ratio(_record({"kind": "ftp"}, flows=flows), "a")), "it has no end"
    whole = flows | {"completed_ns": ns(3)}
    assert experience.completed_ratio(_record({"kind": "ftp", "size": "1 MB"}, flows=whole), "a") == 1.0


def test_frames_of_a_run() -> None:
    units = UNITS | {"kind": ["I", "P", "P", "I", "P"]}
    found = _record({"kind": "video"}, units=units)
    assert experience.frame_loss_ratio(found, "a") == 0.4
    assert experience.frame_delays_s(found, "a")[:3] == pytest.approx([0.4, 0.75, 0.1])


def test_a_player_stalls_by_hand() -> None:
    # Segments of 4 s, begins with one. First at 2 s: plays to 6 s, the second at 5 s: to 10 s. The third at
    # 13 s: a stall of 3 s, plays to 17 s, the fourth never: a stall to the end at 20 s.
    begin, stalls, end = experience.play_out(np.array([2.0, 5.0, 13.0]), 4.0, 4.0, 20.0)
    assert (begin, end) == (2.0, 20.0)
    assert stalls.tolist() == [[10.0, 13.0], [17.0, 20.0]]
    # The same as a whole film: it is over at 17 s.
    begin, stalls, end = experience.play_out(np.array([2.0, 5.0, 13.0]), 4.0, 4.0, 20.0, whole=True)
    assert stalls.tolist() == [[10.0, 13.0]]
    assert end == 17.0
    # With two segments to begin: at 5 s, plays 8 s to 13 s, just in time.
    begin, stalls, end = experience.play_out(np.array([2.0, 5.0, 13.0]), 4.0, 8.0, 17.0)
    assert (begin, stalls.size) == (5.0, 0)
    # After a stall it waits for two again: at 16 s, though the third came at 14 s.
    begin, stalls, end = experience.play_out(np.array([2.0, 5.0, 14.0, 16.0]), 4.0, 8.0, 24.0)
    assert stalls.tolist() == [[13.0, 16.0]]
    units = {
        "flow": ["a"] * 3,
        "kind": ["segment"] * 3,
        "group": [0, 1, 1],
        "time_ns": ns(1.0, 2.0, 5.0),
        "completed_ns": [*ns(2.0, 5.0), -1],
    }
    app = {"kind": "dash", "segment": "2 s", "startup": "2 s", "rates": ["1 Mbit/s", "3 Mbit/s"]}
    found = experience.player(_record(app, units=units), "a")
    # Begins at 2 s, stalls from 4 to 5 s and from 7 to 10 s: 4 of 8 s. Mean of 1 and 3 Mbit/s.
    assert (found.startup_s, found.ratio, found.mean_rate_bps) == (1.0, 0.5, 2e6)
    assert found.stalls_s == pytest.approx([1.0, 3.0])


def test_losses_belong_to_the_handover_before_them() -> None:
    handovers = {"host": ["mh"] * 3, "phase": ["link-down"] * 3, "time_ns": ns(1, 2, 3)}
    flows = {"flow": ["a"], "source": ["ch"], "destination": ["mh"], "kind": ["udp"]}
    drops = {
        "flow": ["a"] * 6,
        "seq": [0, 1, 2, 3, 4, 5],
        "data": [True] * 6,
        "reason": ["detached"] * 5 + ["copy-released"],
        "time_ns": ns(0.9, 1.0, 1.1, 3.2, 4.0, 3.3),
        "sent_ns": ns(*range(6)),
    }
    deliveries = {"flow": ["a"], "seq": [9], "sent_ns": ns(9)}
    found = _record(handovers=handovers, flows=flows, drops=drops, deliveries=deliveries)
    counts = experience.losses_per_handover(found, "a")
    # 0.9 s is before all; two after the first, none after the second, one after the third; 4.0 s is 1 s later; a copy.
    assert counts.tolist() == [2, 0, 1]


def test_a_file_takes_from_its_start_to_its_last_byte() -> None:
    for completed, expected in ((3_500_000_000, 3.0), (-1, math.nan)):
        found = _record(flows={"flow": ["a"], "start_ns": [500_000_000], "completed_ns": [completed]})
        assert experience.completion_s(found, "a") == pytest.approx(expected, nan_ok=True)
