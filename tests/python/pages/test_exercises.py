"""The exercises: each opens a scenario in the playground, and a student finds what the hidden answer has."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from browser import chromium
from conftest import ROOT
from playground import PAGE as PLAYGROUND
from playground import need_engine, need_page, settled, until
from roamlab.gallery.answers import answer
from roamlab.gallery.questions import SEED, questions
from roamlab.running.run import simulate
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    import roamlab as rl

QUESTIONS = {each.name: each for each in questions(ROOT / "examples")}
PAGE = ROOT / "docs/exercises.md"


@cache
def _sections() -> dict[str, str]:
    """The text of each exercise, by the question of the gallery that its link opens."""
    _, *parts = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for part in parts:
        (opened,) = re.findall(r'href="play\.html#q=([\w-]+)\.0"', part)
        found[opened] = " ".join(part.split())
    return found


@cache
def _case(question: str, case: int = 0) -> rl.Scenario:
    asked = QUESTIONS[question]
    return asked.case(list(asked.cases)[case])


def _mbps(run: rl.Results, flow: str) -> float:
    return run.metric(f"flows.{flow}.goodput_bps") / 1e6


def _reno() -> str:
    one, two = (
        simulate(_case("reno-newreno").set("mobility.buffer.limit", f"{room} pkt"), SEED) for room in (46, 45)
    )
    lost = [run.metric("flows.download.dropped_pkts") for run in (one, two)]
    assert lost == [1, 2]
    assert [run.metric("flows.download.timeouts") for run in (one, two)] == [0, 1]
    sack = simulate(
        _case("reno-newreno").set_all(
            {"mobility.buffer.limit": "36 pkt", "flows.download.transport.variant": "sack"}
        ),
        SEED,
    )
    assert sack.metric("flows.download.timeouts") == 0
    return (
        "With room for 46 packets one is lost, and Reno has no timeout. With room for 45 two are lost, and the timer "
        f"expires. SACK loses {sack.metric('flows.download.dropped_pkts'):.0f} with room for 36, and has no timeout."
    )


def _call_ms(run: rl.Results) -> float:
    rows = run.columns("deliveries")
    own = rows.where("flow", "call") & (rows["time_ns"] > 6_000_000_000)
    return float(np.mean(rows["time_ns"][own] - rows["sent_ns"][own])) / 1e6


def _bloat() -> str:
    tail, codel = (
        simulate(_case("bufferbloat").set("cells.bs2.queue.kind", kind), SEED)
        for kind in ("droptail", "codel")
    )
    assert _call_ms(codel) < 0.3 * _call_ms(tail)
    assert _mbps(codel, "download") > 0.9 * _mbps(tail, "download")
    return (
        f"With room for 250 packets and `codel` the call's packets take {_call_ms(codel):.0f} ms on average from 6 s "
        f"on, and the download gets {_mbps(codel, 'download'):.2f} Mbit/s; with `droptail` it is "
        f"{_call_ms(tail):.0f} ms and {_mbps(tail, 'download'):.2f} Mbit/s."
    )


def _gap() -> str:
    gaps = (0.4, 0.8, 1.6)
    runs = [
        simulate(_case("gap-and-timer").set("radio.gap", f"{round(1000 * gap)} ms"), SEED) for gap in gaps
    ]
    silent = [run.metric("flows.download.disruption_s") for run in runs]
    more = [whole - gap for whole, gap in zip(silent, gaps, strict=True)]
    assert max(more) - min(more) < 0.01
    assert 1.0 < more[0] < 1.1
    assert [run.metric("flows.download.timeouts") for run in runs] == [1, 1, 2]
    return (
        f"With gaps of 0.4, 0.8 and 1.6 s the silence is {silent[0]:.2f}, {silent[1]:.2f} and {silent[2]:.2f} s: the "
        f"gap, and {more[0]:.2f} s more each time. In the longest gap the timer expires twice."
    )


def _forwarding() -> str:
    download = {
        "flows.stream.transport": {
            "kind": "tcp",
            "variant": "newreno",
            "window": "60 pkt",
            "segment": "1000 B",
        },
        "flows.stream.app": {"kind": "ftp", "start": "0.1 s"},
    }
    msf, ssf = (simulate(_case("forwarding-reorders", case).set_all(download), SEED) for case in (0, 1))
    assert [run.metric("flows.stream.dropped_pkts") for run in (msf, ssf)] == [0, 0]
    again = [run.metric("flows.stream.fast_retransmits") for run in (msf, ssf)]
    assert again[0] > 3 > again[1] == 0
    assert _mbps(ssf, "stream") > 2 * _mbps(msf, "stream")
    return (
        f"A TCP download takes late packets for lost ones: under MSF it has {again[0]:.0f} fast retransmits, though "
        f"no packet is lost, and gets {_mbps(msf, 'stream'):.2f} Mbit/s. Under SSF it has none and gets "
        f"{_mbps(ssf, 'stream'):.2f} Mbit/s."
    )


def _waiting(run: rl.Results) -> float:
    rows = run.columns("queue")
    times, packets = (rows[name][rows.where("queue", "bs2/air")] for name in ("time_ns", "packets"))
    after = times > 9_000_000_000
    return float(np.average(packets[after][:-1], weights=np.diff(times[after])))


def _aqm() -> str:
    ecn = {f"flows.{flow}.transport.ecn": True for flow in ("download", "other")}
    marked = simulate(_case("aqm-target", 1).set_all(ecn | {"cells.bs2.queue.mark_ecn": True}), SEED)
    lost = simulate(_case("aqm-target", 1), SEED)
    assert marked.metric("flows.download.dropped_pkts") == marked.metric("flows.other.dropped_pkts") == 0
    assert _waiting(marked) < 1.5 * _waiting(lost)
    assert lost.metric("flows.download.disruption_s") > 3 * marked.metric("flows.download.disruption_s")
    return (
        "With marks in place of losses nothing is lost, and in this run the download is silent for "
        f"{marked.metric('flows.download.disruption_s'):.2f} s instead of "
        f"{lost.metric('flows.download.disruption_s'):.2f} s. The queue stays as short."
    )


def _bbr() -> str:
    bbr = simulate(_case("bbr-move"), SEED)
    cubic = simulate(_case("bbr-move").set("flows.download.transport.variant", "cubic"), SEED)
    lost = [run.metric("flows.download.dropped_pkts") for run in (cubic, bbr)]
    assert _mbps(cubic, "download") > 1.1 * _mbps(bbr, "download")
    assert lost[0] > 20 > lost[1]
    rows = bbr.columns("deliveries")
    times, new = rows["time_ns"] / 1e9, rows["bytes"] * rows["fresh"] * 8 / 1e6
    before, after = (float(new[(times > begin) & (times < begin + 8)].sum()) / 8 for begin in (6.0, 17.0))
    assert after > 1.5 * before
    return (
        f"BBR gets {before:.1f} Mbit/s from 6 to 14 s and {after:.1f} Mbit/s from 17 to 25 s. CUBIC has no model of "
        f"the round trip: it gets {_mbps(cubic, 'download'):.2f} Mbit/s over the run, and loses {lost[0]:.0f} packets "
        f"where BBR loses {lost[1]:.0f}."
    )


FINDINGS: dict[str, Callable[[], str]] = {
    "reno-newreno": _reno,
    "bufferbloat": _bloat,
    "gap-and-timer": _gap,
    "forwarding-reorders": _forwarding,
    "aqm-target": _aqm,
    "bbr-move": _bbr,
}


def test_there_are_six_exercises_with_hidden_answers() -> None:
    assert list(_sections()) == list(FINDINGS)
    for text in _sections().values():
        task, hidden = text.split("<details><summary>What you should find</summary>")
        assert re.search(r"\* \*\*Change\*\*", task)
        assert hidden.count("</details>") == 1


@pytest.mark.parametrize("name", FINDINGS)
def test_a_student_finds_what_the_hidden_answer_says(name: str) -> None:
    """The sentence of the gallery, and that of the task beyond it, with the numbers of the current runs."""
    hidden = _sections()[name].split("<details>")[1]
    assert answer(QUESTIONS[name], repetitions=1).sentence in hidden
    found = FINDINGS[name]()
    assert found in hidden


@pytest.mark.parametrize("name", list(FINDINGS))
def test_a_link_opens_the_scenario_and_hides_the_answer(name: str) -> None:
    """The page runs it: a student finds the scenario of the first case, its film and a folded answer."""
    need_engine()
    need_page()
    asked = QUESTIONS[name]
    with chromium() as browser:
        page = browser.new_page()
        page.goto(f"{PLAYGROUND.resolve().as_uri()}#q={name}.0")
        settled(page)
        until(
            page,
            "question => document.querySelector('#asked > p').textContent === question",
            arg=asked.question,
        )
        first = asked.scenario.set_all(asked.cases[next(iter(asked.cases))])
        until(page, "playground.editor.text.length > 0")
        assert Scenario(page.evaluate("playground.editor.text")).parameters == first.parameters
        assert not page.is_visible("#asked details p")
