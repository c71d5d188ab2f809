"""Sequence charts of the handovers of 5G: one of each procedure, as docs/models/nr.md shows it.

`python tests/python/pages/test_nr_charts.py` writes the pictures of that page again.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from conftest import ROOT
from nr_handover import REESTABLISHED, handover
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario
from roamlab.showing.chart import Chart, chart
from roamlab.showing.chart_svg import svg

PICTURES = ROOT / "docs/img"
PAGE = ROOT / "docs/models/nr.md"

_RARE = {
    "hysteresis_db": 0.0,
    "filter_coefficient": 0,
    "time_to_trigger": "0 ms",
    "report_interval": "10240 ms",
}
_CORE = ("amf", "smf", "upf")
_GNBS = ("ue", "gnb1", "gnb2", *_CORE)
_DUS = ("ue", "du1", "du2", "cu")

PREPARED = ["xn-handover-request", "xn-handover-request-acknowledge"]
SWITCHED = [
    "ng-path-switch-request",
    "sbi-update-sm-context-request",
    "n4-session-modification-request",
    "ng-path-switch-request-acknowledge",
    "xn-ue-context-release",
]
NOTIFIED = ["ng-handover-notify", "n4-session-modification-request", "ng-ue-context-release-command"]
REQUIRED = [
    "ng-handover-required",
    "ng-handover-request",
    "ng-handover-request-acknowledge",
    "ng-handover-command",
]
COMMANDED = ["rrc-reconfiguration", "rrc-reconfiguration-complete"]

PROCEDURES: dict[str, tuple[str, dict[str, Any], tuple[str, ...], list[str]]] = {
    "xn": ("Xn", {}, _GNBS, [*PREPARED, *COMMANDED, *SWITCHED]),
    "n2-none": ("N2, no forwarding", {}, _GNBS, [*REQUIRED, *COMMANDED, *NOTIFIED]),
    "n2-direct": ("N2, direct", {}, _GNBS, [*REQUIRED, *COMMANDED, *NOTIFIED]),
    "n2-indirect": (
        "N2, indirect",
        {},
        _GNBS,
        [*REQUIRED[:3], "n4-session-modification-request", *REQUIRED[3:], *COMMANDED, *NOTIFIED],
    ),
    "conditional-late": (
        "CHO, late",
        {},
        _GNBS,
        [
            *PREPARED,
            "rrc-conditional-reconfiguration",
            COMMANDED[1],
            *SWITCHED[:1],
            "xn-handover-success",
            *SWITCHED[1:],
        ],
    ),
    "conditional-early": (
        "CHO, early",
        {},
        _GNBS,
        [
            *PREPARED,
            "rrc-conditional-reconfiguration",
            "xn-early-status-transfer",
            COMMANDED[1],
            "xn-handover-success",
            "xn-sn-status-transfer",
        ],
    ),
    "daps": (
        "DAPS",
        {},
        _GNBS,
        [*PREPARED, *COMMANDED, "xn-handover-success", "xn-sn-status-transfer", "rrc-source-release"],
    ),
    "reestablishment": (
        "Xn",
        REESTABLISHED,
        _GNBS,
        [
            "rrc-reestablishment-request",
            "xn-retrieve-ue-context-request",
            "xn-retrieve-ue-context-response",
            "rrc-reestablishment",
            "rrc-reestablishment-complete",
            *SWITCHED[:1],
            "rrc-resume-reconfiguration",
            *SWITCHED[1:],
        ],
    ),
    "intra-cu": (
        "Xn",
        {"mobility.central_units": ["r"]},
        _DUS,
        [
            "f1-ue-context-setup-request",
            "f1-ue-context-modification-request",
            *COMMANDED,
            "f1-ue-context-release-command",
        ],
    ),
    "ltm": (
        "Xn",
        {
            "mobility.central_units": ["r"],
            "mobility.measurement": {"offset_db": -10.0, **_RARE},
            "mobility.ltm": {"event": {"offset_db": 0.0}},
        },
        _DUS,
        [
            "f1-ue-context-setup-request",
            "rrc-ltm-configuration",
            "pdcch-order",
            "ltm-random-access-preamble",
            "f1-du-cu-ta-information-transfer",
            "f1-cu-du-ta-information-transfer",
            "l1-measurement-report",
            "mac-cell-switch-command",
            "f1-cu-du-cell-switch-notification",
            "rrc-reconfiguration-complete",
            "mac-uplink-grant",
        ],
    ),
}
"""The procedure of the study and changes to it, the nodes from left to right, and some messages in their order."""


@cache
def _chart(name: str) -> Chart:
    """The chart of the study's network, with the move at 1.5 s."""
    procedure, changes, nodes, _ = PROCEDURES[name]
    text = handover(procedure, changes).text.replace('"mover"', '"ue"')
    if nodes == _DUS:
        text = text.replace('"r"', '"cu"').replace("gnb", "du")
    return chart(run(Scenario(text, name)))


@pytest.mark.parametrize("name", PROCEDURES)
def test_the_columns_are_in_the_order_of_the_figures_of_3gpp(name: str) -> None:
    """expect: UE, source, target, the central unit or AMF, SMF and UPF."""
    assert _chart(name).nodes == PROCEDURES[name][2]


@pytest.mark.parametrize("name", PROCEDURES)
def test_the_messages_are_in_the_order_of_ts_38_300_and_ts_23_502(name: str) -> None:
    made = _chart(name)
    assert all(message.arrived_ns is not None for message in made.messages)
    names = iter(message.name for message in made.messages)
    for wanted in PROCEDURES[name][3]:
        assert wanted in names, f"{wanted} is missing, or too early"


@pytest.mark.parametrize("name", PROCEDURES)
def test_the_page_shows_the_drawing_of_this_run(name: str) -> None:
    file = f"nr-{name}.svg"
    assert (PICTURES / file).read_text(encoding="utf-8") == svg(_chart(name))
    assert f"](../img/{file})" in PAGE.read_text(encoding="utf-8")


def test_regular_reports_are_counted_and_do_not_lengthen_the_chart() -> None:
    """Distributed units report each 10 ms: of a sender the first and the last report are drawn."""
    made = _chart("ltm")
    reports = [message for message in made.messages if message.name == "f1u-delivery-status"]
    assert [message.source for message in reports] == ["du1", "du2"]
    assert made.regular > 10
    assert f"left out: {made.regular} regular reports" in made.text()
    assert f"{made.regular} regular reports" in svg(made)


def test_messages_from_a_node_to_itself_are_counted() -> None:
    """AMF and SMF may be at the UPF: a line from a node to itself would be a point."""
    made = chart(run(handover("Xn", {"mobility": {"kind": "nr"}})))
    own = [message for message in made.messages if message.source == message.destination]
    assert [message.name for message in own[:2]] == [
        "sbi-update-sm-context-request",
        "n4-session-modification-request",
    ]
    drawn = svg(made)
    assert f"Not drawn: {len(own)} messages from a node to itself" in drawn
    assert 'data-name="sbi-update-sm-context-request"' not in drawn
    assert 'data-name="ng-path-switch-request"' in drawn


if __name__ == "__main__":
    for each in PROCEDURES:
        (PICTURES / f"nr-{each}.svg").write_text(svg(_chart(each)), encoding="utf-8")
