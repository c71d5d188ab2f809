"""Every metric on a hand-made record, against a number worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from conftest import ROOT
from hand_made import FakeResults, ns
from roamlab.base.errors import BadInput
from roamlab.records import handovers as handovers_module
from roamlab.records import metrics
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario, load
from roamlab.studies import scenarios

if TYPE_CHECKING:
    from pathlib import Path


def _record(**tables: Any) -> Any:
    """A run of 10 s with these tables."""
    outline = SimpleNamespace(duration_ns=10 * 10**9, recorded={"deliveries", "tcp"})
    manifest = SimpleNamespace(outline=outline, parameters={"flows": [{"name": "a", "app": {"kind": "ftp"}}]})
    return FakeResults(manifest, **{name: pl.DataFrame(table) for name, table in tables.items()})


FLOWS = {
    "flow": ["a", "b"],
    "source": ["ch", "ch"],
    "destination": ["mh", "still"],
    "sent_pkts": [8, 0],
    "delivered_pkts": [4, 0],
    "delivered_bytes": [2000, 0],
    "completed_ns": [-1, -1],
}


NO_DROPS = pl.DataFrame(
    schema={"flow": pl.Enum(["a", "b"]), "reason": pl.Enum(["queue-overflow"])}
    | dict.fromkeys(("seq", "sent_ns", "time_ns"), pl.Int64)
    | {"data": pl.Boolean}
)


def test_goodput_counts_first_deliveries_in_the_span() -> None:
    # Of a's packets of 500 B, those at 1 s and 2 s are in [1, 3) for the first time: 2 · 8 · 500 / 2 = 4000.
    deliveries = {
        "flow": ["a", "a", "a", "b", "a"],
        "time_ns": ns(1, 2, 2.5, 2.6, 3),
        "fresh": [True, True, False, True, True],
    }
    found = _record(flows=FLOWS, deliveries=deliveries)
    assert metrics.goodput_bps(found, "a", 1.0, 3.0) == 4000.0
    assert metrics.goodput_bps(found, "b", 1.0, 3.0) == 0.0


def test_loss_is_of_data_of_which_no_copy_arrived() -> None:
    # Of a: segment 3 lost in two copies, and later again; an acknowledgement lost; of 4 a copy released; of
    # 5, 6 a copy lost or a duplicate, and the other arrived. 2 of 8 sent.
    drops = {
        "flow": ["a"] * 7 + ["b"],
        "seq": [3, 3, 3, 0, 4, 5, 6, 1],
        "data": [True, True, True, False, True, True, True, True],
        "sent_ns": ns(1, 1, 2, 1, 1, 1, 1, 1),
        "time_ns": ns(1.1, 1.2, 2.1, 1.1, 1.1, 1.1, 1.1, 1.1),
        "reason": ["detached"] * 4 + ["copy-released", "detached", "duplicate", "detached"],
    }
    deliveries = {"flow": ["a"] * 3, "seq": [3, 5, 6], "sent_ns": ns(3, 1, 1)}
    flows = FLOWS | {"kind": ["tcp", "tcp"]}
    found = _record(flows=flows, drops=drops, deliveries=deliveries)
    assert metrics.losses(found, "a").tolist() == [1.2, 2.1]
    assert metrics.loss_ratio(found, "a") == 0.25
    assert math.isnan(metrics.loss_ratio(found, "b"))


def test_a_first_segment_with_number_0_is_data() -> None:
    """A response over a connection of its own begins with 0; an acknowledgement has that number too."""
    drops = {
        "flow": ["a", "a"],
        "seq": [0, 0],
        "data": [True, False],
        "sent_ns": ns(1, 1.1),
        "time_ns": ns(1.2, 1.3),
        "reason": ["queue-overflow"] * 2,
    }
    deliveries = {"flow": ["a"], "seq": [1], "sent_ns": ns(1)}
    found = _record(flows=FLOWS | {"kind": ["tcp", "tcp"]}, drops=drops, deliveries=deliveries)
    assert metrics.losses(found, "a").tolist() == [1.2]
    assert metrics.loss_ratio(found, "a") == 0.125


@pytest.mark.parametrize("scheme", ["HAWAII MNF", "M&M bicast"])
def test_a_scheme_that_sends_copies_loses_what_the_call_lacks(scheme: str) -> None:
    """Five copies more are lost than datagrams: their twins arrived."""
    (chosen,) = (each for each in scenarios.schemes() if each.name == scheme)
    results = run(scenarios.scenario(chosen, "call"), 1)
    sent, came = (metrics.total(results, "call", column) for column in ("sent_pkts", "delivered_pkts"))
    assert metrics.total(results, "call", "dropped_pkts") >= sent - came + 5
    assert metrics.loss_ratio(results, "call") == pytest.approx((sent - came) / sent)
    assert (sent - came) / sent == pytest.approx(0.0084, abs=1e-4)


def test_reordering_extent_is_that_of_rfc_4737() -> None:
    # 7 is the 4th to arrive. 4, 5 and 6, the 8th to 10th, come 4, 5 and 6 positions after it.
    assert metrics.reordering_extents([1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11]) == [
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        4,
        5,
        6,
        0,
    ]
    # The first larger one, not the nearest: 2 comes after 5 (2nd) and 3 (3rd).
    assert metrics.reordering_extents([1, 5, 3, 2]) == [0, 0, 1, 2]
    assert metrics.reordering_extents([]) == []
    deliveries = {
        "flow": ["a"] * 4 + ["b"],
        "sent_ns": [10, 50, 30, 20, 5],
        "seq": [1, 5, 3, 2, 1],
        "serial": [10, 50, 30, 20, 5],
    }
    found = _record(deliveries=deliveries)
    assert metrics.reordering_extent(found, "a") == 2
    assert metrics.reordered_ratio(found, "a") == 0.5
    assert metrics.reordering_extent(found, "b") == 0


def test_copies_are_no_reordering() -> None:
    # Segments 1 to 4, the first three sent at one time and copied; a copy has another serial number. Of 1 and 2 the
    # copy comes first; the other copies come last. The first copies are in order.
    came = [(1, 11), (2, 12), (3, 3), (4, 7), (1, 1), (2, 2), (3, 13)]
    sent = {1: 5, 2: 5, 3: 5, 4: 6}
    deliveries = {
        "flow": ["a"] * 7,
        "seq": [seq for seq, _ in came],
        "sent_ns": [sent[seq] for seq, _ in came],
        "serial": [serial for _, serial in came],
    }
    found = _record(deliveries=deliveries)
    assert (metrics.reordering_extent(found, "a"), metrics.reordered_ratio(found, "a")) == (0, 0.0)
    # A retransmission of 3 behind 4 is a separate packet, and in order; the first 3 then comes late.
    late = deliveries | {"flow": ["a"] * 3, "seq": [4, 3, 3], "sent_ns": [6, 9, 5], "serial": [7, 20, 3]}
    assert metrics.reordering_extent(_record(deliveries=late), "a") == 2


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        ([4.5, 4.9, 5.2, 5.3, 5.5, 6.1, 6.3], 0.6),  # the longest that began within a second
        ([4.9, 5.3, 5.6, 5.8, 6.0], 0.4),  # from the last before to the first after
        (
            [4.9, 5.002, 5.2, 5.3, 5.4, 5.5, 5.6, 5.7, 5.8, 5.9, 6.0],
            0.198,
        ),  # a packet in the air at the break does not hide the silence
        ([4.9, 5.1, 5.8, 7.8], 2.0),  # a timeout that the handover caused
        ([4.9, 5.1, 6.2, 9.0], 1.1),  # a silence that begins 1.2 s later has another cause
        ([4.0], 6.0),  # nothing ever after: to the end of the run
        ([5.5, 6.0], math.nan),  # nothing before
        ([], math.nan),
    ],
)
def test_disruption_is_the_silence_around_the_handover(times: list[float], seconds: float) -> None:
    found = metrics.disruption_s(np.array(times), 5.0, 10.0)
    assert found == pytest.approx(seconds, nan_ok=True)


def test_a_flow_is_disrupted_at_each_handover_of_its_host() -> None:
    handovers = {
        "host": ["mh", "mh", "other", "mh"],
        "phase": ["link-down", "link-up", "link-down", "link-down"],
        "time_ns": ns(2, 2, 3, 6),
    }
    deliveries = {"flow": ["a"] * 5, "time_ns": ns(1.9, 2.15, 3.2, 5.9, 6.5), "fresh": [True] * 5}
    both = pl.DataFrame(deliveries, schema_overrides={"flow": pl.Enum(["a", "b"])})
    found = _record(
        flows=FLOWS | {"kind": ["tcp", "tcp"]}, handovers=handovers, deliveries=both, drops=NO_DROPS
    )
    # At 2 s: 2.15 to 3.2 begins within a second, 1.05. At 6 s: 6.5 to the end, 10 s.
    assert metrics.flow_disruptions_s(found, "a") == pytest.approx([1.05, 3.5])
    assert metrics.flow_disruptions_s(found, "a", settle=0.1) == pytest.approx([0.25, 0.6])
    assert metrics.flow_disruptions_s(found, "b") == []


def test_a_flow_with_nothing_to_send_is_not_disrupted() -> None:
    handovers = {"host": ["mh"], "phase": ["link-down"], "time_ns": ns(6)}
    empty = NO_DROPS

    def found(
        app: dict[str, Any], completed: float, sent: list[float], came: list[float], lost: Any = empty
    ) -> float:
        count = len(sent)
        deliveries = {
            "flow": ["a"] * count,
            "seq": list(range(1, count + 1)),
            "sent_ns": ns(*sent),
            "time_ns": ns(*came),
            "fresh": [True] * count,
        }
        flows = FLOWS | {
            "kind": ["tcp" if app["kind"] == "ftp" else "udp"] * 2,
            "sent_pkts": [count + len(lost), 0],
            "completed_ns": [*ns(completed), -1],
        }
        record = _record(flows=flows, handovers=handovers, deliveries=deliveries, drops=lost)
        record.manifest.parameters = {"flows": [{"name": "a", "app": app}]}
        (seconds,) = metrics.flow_disruptions_s(record, "a")
        return seconds

    whole = {"kind": "ftp", "size": "1 MB"}
    # Complete before the move at 6 s; complete 0.4 s behind it; never complete.
    assert math.isnan(found(whole, 5.0, [4.0, 4.9], [4.1, 5.0]))
    assert found(whole, 6.4, [4.0, 5.8, 6.3], [4.1, 5.9, 6.4]) == pytest.approx(0.5)
    assert found(whole, -1e-9, [4.0, 5.8], [4.1, 5.9]) == pytest.approx(4.1)
    # A transfer that a time ends: what was written had arrived before the move.
    assert math.isnan(found({"kind": "ftp", "stop": "4.9 s"}, 5.0, [4.0, 4.9], [4.1, 5.0]))
    # Datagrams each 20 ms: from the last before the gap to the first after it.
    steady = [5.9, 5.92, 5.94, 5.96, 6.3, 6.32]
    cbr = {"kind": "cbr"}
    drops = empty.clear().vstack(
        pl.DataFrame(
            {
                "flow": ["a"],
                "seq": [5],
                "data": [True],
                "sent_ns": ns(5.98),
                "time_ns": ns(6.01),
                "reason": ["queue-overflow"],
            },
            schema=empty.schema,
        ).select(empty.columns)
    )
    assert found(cbr, -1e-9, steady, [at + 0.01 for at in steady], drops) == pytest.approx(6.31 - 5.97)
    # Nothing is sent from 5 s to 8 s: not disrupted. Sent again from 6.5 s on: the delay of that packet alone.
    assert math.isnan(found(cbr, -1e-9, [4.9, 5.0, 8.0], [4.91, 5.01, 8.01]))
    assert found(cbr, -1e-9, [4.9, 5.0, 6.5], [4.91, 5.01, 6.51]) == pytest.approx(0.01)


def test_what_the_run_does_not_have_is_named() -> None:
    deliveries = {"flow": ["a", "b"], "time_ns": ns(1, 2), "fresh": [True, True], "bytes": [9, 9]}
    found = _record(flows=FLOWS, deliveries=deliveries)
    for made in (
        lambda: metrics.goodput_bps(found, "c", 0.0, 1.0),
        lambda: metrics.arrivals(found, "c"),
        lambda: metrics.utilisation(found, 1e6, 0.0, 1.0, ["a", "c"]),
        lambda: metrics.flow_handovers(found, "c"),
    ):
        with pytest.raises(BadInput, match=r"flow 'c': the run has no such flow[^$]*one of a, b"):
            made()
    for made in (
        lambda: metrics.goodput_bps(found, "a", 1.0, 1.0),
        lambda: metrics.utilisation(found, 1e6, 2.0, 1.0, ["a"]),
        lambda: metrics.synchronisation(found, ["a"], 0.1, 1.0, 1.0),
        lambda: metrics.window_correlation(found, ["a"], 3.0, 3.0),
        lambda: metrics.cutting_flows(found, 3.0, 3.0),
    ):
        with pytest.raises(BadInput, match="it has no length"):
            made()


def test_goodput_of_a_run_and_its_fairness() -> None:
    # 10 s. a: 4 MB from 2 s on, 4 Mbit/s. b: 1 MB from 6 s on, 2 Mbit/s. A call of 50 kB from 0 s on. Requests of a.
    flows = {
        "flow": ["a", "b", "call", "a-requests"],
        "kind": ["tcp", "tcp", "udp", "tcp"],
        "delivered_bytes": [4_000_000, 1_000_000, 50_000, 1_000],
        "goodput_bps": [4e6, 2e6, 4e4, 1e3],
        "start_ns": ns(2, 6, 1, 2),
    }
    found = _record(flows=flows)
    assert metrics.goodput_of_all_bps(found) == pytest.approx(8 * 5_051_000 / 9)
    assert metrics.elastic_flows(found) == ["a", "b"]
    assert metrics.fairness(found) == pytest.approx(36 / (2 * 20))
    only = _record(flows={name: values[2:3] for name, values in flows.items()})
    assert metrics.fairness(only) == 1.0, "a run of calls alone"


def test_timeouts_of_handovers_are_those_whose_chain_leads_to_one() -> None:
    """However long after the handover they are, and whatever arrived meanwhile."""
    causes = {
        "time_ns": ns(0.1, 2.0, 2.1, 3.2, 4.0, 4.2, 6.0, 6.5, 7.0),
        "kind": [
            "motion",
            "motion",
            "loss",
            "timeout",
            "loss",
            "timeout",
            "measurement",
            "timeout",
            "motion",
        ],
        "host": ["mh", "mh", "", "", "", "", "mh", "", "other"],
        "cause": [-1, -1, 1, 2, -1, 4, -1, 6, -1],
    }
    handovers = {
        "host": ["mh"] * 3,
        "phase": ["link-up", "link-down", "link-up"],
        "time_ns": ns(0.1, 2, 2.1),
    }
    # The first entry of a cell is no handover (0), nor are a full queue (4) and the move of another host (8).
    tcp = {
        "flow": ["a"] * 6 + ["b"],
        "event": ["timeout"] * 5 + ["fast-retransmit", "timeout"],
        "cause": [3, 5, 7, 0, 8, 2, 3],
        "time_ns": ns(3.2, 4.2, 6.5, 7.0, 7.0, 7.0, 7.0),
    }
    found = _record(flows=FLOWS, handovers=handovers, causes=causes, tcp=tcp)
    assert metrics.handover_timeouts(found, "a") == 2
    assert math.isnan(metrics.handover_timeouts(found, "b")), "its host stayed"
    found.manifest.outline.recorded.remove("tcp")
    assert math.isnan(metrics.handover_timeouts(found, "a")), "its timeouts were not recorded"


def test_timeouts_by_cause_and_by_time_that_differ_are_said() -> None:
    """Handovers at 2, 5 and 8 s: the first caused the timeout at 4.5 s; another is 0.2 s behind the second."""
    causes = {
        "cause": [-1, -1, -1, 0, -1],
        "kind": ["motion", "motion", "motion", "timeout", "timeout"],
        "host": ["mh", "mh", "mh", "", ""],
        "time_ns": ns(2, 5, 8, 4.5, 5.2),
    }
    handovers = {"host": ["mh"] * 3, "phase": ["link-down"] * 3, "time_ns": ns(2, 5, 8), "cause": [0, 1, 2]}
    tcp = {
        "flow": ["a", "a", "b"],
        "event": ["timeout"] * 3,
        "cause": [3, 4, 4],
        "time_ns": ns(4.5, 5.2, 8.1),
    }

    def found(rows: slice) -> Any:
        events = {name: values[rows] for name, values in tcp.items()}
        flows = FLOWS | {"timeouts": [len(events["flow"]), 0]}
        return _record(flows=flows, handovers=handovers, causes=causes, tcp=events)

    record = found(slice(0, 1))
    assert handovers_module.timeouts(record, "a").tolist() == [1, 0, 0]
    assert handovers_module.timeouts_by_time(record, "a").tolist() == [0, 0, 0]
    assert handovers_module.warnings(record) == [
        "flow a: of 3 handovers, 1 caused a timeout, and a timeout came within 2 s of none; "
        "`roamlab why` shows the causes of each timeout"
    ]
    both = found(slice(0, 2))
    assert handovers_module.timeouts_by_time(both, "a").tolist() == [0, 1, 0]
    assert handovers_module.warnings(both) == [], "as many, though of other handovers"


def _lte(buffer: str) -> Scenario:
    """A download with a large window is handed over once; the old base station holds `buffer` for it."""
    tables = load(ROOT / "examples/lte.toml").to_dict()
    tables["run"] = {"duration": "6 s", "profile": "rfc"}
    tables["hosts"], tables["flows"] = tables["hosts"][:2], tables["flows"][:2]
    tables["mobility"]["buffer_limit"] = buffer
    for cell in tables["cells"].values():
        cell["backhaul"]["rate"] = "100 Mbit/s"
        del cell["backhaul"]["queue"]
    for flow in tables["flows"]:
        flow["transport"] = {"kind": "tcp", "variant": "newreno", "window": "100 pkt"}
    return Scenario.from_dict(tables, "lte.toml")


def test_a_timeout_more_than_a_second_after_its_handover_counts(tmp_path: Path) -> None:
    """The default timer is 1 s at least. Segments arrive meanwhile, one in a round trip."""
    results = run(_lte("4 pkt"), 1)
    (handover,) = metrics.flow_handovers(results, "ref")
    (expired,) = results.tcp.filter(pl.col("event") == "timeout", pl.col("flow") == "ref")["time_ns"] / 1e9
    assert expired > handover + 1.0
    assert metrics.handover_timeouts(results, "ref") == 1.0
    found = [
        _lte("4 pkt").smallest(
            "mobility.buffer_limit",
            where=f"flows.ref.{metric} == 0",
            between=("4 pkt", "124 pkt"),
            step=40,
            budget=96,
            store=tmp_path,
        )
        for metric in ("timeouts", "handover_timeouts")
    ]
    assert (found[0].above, found[0].at_most) == (found[1].above, found[1].at_most)
    assert found[0].above is not None


def test_utilisation_is_of_the_link_by_the_flows_named() -> None:
    # 3 packets of 1250 B in 2 s on 100 kbit/s: 30000 / 200000.
    deliveries = {"flow": ["a", "b", "a", "c", "a"], "time_ns": ns(1, 1, 2, 2, 3), "bytes": [1250] * 5}
    assert metrics.utilisation(_record(deliveries=deliveries), 1e5, 1.0, 3.0, ["a", "b"]) == 0.15


@pytest.mark.parametrize(
    ("shares", "index"), [([5, 5, 5, 5], 1.0), ([9, 0, 0], 1 / 3), ([1, 2, 3], 36 / 42), ([0, 0], math.nan)]
)
def test_jain(shares: list[float], index: float) -> None:
    assert metrics.jain(shares) == pytest.approx(index, nan_ok=True)


def test_synchronisation_is_the_largest_group_within_a_round_trip() -> None:
    tcp = {
        "flow": ["a", "a", "b", "c", "d", "a"],
        "time_ns": ns(1.0, 1.1, 1.2, 1.25, 1.31, 5.0),
        "event": ["timeout", "fast-retransmit", "ecn-reduction", "window", "timeout", "timeout"],
    }
    found = _record(tcp=tcp)
    # From 1.0 to 1.2: a and b. From 1.2 to 1.4: b and d. c never cuts. 2 of 4.
    assert metrics.synchronisation(found, ["a", "b", "c", "d"], 0.2) == 0.5
    # From 1.1 to 1.35: a, b and d.
    assert metrics.synchronisation(found, ["a", "b", "c", "d"], 0.25) == 0.75
    assert metrics.synchronisation(found, ["c"], 0.25) == 0.0
    assert metrics.synchronisation(found, ["a", "b", "c", "d"], 0.25, 1.15, 1.31) == 0.25, (
        "only b cuts in the span"
    )
    assert metrics.cutting_flows(found, 1.0, 1.31) == 2


def test_windows_correlate_pair_by_pair() -> None:
    def windows(**flows: list[float]) -> Any:
        rows = [(flow, at, cwnd) for flow, values in flows.items() for at, cwnd in enumerate(values, start=1)]
        return _record(
            tcp={
                "flow": [row[0] for row in rows],
                "time_ns": ns(*[row[1] for row in rows]),
                "cwnd": [float(row[2]) for row in rows],
            }
        )

    # a and b rise together (r = 1), c falls (r = -1 with both): (1 - 1 - 1) / 3.
    found = windows(a=[1, 2, 3], b=[2, 4, 6], c=[3, 2, 1])
    span = {"start": 1.0, "end": 4.0, "step": 1.0}
    assert metrics.window_correlation(found, ["a", "b", "c"], **span) == pytest.approx(-1 / 3)
    # At most 1 segment in use: a and b never change.
    assert metrics.window_correlation(found, ["a", "b"], largest=1.0, **span) == 0.0
    # Before the first change the window is 1: at 0, 1, 2 s a has 1, 1, 2 and c 1, 3, 2; r = 0.
    assert metrics.window_correlation(found, ["a", "c"], start=0.0, end=3.0, step=1.0) == pytest.approx(0.0)
    assert math.isnan(metrics.window_correlation(found, ["a"], **span))
