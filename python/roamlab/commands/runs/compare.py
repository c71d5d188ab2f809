"""`roamlab compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import console, say, shown
from roamlab.commands import completion
from roamlab.commands.inputs import load
from roamlab.commands.options import AMOUNT, ANY_PATH, JSON, SET, STORE, THREADS, out, read_with, seed
from roamlab.commands.output import print_json, print_warnings

if TYPE_CHECKING:
    from pathlib import Path


@click.command("compare")
@click.argument("first", metavar="A", type=ANY_PATH)
@click.argument("second", metavar="B", type=ANY_PATH)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    shell_complete=completion.metrics,
    help="What to compare; may be given more than once.",
)
@click.option("--runs", type=click.IntRange(2), default=30, show_default=True, help="Runs of each.")
@click.option(
    "--half-width",
    type=AMOUNT,
    help="Continue until the interval of the one metric's difference is so narrow, in its unit.",
)
@click.option(
    "--budget", type=click.IntRange(2), default=1000, show_default=True, help="Runs of each then, at most."
)
@seed()
@out("out/compare", "Folder for figure and data.")
@STORE
@THREADS
@SET
@JSON
@read_with("--budget", "--half-width")
def command(
    first: Path,
    second: Path,
    metrics: tuple[str, ...],
    runs: int,
    half_width: float | None,
    budget: int,
    seed: int,
    out: Path,
    store: Path,
    threads: int | None,
    changes: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Effect of the changes from scenario A to scenario B: paired differences with 95 % intervals.

    Run n of both draws from the same random streams; p-values are corrected for their number after Holm.
    """
    from roamlab.base.errors import BadInput
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.running.summary import check as check_metric
    from roamlab.showing import report, terminal
    from roamlab.sweeps import compare, drawing, sweep_page

    for metric in metrics:
        check_metric(metric, "--metric")
    number = runs if half_width is None else compare.until(metrics, half_width, runs, budget)
    base = load(first, changes)
    refuse_foreign(out, store)
    wanted = metrics or compare.DEFAULT_METRICS
    other = load(second, changes)
    if changes and base.resolved == other.resolved and load(first, ()).resolved != load(second, ()).resolved:
        raise BadInput(
            f"--set {changes[0]}",
            f"with it {base.name} and {other.name} are the same: --set changes both",
            expected="a change after which the two still differ",
            remedy="leave out what the two differ in, and write it into the files",
        )
    if note := compare.unpaired_note(base, other):
        say(f"note: {note}", err=True)
    made = compare.compare(base, other, wanted, number, seed, store, threads)
    say(f"note: {compare.differing(base, other)}", err=True)
    print_warnings(made.warnings)
    frame = compare.differences(made, base.name)
    with whole_folder(out) as draft:
        figures = [
            drawing.by_point(made.means(), made.points, made.kept, draft, "scenario"),
            compare.draw(frame, base.name, draft),
        ]
        report.write(
            sweep_page.differences(frame, base.name, other.name, seed, figures), draft / "report.html"
        )
        compare.write_json(frame, draft / "compare.json")
    if as_json:
        rows = terminal.rows(frame)
        print_json({"result": shown(out), "differences": rows, "warnings": made.warnings})
        return
    screen = console()
    screen.print(f"{other.name} minus {base.name}", *compare.tables(frame), markup=False, sep="\n")
    say(f"result: {shown(out)}")
