"""Progress of many runs: a bar on a terminal, a line now and then in a log; with rate and time left."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from roamlab.base.screen import console, say

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from roamlab.scenarios.scenario import Scenario

QUIET_SECONDS = 2.0
"""Work that ends sooner shows no progress bar."""

LOG_SECONDS = 10.0
"""Where there is no terminal, a line this often."""


class Advance(Protocol):
    """Counts a run."""

    def __call__(self, kind: Hashable, *, made: bool = True) -> None:
        """A run of `kind` has ended; it was simulated if `made`, and else found."""


def weight(scenario: Scenario) -> float:
    """Estimated cost of a run relative to one of another scenario, before either was made: simulated s x flows."""
    found = scenario.outline
    return found.duration_ns / 1e9 * max(1, found.flows)


class Estimate:
    """The time left, learnt from the runs that have ended: a run of one kind is a poor estimate for one of another.

    Runs of a kind of which some were made take as long as these did, on average. One of a kind that is still to come
    takes as long for its weight as all those that were made.
    """

    def __init__(self, wanted: Mapping[Any, int], weights: Mapping[Any, float]) -> None:
        self._waiting = dict(wanted)
        self._weights = weights
        self._learnt: dict[Hashable, tuple[float, int]] = {}
        self._seconds = self._weight = 0.0
        self._known = 0.0
        """Seconds that the waiting runs of learnt kinds take."""
        self._unknown = sum(count * self._of(kind) for kind, count in wanted.items())
        """Weight of the waiting runs of other kinds."""
        self.total, self.done, self.made = sum(wanted.values()), 0, 0

    def _of(self, kind: Hashable) -> float:
        return self._weights.get(kind, 1.0)

    def ended(self, kind: Hashable, seconds: float | None) -> None:
        """A run has ended, `seconds` after the one before it; None: it was found, not made."""
        self.done += 1
        total, count = self._learnt.get(kind, (0.0, 0))
        if count:
            self._known -= self._waiting[kind] * total / count
        else:
            self._unknown -= self._waiting[kind] * self._of(kind)
        self._waiting[kind] -= 1
        if seconds is not None:
            self.made += 1
            self._seconds += seconds
            self._weight += self._of(kind)
            total, count = total + seconds, count + 1
            self._learnt[kind] = total, count
        if count:
            self._known += self._waiting[kind] * total / count
        else:
            self._unknown += self._waiting[kind] * self._of(kind)

    def left(self) -> float | None:
        """Seconds until all have ended; None before the first was made."""
        if not self.made:
            return None
        return max(0.0, self._known + self._unknown * self._seconds / self._weight)

    def rate(self) -> float:
        """Runs made in a second, so far."""
        return self.made / self._seconds if self._seconds else 0.0


@contextmanager
def progress(wanted: Mapping[Any, int], weights: Mapping[Any, float] | None = None) -> Iterator[Advance]:
    """Counts the runs that are wanted of each kind; a bar appears once the work has taken `QUIET_SECONDS`."""
    estimate = Estimate(wanted, weights or {})
    with _shown(estimate) as show:
        last = time.monotonic()

        def advance(kind: Hashable, *, made: bool = True) -> None:
            nonlocal last
            now = time.monotonic()
            estimate.ended(kind, now - last if made else None)
            last = now
            show()

        yield advance


def _shown(estimate: Estimate) -> AbstractContextManager[Show]:
    if in_notebook():
        return _line(estimate)
    return _bar(estimate) if sys.stderr.isatty() else _log(estimate)


def in_notebook() -> bool:
    """True if a notebook shows the output: its kernel is loaded, and standard error is no terminal."""
    return "ipykernel" in sys.modules and not sys.stderr.isatty()


def _write(text: str) -> None:
    """A part of a line of a notebook; it holds numbers and no text of an input."""
    sys.stderr.write(text)
    sys.stderr.flush()


@contextmanager
def _line(estimate: Estimate) -> Iterator[Show]:
    """A line that is written over, as notebooks show a bar: from `QUIET_SECONDS` on, twice a second at most."""
    due, width = time.monotonic() + QUIET_SECONDS, 0

    def show() -> None:
        nonlocal due, width
        if (now := time.monotonic()) >= due:
            due = now + 0.5
            text = f"runs: {estimate.done} of {estimate.total}{pace(estimate)}"
            width = max(width, len(text))
            _write(f"\r{text:<{width}}")

    yield show
    if width:
        _write(f"\r{' ' * width}\r")


class Steps:
    """Prints the steps of a search, each in a line, once it has taken `QUIET_SECONDS`: those before come with it."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._untold: list[str] = []

    def tell(self, step: str) -> None:
        """A step was made."""
        self._untold.append(step)
        if time.monotonic() - self._start >= QUIET_SECONDS:
            say("\n".join(self._untold), err=True)
            self._untold.clear()


@contextmanager
def _bar(estimate: Estimate) -> Iterator[Show]:
    """A bar of time: what has passed, of that and what is left."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("runs"),
        BarColumn(),
        TextColumn("{task.fields[done]} of {task.fields[of]}"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console(err=True),
        transient=True,
    )
    start = time.monotonic()
    task = bar.add_task("runs", total=None, done=0, of=estimate.total, rate="")

    def show() -> None:
        left, passed = estimate.left(), time.monotonic() - start
        rate = f"{estimate.rate():.3g} runs/s" if estimate.rate() else ""
        if left is not None:
            # Not by `update`, which would take a new total for new work and forget the speed.
            (shown,) = bar.tasks
            shown.total = passed + left
        bar.update(task, completed=passed, done=estimate.done, rate=rate)

    later = threading.Timer(QUIET_SECONDS, bar.start)
    later.daemon = True
    later.start()
    try:
        yield show
    finally:
        later.cancel()
        later.join()
        bar.stop()


@contextmanager
def _log(estimate: Estimate) -> Iterator[Show]:
    """A line each `LOG_SECONDS`."""
    due = time.monotonic() + LOG_SECONDS

    def show() -> None:
        nonlocal due
        if time.monotonic() >= due:
            due += LOG_SECONDS
            say(f"runs: {estimate.done} of {estimate.total}{pace(estimate)}", err=True)

    yield show


def pace(estimate: Estimate) -> str:
    """The rate so far and the time left, for people; empty before the first run was made."""
    left = estimate.left()
    if left is None:
        return ""
    seconds = round(left)
    return f", {estimate.rate():.3g} runs/s, {seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left"


class Show(Protocol):
    """Shows the present estimate."""

    def __call__(self) -> None:
        """Show it."""
