"""`roamlab check-against`."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from roamlab.base.screen import console, say
from roamlab.commands.options import FILE, JSON, read_with, unread_with

if TYPE_CHECKING:
    from roamlab.against import comparison, measures
    from roamlab.against.fates import Difference

_INSTALLED = importlib.util.find_spec("roamlab.against") is not None
"""True if the laboratory is here: wheels are made without it."""
_FAMILIES = ["links", "handovers", "combinations"]


@click.command("check-against")
@click.argument("other", type=click.Choice(["linux"]))
@click.option(
    "--record", type=FILE, metavar="FILE", help="Run the kernel instead, and write what it does to this file."
)
@click.option(
    "--family", type=click.Choice(_FAMILIES), help="Of scenarios.  [default: all; to record, links]"
)
@click.option(
    "--cases", type=click.IntRange(1), help="Of each control, to record.  [default: as many as are recorded]"
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the cases to record.")
@click.option(
    "--recorded", type=FILE, metavar="FILE", help="What was recorded.  [default: the package's recordings]"
)
@click.option(
    "--live", type=click.IntRange(1), metavar="N", help="Run the kernel in every Nth case or pattern too."
)
@click.option("--queues", is_flag=True, help="Compare queue disciplines instead of TCP.")
@click.option("--queue", metavar="NAME", help="Compare one discipline, pattern by pattern.")
@click.option(
    "--tree",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="An unpacked Linux source, for queues that the source package lacks.",
)
@JSON
@unread_with("--live", "--record")
@unread_with("--json", "--record")
@read_with("--cases", "--record")
@read_with("--seed", "--record")
@read_with("--tree", "--record", "--live")
@click.pass_context
def command(
    context: click.Context,
    /,
    record: Path | None,
    queues: bool,
    queue: str | None,
    tree: Path | None,
    **options: Any,
) -> None:
    """Compare our model of TCP with a Linux kernel in random scenarios, or our queue disciplines with the kernel's.

    What the kernel does is recorded. --live repeats some of it and fails if that differs from the recording; it needs
    a kernel (`roamlab kernel build`), and for queues its source package.

    Queues get the same arrivals and random numbers, in twenty patterns. With --record and --queue the others stay as
    they are recorded. It works from a checkout of Roamlab: a wheel has neither recordings nor scenarios of it.
    """
    if not _INSTALLED:
        raise click.UsageError(
            "this installation has no recordings of Linux; "
            "run `.venv/bin/roamlab check-against` in a checkout of Roamlab"
        )
    if queues or queue:
        _refuse(context, ("cases", "family", "seed"), "of TCP alone")
        _check_queues(record, options["recorded"], options["live"], queue, tree, as_json=options["as_json"])
    else:
        _refuse(context, ("tree",), "for --queues")
        _check_tcp(record, **options)


def _refuse(context: click.Context, names: tuple[str, ...], reason: str) -> None:
    """Refuse options that the comparison does not have."""
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is {reason}")


def _check_tcp(
    record: Path | None,
    other: str,
    family: str | None,
    cases: int | None,
    seed: int,
    recorded: Path | None,
    live: int | None,
    as_json: bool,
) -> None:
    from roamlab.against import comparison, recordings
    from roamlab.base.errors import RoamlabError
    from roamlab.commands.output import print_json

    if record is not None:
        recordings.write(recordings.record(family or "links", cases, seed, _Progress()), record)
        say(f"recorded: {record}")
        return
    files = [path for name, path in recordings.FILES.items() if family in (None, name)]
    found = [recordings.read(path) for path in ([recorded] if recorded else files)]
    if live is not None:
        chosen = [row for one in found for row in one.runs[::live]]
        for case, measures in chosen:
            if recordings.recorded(case) != measures:
                raise RoamlabError(f"{other}: the kernel's run of case {case} differs from its recording")
        say(f"live: {len(chosen)} runs are as recorded", err=True)
    compared = [(one, comparison.compare(one)) for one in found]
    if as_json:
        print_json(
            [
                {"family": of.family, "case": vars(case), "difference": _as_json(difference)}
                for of, rows in compared
                for case, difference in rows
            ]
        )
        return
    say(f"kernel: {', '.join(dict.fromkeys(one.kernel for one in found))}")
    for of, rows in compared:
        summaries = comparison.summarise(rows)
        console().print(table(of.family, summaries))
        for summary in summaries:
            for cause, count in summary.causes.items():
                say(f"{of.family}, {summary.control}, unknown: {count} part {cause}")


def _as_json(difference: measures.Difference) -> dict[str, Any]:
    return vars(difference) | {"equal": difference.equal, "class": difference.kind}


def _check_queues(
    record: Path | None,
    recorded: Path | None,
    live: int | None,
    queue: str | None,
    tree: Path | None,
    *,
    as_json: bool,
) -> None:
    from roamlab.against import fates
    from roamlab.against.arrivals import PACKETS
    from roamlab.against.qdiscs import Programs
    from roamlab.commands.output import print_json

    if record is not None:
        with Programs(tree) as programs:
            chosen = _kinds(queue, fates.NAMES) if queue else None
            made = fates.record(programs, PACKETS, _Progress(), chosen)
        fates.write(fates.joined(fates.read(recorded or fates.FILE), made) if queue else made, record)
        say(f"recorded: {record}")
        return
    found = fates.read(recorded or fates.FILE)
    kinds = _kinds(queue, list(found.origins))
    if live is not None:
        with Programs(tree) as programs:
            count = fates.repeat(programs, found, kinds, live)
        say(f"live: {count} patterns are as recorded", err=True)
    ways = [(kind, way) for kind in kinds for way in fates.ways_of(kind)]
    compared = {(kind, way): list(fates.compare(found, kind, way)) for kind, way in ways}
    if as_json:
        print_json([one.as_json() for rows in compared.values() for one in rows])
    elif queue:
        origin = found.origins[queue]
        say(f"kernel: {origin['file']} of {origin['of']}")
        console().print(_pattern_table(list(compared.values())))
    else:
        console().print(_queue_table(compared))


def _kinds(queue: str | None, known: list[str]) -> list[str]:
    if queue is None:
        return known
    if queue not in known:
        raise click.BadParameter(
            f"there is no {queue}: write one of {', '.join(known)}", param_hint="--queue"
        )
    return [queue]


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


def table(family: str, summaries: list[comparison.Summary]) -> Any:
    """A row for each congestion control."""
    from rich.box import SIMPLE
    from rich.table import Table

    from roamlab.against.measures import CHAOTIC, UNKNOWN

    # Narrow enough for a terminal of 80 columns.
    headings = (family, "runs", "goodput", "timeouts", "both", "held out", "median", "worst")
    shown = Table(*headings, box=SIMPLE, padding=0)
    for kind in (CHAOTIC, UNKNOWN):
        shown.add_column(kind)
    for one in summaries:
        counts = [one.cases, one.within, one.same_timeouts, one.equal]
        shown.add_row(
            one.control,
            *map(str, counts),
            "{} of {}".format(*one.held_out),
            f"{one.median:.2%}",
            f"{one.worst:.1%}",
            *[str(one.classes.get(kind, 0)) for kind in (CHAOTIC, UNKNOWN)],
        )
    return shown


def _queue_table(compared: dict[tuple[str, str], list[Difference]]) -> Any:
    """A row for each queue and each way of its parameters."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table("queue", "as", "same fate", "least", "mean time, most", box=SIMPLE)
    for (kind, way), rows in compared.items():
        worst, latest = min(rows, key=lambda one: one.same), max(rows, key=lambda one: abs(one.sojourn))
        same = f"{sum(one.same for one in rows) / len(rows):.2%}"
        table.add_row(
            kind,
            way,
            "identical" if all(one.identical for one in rows) else same,
            "" if worst.same == 1 else f"{worst.same:.1%} {worst.pattern}",
            "" if latest.sojourn == 0 else f"{latest.sojourn:+.1%} {latest.pattern}",
        )
    return table


def _pattern_table(ways: list[list[Difference]]) -> Any:
    """A row for each pattern: the kernel's shares and mean time, and how far ours is from it in each way."""
    from rich.box import SIMPLE
    from rich.table import Table

    from roamlab.against.queues import DROPPED, MARKED

    table = Table("pattern", "lost", "marked", "time/ms", box=SIMPLE)
    for rows in ways:
        parts = "" if all(one.identical for one in rows) else ": same, time"
        table.add_column(rows[0].way + parts)
    for found in zip(*ways, strict=True):
        kernel = found[0].kernel
        shares = [f"{kernel.share(fate):.2%}" for fate in (DROPPED, MARKED)]
        table.add_row(
            found[0].pattern, *shares, f"{kernel.sojourn_ms:.2f}", *[_distance(one) for one in found]
        )
    return table


def _distance(found: Difference) -> str:
    if found.identical:
        return "identical"
    return f"{found.same:.2%} {found.sojourn:+.1%}"
