"""`roamlab check-against`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from roamlab.base.screen import console, say
from roamlab.commands.options import FILE, JSON

if TYPE_CHECKING:
    from pathlib import Path


@click.command("check-against")
@click.argument("other", type=click.Choice(["linux"]))
@click.option(
    "--record", type=FILE, metavar="FILE", help="Run the kernel instead, and write its runs to this file."
)
@click.option(
    "--cases", type=click.IntRange(1), default=67, show_default=True, help="Of each control, to record."
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the cases to record.")
@click.option("--recorded", type=FILE, metavar="FILE", help="Recorded runs.  [default: those of the package]")
@click.option("--live", type=click.IntRange(1), metavar="N", help="Run the kernel in every Nth case too.")
@JSON
def command(
    other: str,
    record: Path | None,
    cases: int,
    seed: int,
    recorded: Path | None,
    live: int | None,
    as_json: bool,
) -> None:
    """Compare our model of TCP with a Linux kernel in random scenarios.

    The kernel's runs are recorded. --live repeats some of them, which needs a kernel (`roamlab kernel build`), and
    fails if one differs from its recording.
    """
    from roamlab.against import comparison, recordings
    from roamlab.base.errors import RoamlabError
    from roamlab.commands.output import print_json

    if record is not None:
        recordings.write(recordings.record(cases, seed, _Progress()), record)
        say(f"recorded: {record}")
        return
    found = recordings.read(recorded or recordings.FILE)
    if live is not None:
        chosen = found.runs[::live]
        for case, measures in chosen:
            if recordings.made(case, kernel=True) != measures:
                raise RoamlabError(f"{other}: the kernel's run of case {case} differs from its recording")
        say(f"live: {len(chosen)} runs are as recorded", err=True)
    compared = comparison.compare(found)
    if as_json:
        print_json(
            [{"case": vars(case), "difference": vars(one) | {"equal": one.equal}} for case, one in compared]
        )
        return
    say(f"kernel: {found.kernel}")
    for summary in comparison.summarise(compared):
        console().print(_table(summary))


class _Progress:
    """A line each ten seconds."""

    def __init__(self) -> None:
        self._start = self._due = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + 10
            left = f", {(now - self._start) * (total - done) / done:.0f} s left" if done else ""
            say(f"runs: {done} of {total}{left}", err=True)


def _table(summary: Any) -> Any:
    from rich.table import Table

    def share(count: int) -> str:
        return f"{count} of {summary.cases}"

    table = Table(title=summary.control, title_justify="left", show_header=False)
    table.add_row("goodput within 2 %", share(summary.within))
    table.add_row("same number of timeouts", share(summary.same_timeouts))
    table.add_row("both", share(summary.equal))
    table.add_row("both, of the cases held out", "{} of {}".format(*summary.held_out))
    table.add_row("difference of goodput, median and worst", f"{summary.median:.2%}, {summary.worst:.1%}")
    for cause, count in summary.causes.items():
        table.add_row(f"not equal, windows part: {cause}", str(count))
    return table
