"""The files that `roamlab explore` and `roamlab report` write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from roamlab.base.errors import within
from roamlab.base.output import write_chart
from roamlab.base.screen import say
from roamlab.causes import explain as explaining
from roamlab.explorer import explorer_page
from roamlab.pages import run_page
from roamlab.records.storage.store import open_run
from roamlab.showing.report import Link
from roamlab.showing.report import write as write_report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from roamlab.showing.report import Report


def write(folders: Sequence[Path], out: Path, begin_s: float, end_s: float) -> None:
    """Writes the page of one run, or of two, to `out`. Runs that lack tables for stalls are made again with them."""
    runs = []
    for folder in folders:
        with within(folder):
            results, note = explaining.with_record(open_run(folder))
        if note:
            say(f"note: {note}", err=True)
        runs.append(results)
    write_chart(out, explorer_page.html(runs, begin_s, end_s))


def report(folder: Path, draft: Path) -> tuple[Report, str]:
    """Writes the report of a run into `draft`, with the explorer next to it; the report, and a note or ""."""
    results, note = explaining.with_record(open_run(folder))
    made, _ = run_page.make(results, draft / "figures")
    if explorer_page.fits(results):
        (draft / explorer_page.FILE).write_text(explorer_page.html([results]), encoding="utf-8")
        made = replace(made, explorer=Link("Explore this run packet by packet", explorer_page.FILE))
    write_report(made, draft / "report.html")
    return made, note
