"""Progress of many runs: a bar on a terminal, a line now and then in a log; with rate and time left."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUIET_SECONDS = 2.0
"""Work that ends sooner shows no progress bar."""

LOG_SECONDS = 10.0
"""Where there is no terminal, a line this often."""


def pace(done: int, total: int, seconds: float) -> str:
    """The rate so far and the time left at that rate, for people."""
    if done == 0 or seconds <= 0:
        return ""
    rate = done / seconds
    left = round((total - done) / rate)
    return f"{rate:.3g} runs/s, {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"


@contextmanager
def progress(total: int) -> Iterator[Callable[[], None]]:
    """Counts runs; a bar appears on the terminal once the work has taken `QUIET_SECONDS`."""
    start = time.monotonic()
    if not sys.stderr.isatty():
        yield _log_lines(total, start)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("runs", total=total, pace="")
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        bar.update(task, advance=1, pace=pace(done, total, time.monotonic() - start))

    later = threading.Timer(QUIET_SECONDS, bar.start)
    later.daemon = True
    later.start()
    try:
        yield advance
    finally:
        later.cancel()
        later.join()
        bar.stop()


def _log_lines(total: int, start: float) -> Callable[[], None]:
    """Counts runs in a log: a line each `LOG_SECONDS`."""
    done = 0
    due = start + LOG_SECONDS

    def advance() -> None:
        nonlocal done, due
        done += 1
        now = time.monotonic()
        if now >= due:
            due += LOG_SECONDS
            print(f"runs: {done} of {total}, {pace(done, total, now - start)}", file=sys.stderr, flush=True)

    return advance
