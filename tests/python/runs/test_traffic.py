"""Every application with every mobility protocol; and recorded links, from files."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import roamlab as rl
from conftest import ROOT
from roamlab import _roamlab
from roamlab.records import experience

if TYPE_CHECKING:
    from roamlab.records.results import Results

_TRACES = ROOT / "crates/world/tests/links/recorded"

_PROTOCOLS: dict[str, dict[str, Any]] = {
    "mobile-ip": {"beacon_interval": "50 ms"},
    "lte-x2": {"mme": "mme"},
    "nr": {"amf": "mme"},
    "cellular-ip": {"handoff": "hard"},
    "hawaii": {"scheme": "unf"},
    "mandm": {"trigger": {"by": "source"}},
    "fmipv6": {"trigger": {"by": "source"}},
    "bcmp": {"anchors": ["gw"]},
}
_TCP = {"kind": "tcp", "variant": "newreno", "segment": "1000 B"}
_APPS: dict[str, tuple[dict[str, Any], bool]] = {
    "ftp": ({"size": "300 kB"}, True),
    "cbr": ({"rate": "80 kbit/s", "packet": "200 B"}, False),
    "voip": ({"talkspurts": {"on": "500 ms", "off": "500 ms"}}, False),
    "video": ({}, False),
    "video-trace": ({"file": "film.dat"}, False),
    "conference": ({"rate": "128 kbit/s", "frame_rate": 10.0}, False),
    "web": ({"think": "300 ms", "objects": 2}, True),
    "dash": ({"segment": "1 s", "startup": "1 s"}, True),
}


def _link(left: str, right: str, delay: str = "2 ms") -> dict[str, Any]:
    return {"between": [left, right], "rate": "100 Mbit/s", "delay": delay}


def _moving(protocol: str) -> dict[str, Any]:
    """A host that moves once at 3 s, below a gateway, with every application from and to it."""
    air = {"rate": "8 Mbit/s", "delay": "3 ms", "queue": {"kind": "droptail", "limit": "100 pkt"}}
    backhaul = {"rate": "100 Mbit/s", "delay": "1 ms"}
    cells = {f"bs{n}": {"router": f"ar{n}", "backhaul": backhaul, **air} for n in (1, 2)}
    radio: dict[str, Any] = {"kind": "hard", "gap": "20 ms"}
    mobility = {"kind": protocol, **_PROTOCOLS[protocol]}
    if protocol in ("lte-x2", "nr"):
        radio = {"kind": "hard", "measurement": {"period": "10 ms"}}
    if protocol in ("cellular-ip", "hawaii", "mandm"):
        mobility["domain"] = {"gateway": "gw"}
    flows = [
        {
            "name": name,
            "path": ["ch", "mh"],
            "app": {"kind": name, "start": "1 s", **app},
            "two_way": name in ("voip", "conference"),
            **({"transport": _TCP} if tcp else {}),
        }
        for name, (app, tcp) in _APPS.items()
    ]
    return {
        "run": {"duration": "6 s", "profile": "rfc"},
        "links": [
            _link("ch", "gw", "10 ms"),
            _link("gw", "ar1"),
            _link("gw", "ar2"),
            _link("ar1", "ar2"),
            _link("gw", "mme"),
        ],
        "cells": cells,
        "radio": radio,
        "mobility": mobility,
        "hosts": [
            {
                "name": "mh",
                "home": "gw",
                "visits": [{"cell": "bs1", "at": "0 s"}, {"cell": "bs2", "at": "3 s"}],
            }
        ],
        "flows": flows,
    }


_FILM = "".join(f"{40 * at} {'I' if at % 12 == 0 else 'P'} {900 if at % 12 else 4000}\n" for at in range(30))


@pytest.mark.parametrize("protocol", _PROTOCOLS)
def test_every_application_goes_with_every_mobility_protocol(protocol: str, tmp_path: Path) -> None:
    (tmp_path / "film.dat").write_text(_FILM)
    scenario = rl.Scenario.from_dict(_moving(protocol), str(tmp_path / "x.toml"))
    results = rl.run(scenario, seed=1)
    assert results.handovers.height > 0
    rows = results.columns("deliveries")
    for flow in map(str, results.flows["flow"]):
        times = rows["time_ns"][rows.where("flow", flow)] / 1e9
        # Before the host moves and after: no host is cut off permanently. A file of 300 kB may be through by
        # then.
        assert (times < 3.0).any(), flow
        assert (times > 3.5).any() or flow == "ftp", flow
    assert experience.completion_s(results, "ftp") > 0.2
    assert 1.0 < experience.voice(results, "voip").mos < 4.5
    assert experience.page_loads_s(results, "web").size > 2
    assert experience.frame_loss_ratio(results, "video") < 0.2
    assert experience.frame_delays_s(results, "video-trace").size == 125
    assert experience.player(results, "dash").startup_s > 0.0
    assert math.isnan(experience.voice(results, "cbr").r)


def _saturated(down: Path | str, up: Path | str, seconds: int, packets: int) -> dict[str, Any]:
    return {
        "run": {"duration": f"{seconds} s"},
        "links": [
            {
                "between": ["a", "b"],
                "rate": {"trace": str(down), "reverse": str(up)},
                "delay": "0 s",
                "queue": {"kind": "droptail", "limit": "1000000 pkt"},
                "reverse_queue": {"kind": "droptail", "limit": "1000000 pkt"},
            }
        ],
        "flows": [
            {
                "name": "load",
                "two_way": True,
                "path": ["a", "b"],
                "app": {"kind": "cbr", "rate": "200 Mbit/s", "packet": "1500 B", "packets": f"{packets} pkt"},
            }
        ],
        "record": {"queues": []},
    }


def _arrivals_ms(results: Results, flow: str) -> Any:
    rows = results.columns("deliveries")
    return rows["time_ns"][rows.where("flow", flow)] / 1e6


def test_paths_of_traces_are_relative_to_the_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    (folder / "walk.down").write_text("5\n10\n")
    monkeypatch.chdir(tmp_path)
    scenario = rl.Scenario.from_dict(_saturated("walk.down", "walk.down", 1, 1000), "deep/x.toml")
    assert scenario.parameters["links"][0]["rate"]["trace"]["path"] == "walk.down"
    assert len(scenario.parameters["links"][0]["rate"]["trace"]["digest"]) == 16
    changed = scenario.set("links.0.delay", "1 ms")
    assert _arrivals_ms(rl.run(changed, seed=1), "load")[:3].tolist() == [6.0, 11.0, 16.0]
    # Another content is another scenario, though its text is the same.
    (folder / "walk.down").write_text("4\n10\n")
    again = rl.Scenario(scenario.text, "deep/x.toml")
    assert again.resolved != scenario.resolved
    data = tmp_path / "data"
    data.mkdir()
    (folder / "walk.down").rename(data / "walk.down")
    with pytest.raises(_roamlab.ScenarioError, match=r"cannot be read: there is none"):
        rl.Scenario.from_dict(scenario.to_dict(), "deep/x.toml")
    monkeypatch.setenv("ROAMLAB_DATA", str(data))
    assert rl.Scenario.from_dict(scenario.to_dict(), "deep/x.toml").resolved == again.resolved


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("5\n4\n", "walk.down:2:1: 4 ms is earlier than the line before, 5 ms; expected times in order"),
        ("5\n-1\n", "walk.down:2:1: the time is negative"),
        ("", 'the file "walk.down" cannot be read: it is empty'),
        ("5\nmany\n", "walk.down:2:1: this is not a time"),
    ],
)
def test_a_bad_trace_is_refused_by_file_and_line(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "walk.down").write_text(text)
    scenario = tmp_path / "x.toml"
    scenario.write_text(
        '[run]\nduration = "1 s"\n[[links]]\nbetween = ["a", "b"]\ndelay = "1 ms"\nrate = { trace = "walk.down" }\n'
    )
    command = [str(Path(sys.executable).parent / "roamlab"), "check", str(scenario)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2, found.stderr
    assert said in found.stderr
    assert "Traceback" not in found.stderr


def _opportunities(path: Path, end_ms: float) -> Any:
    times = np.loadtxt(path, dtype=np.int64)
    rounds = int(end_ms // times[-1]) + 1
    every = (times + times[-1] * np.arange(rounds)[:, None]).ravel()
    return every[(every > 0) & (every < end_ms)]


_DATA = os.environ.get("ROAMLAB_DATA", "")
_RECORDED = sorted(Path(_DATA, "traces", "cellular").glob("*.down")) if _DATA else []


@pytest.mark.parametrize("down", [_TRACES / "walk.down", *_RECORDED], ids=lambda path: path.stem)
def test_a_saturated_link_delivers_the_whole_trace(down: Path) -> None:
    up = down.with_suffix(".up")
    seconds = math.ceil(1.05e-3 * max(np.loadtxt(path, dtype=np.int64)[-1] for path in (down, up)))
    due = {path: _opportunities(path, 1e3 * seconds) for path in (down, up)}
    # As many packets as there are opportunities, and one: the link never idles, and drops nothing.
    packets = max(times.size for times in due.values()) + 1
    results = rl.run(rl.Scenario.from_dict(_saturated(down, up, seconds, packets), "x"), seed=1)
    for flow, path in (("load", down), ("load-back", up)):
        assert np.array_equal(_arrivals_ms(results, flow), due[path]), path.name
