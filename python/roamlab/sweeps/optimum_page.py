"""The results of `roamlab optimise`: a table, a figure, a page and JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.base.output import disk_errors
from roamlab.base.quantities import counted, named, number, scale
from roamlab.records.totals import finite
from roamlab.running.summary import unit
from roamlab.showing import page, report, terminal
from roamlab.sweeps import drawing, sweep_page
from roamlab.sweeps.words import called, heading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.table import Table

    from roamlab.sweeps.optimise import Optimum

SHOWN = 40
"""Settings shown in the terminal; the files have all."""

_HEADINGS = ("setting", "mean", "95 % interval", "below the best by at most", "runs", "state")


def write(found: Optimum, folder: Path) -> None:
    """Write `report.html`, `optimum.json`, `settings.csv`, `runs.parquet` and a figure."""
    runs = found.runs
    with disk_errors():
        runs.kept.write_parquet(folder / "runs.parquet", compression="zstd")
        found.tried.write_csv(folder / "settings.csv")
    means = runs.means(found.metric)
    title = f"{heading(found.metric)} over {', '.join(found.over)}"
    figure = drawing.overview(means, runs.points, runs.kept, folder, title[0].upper() + title[1:])
    title, headings, *rows = _rows(found)
    made = report.Report(
        title=f"Best setting of {called(runs.plan.base.name)}",
        paper="A race of settings with paired runs. The intervals of means are of 95 % each; states and distances to "
        "the best hold together with 95 %.",
        headline=f"{found.sentence[0].upper()}{found.sentence[1:]}.",
        claims=(),
        figures=[figure],
        tables=[page.Table(title, headings, rows)],
        parameters=(),
        assumptions=(),
        origin=(("engine build", _roamlab.build_hash()), ("seed", str(runs.plan.seed))),
    )
    report.write(made, folder / "report.html")
    text = json.dumps(as_json(found), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "optimum.json").write_text(f"{text}\n", encoding="utf-8")


def as_json(found: Optimum) -> dict[str, Any]:
    """The answer as JSON has it: what is not known is null."""
    return finite(
        {
            "sentence": found.sentence,
            "over": list(found.over),
            "combinations": found.combinations,
            "objective": found.objective,
            "where": found.where,
            "share": found.share,
            "tolerance": found.tolerance,
            "unit": unit(found.metric),
            "best": found.best,
            "leader": found.leader,
            "cheapest": found.cheapest,
            "correlation": found.correlation,
            "settings": terminal.rows(found.tried),
        }
    )


def _rows(found: Optimum) -> Iterator[Any]:
    """The title of the table, its headings and its rows."""
    factor, name = scale(found.tried["mean"], unit(found.metric))
    yield named(heading(found.metric), name)
    yield _HEADINGS
    for row in found.tried.iter_rows(named=True):
        behind = "" if row["behind"] is None else number(row["behind"] / factor)
        mean, interval = number(row["mean"] / factor), sweep_page.interval(row, factor)
        yield row["name"], mean, interval, behind, str(row["runs"]), row["state"]


def table(found: Optimum) -> Table:
    """The settings for the terminal, those that can be the best in bold."""
    from rich.table import Table
    from rich.text import Text

    title, headings, *rows = _rows(found)
    shown = Table(title=Text(title), title_justify="left")
    shown.add_column(headings[0], overflow="fold")
    for column in headings[1:]:
        shown.add_column(column, justify="right", no_wrap=column == "95 % interval")
    # Those that are left come first where not all fit.
    order = sorted(range(len(rows)), key=lambda at: rows[at][-1] == "beaten")[:SHOWN]
    for at in sorted(order):
        setting, *cells = rows[at]
        shown.add_row(Text(setting, "bold" if rows[at][-1] == "best" else ""), *cells)
    if len(rows) > SHOWN:
        shown.caption = f"and {counted(len(rows) - SHOWN, 'more setting')} in settings.csv"
    return shown
