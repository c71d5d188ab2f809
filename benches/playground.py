#!/usr/bin/env python3
"""The playground in headless Chromium: its file, the first run, a slider's new picture, frames a second of the film.

Needs `make playground`, the packages of `requirements-dev.lock` and Chromium. Prints the load of the machine, and the
processor time of Chromium's renderer for each figure: on a busy machine only that is a measure.
"""

import os
import time
from pathlib import Path
from statistics import median, quantiles

from browser import chromium

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "python/roamlab/playground/playground.html"
REPEATS, MOVES, FRAMES = 5, 40, 240
# From the slider's event to the frame in which the new picture is.
TOOK = "Number(document.body.dataset.took)"
FILM = """(count) => new Promise((done) => {
  playground.film.play(true);
  const times = [];
  const frame = (now) => {
    times.push(now);
    if (times.length <= count) return requestAnimationFrame(frame);
    playground.film.play(false);
    done((1000 * count) / (times.at(-1) - times[0]));
  };
  requestAnimationFrame(frame);
})"""


def renderer_ms() -> float:
    """Processor time of all renderers of this program's browser, in ms."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
            if b"--type=renderer" in words and _is_ours(folder):
                ticks += sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:13]))
        except OSError:
            continue
    return 1000 * ticks / os.sysconf("SC_CLK_TCK")


def _is_ours(folder: Path) -> bool:
    """True if a process descends from this one."""
    while folder.name not in ("0", "1"):
        parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
        if int(parent) == os.getpid():
            return True
        folder = folder.parent / parent
    return False


def opened(browser) -> tuple[object, float]:
    """A page, and how many seconds it took until its first run was shown."""
    page = browser.new_page()
    begin = time.perf_counter()
    page.goto(PAGE.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    return page, time.perf_counter() - begin


def moved(page, key: str) -> float:
    """How many ms a move of a slider takes until the picture is there."""
    before = page.evaluate("document.documentElement.dataset.ready")
    page.keyboard.press(key)
    while page.evaluate("document.documentElement.dataset.ready") == before:
        page.wait_for_timeout(2)
    took = page.evaluate(TOOK)
    page.wait_for_timeout(500)
    return took


def main() -> None:
    """Prints a line for each figure."""
    print(f"load {os.getloadavg()[0]:.1f}, file {PAGE.stat().st_size / 1e6:.2f} MB")
    with chromium() as browser:
        first, loads = [], []
        for _ in range(REPEATS):
            before = renderer_ms()
            page, took = opened(browser)
            first.append(took)
            loads.append(renderer_ms() - before)
            if len(first) < REPEATS:
                page.close()
        page.select_option("#examples", label="handover.toml")
        page.wait_for_selector("#film[data-ready=yes]", timeout=120_000)
        page.wait_for_timeout(2000)
        page.get_by_label("Move: buffer").focus()
        before = renderer_ms()
        moves = [moved(page, "ArrowLeft" if place % 10 < 5 else "ArrowRight") for place in range(MOVES)]
        # With the film that is made after each.
        a_move = (renderer_ms() - before) / MOVES
        page.wait_for_timeout(2000)
        before = renderer_ms()
        frames = page.evaluate(FILM, FRAMES)
        a_frame = (renderer_ms() - before) / FRAMES
    print(f"first run shown after {median(first):.2f} s ({min(first):.2f} to {max(first):.2f})", end="")
    print(f", {max(loads):.0f} ms of processors")
    print(f"slider to picture {median(moves):.0f} ms ({min(moves):.0f} to {max(moves):.0f}", end="")
    print(f", 90 % within {quantiles(moves, n=10)[-1]:.0f})", end="")
    print(f", {a_move:.0f} ms of processors with the film")
    print(f"film {frames:.1f} frames a second, {a_frame:.1f} ms of processors a frame", end="")
    print(f"; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
