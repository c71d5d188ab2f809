"""The sender's part in a stall, on records made by hand, and in runs of today's senders in which it is planted."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

import planted_today
from hand_made import FakeResults, ns
from roamlab.causes.senders import Part, _control, parts
from roamlab.causes.stalls import Stall
from roamlab.records.slow import SlowPeriod

_S = 1_000_000_000
_STALL = Stall("f", _S, 2 * _S, _S // 10, cut_off=False)
_SLOW = Stall("f", _S, 3 * _S, _S // 10, cut_off=False, is_slow=True)


def _record(
    events: dict[float, str], kind: str = "tcp", sent: float = 1.95, later: float = 0.05
) -> FakeResults:
    """A flow that is silent from 1 to 2 s. The data that ends it was sent at `sent`; later data takes `later`."""
    times, sends = [0.5, 1.0, 2.0, 2.5], [0.45, 0.95, sent, 2.5 - later]
    flow = {"name": "f", "transport": {"kind": "tcp", "variant": "bbr"}}
    return FakeResults(
        SimpleNamespace(parameters={"flows": [flow]}),
        flows=pl.DataFrame({"flow": ["f"], "kind": [kind]}),
        deliveries=pl.DataFrame(
            {"time_ns": ns(*times), "sent_ns": ns(*sends), "flow": ["f"] * 4, "fresh": [True] * 4}
        ),
        tcp=pl.DataFrame(
            {"time_ns": ns(*events), "flow": ["f"] * len(events), "event": [*events.values()]},
            schema={"time_ns": pl.Int64, "flow": pl.String, "event": pl.String},
        ),
        drops=pl.DataFrame({"time_ns": [], "flow": []}, schema={"time_ns": pl.Int64, "flow": pl.String}),
    )


@pytest.mark.parametrize(
    ("events", "kind", "expected"),
    [
        ({1.95: "tail-loss-probe"}, "tcp", [("tail loss probe", 1.95, "ended by")]),
        ({1.95: "rack-mark"}, "tcp", [("RACK mark", 1.95, "ended by")]),
        # Data that was sent on an acknowledgement ended it. The acknowledgement of that data found the losses.
        ({2.05: "rack-mark"}, "tcp", [("RACK mark", 2.05, "losses found by")]),
        ({2.5: "rack-mark"}, "tcp", []),
        # The acknowledgement of the probe's data found the losses.
        (
            {1.95: "tail-loss-probe", 2.05: "rack-mark"},
            "tcp",
            [("tail loss probe", 1.95, "ended by"), ("RACK mark", 2.05, "losses found by")],
        ),
        # A suspect names it.
        ({1.95: "timeout"}, "tcp", []),
        ({1.95: "timeout"}, "quic", [("probe timeout", 1.95, "ended by")]),
        # One that did not send what came.
        ({1.5: "timeout"}, "quic", []),
        (
            {1.95: "timeout", 2.02: "persistent-congestion"},
            "quic",
            [("probe timeout", 1.95, "ended by"), ("persistent congestion", 2.02, "kept slow by")],
        ),
    ],
)
def test_what_ends_a_stall(
    events: dict[float, str], kind: str, expected: list[tuple[str, float, str]]
) -> None:
    found = parts(_record(events, kind), _STALL, None)  # type: ignore[arg-type]
    assert found == [Part(what, round(at * _S), role) for what, at, role in expected]


@pytest.mark.parametrize(("later", "told"), [(0.05, False), (0.09, False), (0.11, True)])
def test_bbr_has_the_round_trip_time_of_the_shorter_path(later: float, told: bool) -> None:
    record = _record({}, sent=2.0 - later, later=later)
    slow = SlowPeriod("f", _S, 3 * _S, 1e6, 1e5, cut_off=False)
    found = parts(record, _SLOW, slow)  # type: ignore[arg-type]
    assert found == ([Part("stale min_rtt", 2 * _S, "kept slow by")] if told else [])
    record.manifest.parameters["flows"][0]["transport"]["variant"] = "cubic"
    assert parts(record, _SLOW, slow) == []  # type: ignore[arg-type]


def test_planted_parts_are_named() -> None:
    told, right = planted_today.measure(len(planted_today.KINDS))
    assert right == len(planted_today.KINDS), told


@pytest.mark.parametrize(
    ("profile", "transport", "control"),
    [
        ("rfc", {"kind": "tcp"}, "reno"),
        ("linux-6", {"kind": "tcp"}, "cubic"),
        ("linux-6-bbr", {"kind": "tcp"}, "bbr"),
        ("linux-6-bbr", {"kind": "quic"}, "reno"),
        ("linux-6-bbr", {"kind": "tcp", "variant": "sack"}, "sack"),
        ("rfc", {"kind": "quic", "congestion_control": {"kind": "bbr3"}}, "bbr3"),
    ],
)
def test_a_flow_that_names_no_congestion_control_has_that_of_its_profile(
    profile: str, transport: dict[str, object], control: str
) -> None:
    parameters = {"run": {"profile": profile}, "flows": [{"name": "download", "transport": transport}]}
    results = SimpleNamespace(manifest=SimpleNamespace(parameters=parameters))
    assert _control(results, "download") == control  # type: ignore[arg-type]
