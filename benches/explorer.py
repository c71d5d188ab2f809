#!/usr/bin/env python3
"""The run explorer with a million points, in headless Chromium: its file, the first paint, frames a second in a zoom.

Frames are those that Chromium's own trace reports as drawn. Needs the packages of `requirements-dev.lock` and
Chromium.
"""

import json
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

from browser import chromium
from roamlab.causes import explain
from roamlab.explorer import explorer_page as explorer
from roamlab.records.constants import EXPLORED
from roamlab.running.run import run
from roamlab.scenarios.scenario import load

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/handover.toml"
FAST = {
    "cells.bs1.rate": "60 Mbit/s",
    "cells.bs2.rate": "60 Mbit/s",
    "cells.bs1.backhaul.rate": "100 Mbit/s",
    "cells.bs2.backhaul.rate": "100 Mbit/s",
    "cells.bs1.queue.limit": "2000 pkt",
    "flows.0.transport.window": "2000 pkt",
    **{f"links.{link}.rate": "100 Mbit/s" for link in range(6)},
}
SECONDS, REPEATS = 4, 5
# Zooms in and out by the frame, through a factor of 300 and back.
ZOOM = """(seconds) => new Promise((done) => {
  const begin = performance.now();
  const times = [];
  const middle = 10.1e9;
  const frame = (now) => {
    times.push(now);
    const passed = (now - begin) / 1000;
    if (passed > seconds) return done(times);
    const span = 40e9 * 300 ** -((1 - Math.cos(passed * Math.PI)) / 2);
    explorer.show(middle - span / 4, middle + 3 * span / 4);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})"""


def written(scenario, folder: Path, name: str) -> tuple[Path, int, float]:
    """The page of a run, how many rows it holds, and how many seconds it took to make."""
    results, _ = explain.with_record(run(scenario, 1))
    begin = time.perf_counter()
    text = explorer.html([results])
    took = time.perf_counter() - begin
    made = folder / name
    made.write_text(text, encoding="utf-8")
    rows = sum(results.columns(table).height for table in EXPLORED)
    return made, rows, took


def first_paint(browser, file: Path) -> tuple[float, float]:
    """When the page is painted first, and when its lanes are, in ms."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    ready = page.evaluate("performance.now()")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    page.close()
    return paint, ready


def frames(browser, file: Path, folder: Path) -> tuple[float, float]:
    """Frames a second that Chromium drew while the page zoomed, and the longest time between two, in ms."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    page.evaluate(ZOOM, 1)
    trace = folder / "trace.json"
    categories = [
        "devtools.timeline",
        "disabled-by-default-devtools.timeline.frame",
        "devtools.timeline.frame",
    ]
    browser.start_tracing(page=page, path=trace, categories=categories)
    page.evaluate(ZOOM, SECONDS)
    browser.stop_tracing()
    events = json.loads(trace.read_bytes())["traceEvents"]
    drawn = sorted({event["ts"] for event in events if event["name"] == "DrawFrame"})
    page.close()
    gaps = [(after - before) / 1000 for before, after in pairwise(drawn)]
    return (len(drawn) - 1) / ((drawn[-1] - drawn[0]) / 1e6), max(gaps)


def main() -> None:
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        for title, scenario in (
            ("example, 40 s", load(EXAMPLE)),
            ("the same at 60 Mbit/s", load(EXAMPLE).set_all(FAST)),
        ):
            file, rows, took = written(scenario, folder, "page.html")
            paints = [first_paint(browser, file) for _ in range(REPEATS)]
            rates = [frames(browser, file, folder) for _ in range(REPEATS)]
            print(f"{title}: {rows} rows, {file.stat().st_size / 1e6:.2f} MB, made in {took:.1f} s")
            paint, lanes = (median(times) for times in zip(*paints, strict=True))
            print(f"  first paint {paint:.0f} ms, lanes {lanes:.0f} ms")
            drawn, gaps = zip(*rates, strict=True)
            print(f"  {median(drawn):.1f} frames a second ({min(drawn):.1f} to {max(drawn):.1f})", end="")
            print(f", longest gap {max(gaps):.0f} ms")


if __name__ == "__main__":
    main()
