"""Progress of one piece of work, as a run: a bar with rate and time left."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from roamlab.base.screen import console, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUIET_SECONDS = 2.0
"""Work that ends sooner shows nothing."""

LOG_SECONDS = 10.0
"""Where there is no terminal, a line this often."""


Tell: TypeAlias = "Callable[[int, Callable[[float], str]], None]"
"""Takes how much is done, and the state for people after a number of seconds."""


@contextmanager
def simulated_time(total_ns: int) -> Iterator[Callable[[int, int], None]]:
    """A function that takes the instant in ns and the events so far; it draws once `QUIET_SECONDS` have passed."""
    with measured("simulated", total_ns) as tell:
        yield lambda now, events: tell(now, lambda seconds: describe(now, total_ns, events, seconds))


@contextmanager
def measured(word: str, total: int) -> Iterator[Tell]:
    """A function that takes progress of work of which `total` is known; it draws once `QUIET_SECONDS` have passed."""
    start = time.monotonic()
    if not sys.stderr.isatty():
        yield _log_lines(word, total, start)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn(word),
        BarColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console(err=True),
        transient=True,
    )
    task = bar.add_task("work", total=total, state="")
    shown = False

    def tell(done: int, state: Callable[[float], str]) -> None:
        nonlocal shown
        seconds = time.monotonic() - start
        bar.update(task, completed=done, state=state(seconds))
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


def _log_lines(word: str, total: int, start: float) -> Tell:
    due = start + LOG_SECONDS

    def tell(done: int, state: Callable[[float], str]) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due += LOG_SECONDS
            left = round((total - done) * (now - start) / max(done, 1))
            clock = f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02}"
            say(f"{word}: {state(now - start)}, {clock} left", err=True)

    return tell
