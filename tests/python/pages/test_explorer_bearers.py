"""The explorer's lane of a numbered radio bearer: waits for a packet, forwarding, path switches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from browser import chromium, shown
from conftest import ROOT
from nr_handover import REESTABLISHED, STREAM, handover
from roamlab.causes.removal import recorded
from roamlab.explorer import explorer_page as explorer
from roamlab.running.run import run
from roamlab.scenarios.scenario import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from roamlab.records.results import Results

SPANS = "(run => spansOf(run, run.hosts[0]))(explorer.runs[0])"
TITLES = "explorer.columns[0].lanes.map((lane) => lane.name)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of this module."""
    with chromium() as started:
        yield started


def _page(results: Results, folder: Path) -> Path:
    made = folder / "run.html"
    made.write_text(explorer.html([results]), encoding="utf-8")
    return made


def _spans(page: Page) -> dict[str, list[dict[str, Any]]]:
    page.wait_for_selector("html[data-ready]")
    found: dict[str, list[dict[str, Any]]] = {}
    for span in page.evaluate(SPANS):
        found.setdefault(span["kind"], []).append(span)
    return found


def _phase(results: Results, name: str) -> int:
    rows = results.handovers.filter((pl.col("phase").cast(pl.String) == name) & (pl.col("visit") == 1))
    return int(rows["time_ns"][0])


def test_spans_are_those_of_the_tables(browser: Browser, tmp_path: Path) -> None:
    """A discard timer at the old base station leaves a gap: t-Reordering expires in the new cell."""
    bearer = {"discard_timer": "300 ms", "t_reordering": "100 ms", "sn_bits": 12}
    scenario = handover("Xn", {**REESTABLISHED, "mobility.bearer": bearer}, flow=STREAM)
    results = run(recorded(scenario))
    (gap,) = results.table("bearer_gaps").to_dicts()
    assert (gap["until_ns"] - gap["time_ns"], gap["expired"]) == (100_000_000, True)
    with shown(browser, _page(results, tmp_path)) as page:
        spans = _spans(page)
        assert set(spans) == {"expired", "forwarding", "switch"}
        (waits,), (forwarding,), (switch,) = spans["expired"], spans["forwarding"], spans["switch"]
        assert (waits["begin"], waits["end"]) == (gap["time_ns"], gap["until_ns"])
        assert waits["words"] == f"mover waits for packet {gap['number']}"
        sent_on = results.releases.filter(pl.col("to").cast(pl.String) == "gnb2")
        assert forwarding["begin"] == sent_on["time_ns"].min()
        assert forwarding["end"] == _phase(results, "order-restored")
        assert forwarding["words"] == f"gnb1 to gnb2: {sent_on.height} pkt"
        message = pl.col("message").cast(pl.String)
        request = results.signalling.filter(message == "ng-path-switch-request").sort("id")
        assert switch["begin"] == request["sent_ns"][-1]
        assert switch["at"] == _phase(results, "path-switched")
        assert switch["end"] == _phase(results, "path-switch-acknowledged")
        assert "Bearer of mover" in page.evaluate(TITLES)
        # A click on the red bar tells what it is.
        lane = "explorer.columns[0].lanes.find((lane) => lane.name === 'Bearer of mover')"
        middle = (waits["begin"] + waits["end"]) / 2
        hit = page.evaluate(f"{lane}.hit(explorer.columns[0].x.pixel({middle}), 12, explorer.columns[0].x)")
        assert hit["title"] == f"Bearer of mover: {waits['words']}"
        assert "t-Reordering expires" in hit["rows"][1]
        assert waits["words"] in page.evaluate(f"{lane}.at({middle})")


def test_a_late_switch_over_n2_is_a_long_span(browser: Browser, tmp_path: Path) -> None:
    """The target's notice is the request. Without an acknowledgement to it the span ends at the switch."""
    scenario = handover(
        "N2, indirect", {"mobility.path_switch": "500 ms", "mobility.release_after": "2 s"}, flow=STREAM
    )
    results = run(recorded(scenario))
    with shown(browser, _page(results, tmp_path)) as page:
        (switch,) = _spans(page)["switch"]
        assert switch["end"] == switch["at"] == _phase(results, "path-switched")
        assert 0.5e9 < switch["end"] - switch["begin"] < 0.51e9
        assert "ng-handover-notify" in switch["rows"][0]


def test_a_packet_that_comes_ends_the_wait(browser: Browser, tmp_path: Path) -> None:
    """RLC repeats a packet that is lost on the air: those behind it wait until it has come."""
    scenario = handover("Xn", {"cells.gnb2.loss": 0.02}, flow=STREAM)
    results = run(recorded(scenario))
    table = results.table("bearer_gaps")
    assert table.height > 5
    assert not table["expired"].any()
    with shown(browser, _page(results, tmp_path)) as page:
        assert [span["begin"] for span in _spans(page)["gap"]] == table["time_ns"].to_list()


def test_a_protocol_without_bearers_has_no_such_lane(browser: Browser, tmp_path: Path) -> None:
    results = run(load(ROOT / "examples/handover.toml").set("run.duration", "11 s"))
    with shown(browser, _page(results, tmp_path)) as page:
        assert _spans(page) == {}
        assert not [name for name in page.evaluate(TITLES) if name.startswith("Bearer")]
