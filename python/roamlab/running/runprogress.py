"""Progress of one run: a bar in simulated time, with rate and time left."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from roamlab.base.screen import console, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUIET_SECONDS = 2.0
"""A run that ends sooner shows nothing."""

LOG_SECONDS = 10.0
"""Where there is no terminal, a line this often."""


@contextmanager
def simulated_time(total_ns: int) -> Iterator[Callable[[int, int], None]]:
    """A function that takes the instant in ns and the events so far; it draws once `QUIET_SECONDS` have passed."""
    start = time.monotonic()
    if not sys.stderr.isatty():
        yield _log_lines(total_ns, start)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("simulated"),
        BarColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console(err=True),
        transient=True,
    )
    task = bar.add_task("run", total=total_ns, state="")
    shown = False

    def tell(now_ns: int, events: int) -> None:
        nonlocal shown
        seconds = time.monotonic() - start
        bar.update(task, completed=now_ns, state=describe(now_ns, total_ns, events, seconds))
        if not shown and seconds >= QUIET_SECONDS:
            shown = True
            bar.start()

    try:
        yield tell
    finally:
        if shown:
            bar.stop()


def describe(now_ns: int, total_ns: int, events: int, seconds: float) -> str:
    """How far a run has come after this number of seconds, and how fast it goes, for people."""
    rate = f", {now_ns / 1e9 / seconds:.3g} s/s, {events / seconds:.2g} events/s" if seconds > 0 else ""
    return f"{now_ns / 1e9:.3g} of {total_ns / 1e9:.6g} s{rate}"


def _log_lines(total_ns: int, start: float) -> Callable[[int, int], None]:
    due = start + LOG_SECONDS

    def tell(now_ns: int, events: int) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due += LOG_SECONDS
            left = round((total_ns - now_ns) * (now - start) / max(now_ns, 1))
            state = describe(now_ns, total_ns, events, now - start)
            clock = f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02}"
            say(f"simulated: {state}, {clock} left", err=True)

    return tell
