"""Captures in the explorer and in the playground: they show the packets, and the sentences of `roamlab why`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from browser import NARROW, WIDE, check_access, chromium, shown
from capture_files import called, pcap
from conftest import ROOT
from playground import PAGE, need_engine, need_page, settled, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

EXAMPLE = ROOT / "examples/captures/captured-download.pcapng.gz"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of this module that a worker runs."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    """The answer of `roamlab why` about the example."""
    told: dict[str, Any] = json.loads(called("why", EXAMPLE, "--json").out)
    return told


def _sentences(flow: dict[str, Any]) -> list[str]:
    return [*flow["sentences"], *(spike["sentence"] for spike in flow["spikes"])]


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (NARROW, True)])
def test_the_explorer_draws_every_packet_of_a_capture(
    browser: Browser, answer: dict[str, Any], tmp_path: Path, size: tuple[int, int], *, dark: bool
) -> None:
    page = tmp_path / "capture.html"
    done = called("explore", EXAMPLE, "--out", page)
    assert (done.code, done.err) == (0, "")
    (flow,) = answer["flows"]
    (stall,) = flow["stalls"]
    with shown(browser, page, size, dark=dark) as opened:
        opened.wait_for_selector("html[data-ready]")
        tables = "explorer.runs[0].tables"
        kinds = opened.evaluate(f"Array.from({tables}.packets.column('kind'))")
        data, acks = opened.evaluate(f"['data', 'ack'].map((word) => {tables}.packets.code('kind', word))")
        assert kinds.count(data) == flow["packets"][0] - 2, "without the SYN and the first ACK"
        assert 0 < kinds.count(acks) <= flow["packets"][1]
        assert opened.evaluate(f"{tables}.timeouts.rows") == len(flow["timeouts"])
        longest = opened.evaluate(f"Math.max(...{tables}.trips.column('rtt_ns'))") / 1e9
        assert longest == pytest.approx(flow["trips"]["largest_s"], abs=1e-6)
        names = opened.evaluate("explorer.columns[0].lanes.map((lane) => lane.name)")
        assert [name.split(": ")[1] for name in names] == [
            "time-sequence diagram",
            "outstanding data",
            "round trip",
        ]
        opened.click("#stops button.stall")
        for sentence in stall["sentences"]:
            assert sentence in opened.inner_text("#detail")
        assert stall["sentences"][0] in opened.inner_text("h1")
        check_access(opened)


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    empty = pcap(tmp_path / "empty.pcap")
    log = tmp_path / "server.qlog"
    log.write_text('{"qlog_version": "0.3"}')
    for words, part in (
        ([EXAMPLE, "--from", "1"], "a capture is drawn as a whole"),
        ([log], "`roamlab why"),
        ([empty], "none is TCP with data"),
        ([EXAMPLE, EXAMPLE, EXAMPLE], "these are 3"),
    ):
        done = called("explore", *words, "--out", out)
        assert done.code == 2
        assert part in done.err
        assert "Traceback" not in done.err
    assert not out.exists()


@pytest.mark.parametrize(("size", "dark"), [(WIDE, True), (NARROW, False)])
def test_the_playground_explains_a_capture_as_the_command_does(
    browser: Browser, answer: dict[str, Any], tmp_path: Path, size: tuple[int, int], *, dark: bool
) -> None:
    need_engine()
    need_page()
    (flow,) = answer["flows"]
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(b"this is no capture")
    asked: list[str] = []
    with shown(browser, PAGE, size, dark=dark, reduced_motion="reduce") as page:
        settled(page)
        page.on("request", lambda request: asked.append(request.url))
        address = page.evaluate("location.href")
        page.set_input_files("#capture", EXAMPLE)
        until(page, "document.body.dataset.captured === 'yes'")
        told = page.inner_text("#captured")
        for sentence in _sentences(flow):
            assert sentence in told
        assert flow["stalls"][0]["sentences"][0] in page.inner_text("#headline")
        page.click("#stops button.stall")
        for sentence in flow["stalls"][0]["sentences"]:
            assert sentence in page.inner_text("#detail")
        assert not page.is_visible("#film")
        assert not page.is_visible("#controls")
        check_access(page)
        page.set_input_files("#capture", broken)
        until(page, "document.getElementById('status').dataset.bad === 'yes'")
        assert "broken.pcap: packet 0, byte 0" in page.inner_text("#status")
        assert page.evaluate("location.href") == address
        assert asked == []
        page.select_option("#examples", index=1)
        until(
            page,
            "document.body.dataset.captured === undefined && document.getElementById('result').dataset.stale === 'no'",
        )
        assert page.is_visible("#controls")
        assert not page.is_visible("#captured")
