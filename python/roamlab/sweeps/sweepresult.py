"""The result folder of `roamlab sweep`, and its output: the same bytes after any number of interruptions.

`report.html`, `runs.parquet` (a row per point, run and metric), `points.csv`, `means.csv` and a figure, with
a baseline `compare.json` and a figure, and `sweep.json` with the inputs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from roamlab import _roamlab
from roamlab.base.output import disk_errors
from roamlab.base.quantities import named, number, scale
from roamlab.records.manifest import schema_hash
from roamlab.showing import report
from roamlab.sweeps import compare, drawing, sweep_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl
    from rich.table import Table

    from roamlab.base.figures import SavedFigure
    from roamlab.sweeps.runs import Runs
    from roamlab.sweeps.sweepfile import SweepFile

ORIGIN = "sweep.json"

SHOWN = 40
"""Lines shown in the terminal; the files have all."""


def write(source: SweepFile, runs: Runs, folder: Path) -> pl.DataFrame | None:
    """Write everything; the differences, if there is a baseline."""
    means = runs.means()
    with disk_errors():
        runs.kept.write_parquet(folder / "runs.parquet", compression="zstd")
        runs.points.write_csv(folder / "points.csv")
        means.write_csv(folder / "means.csv")
    differences = None
    plan = runs.plan
    drawn: list[SavedFigure] = []
    if not means.is_empty():
        drawn.append(drawing.overview(means, runs.points, runs.kept, folder))
    if source.baseline is not None:
        differences = runs.compare(baseline=source.baseline)
        compare.write_json(differences, folder / "compare.json")
        if not differences.is_empty():
            drawn.append(compare.draw(differences, source.baseline, folder, "point"))
    found = None if differences is None or source.baseline is None else (differences, source.baseline)
    report.write(sweep_page.swept(plan.base.name, means, found, drawn, plan.seed), folder / "report.html")
    origin = {
        "sweep": source.text,
        "scenario": plan.base.text,
        "seed": plan.seed,
        "points": len(plan.design),
        "runs": len(runs),
        "metrics": list(plan.measurement.metrics),
        "version": _roamlab.version(),
        "schema_hash": schema_hash(),
        "build_hash": _roamlab.build_hash(),
    }
    (folder / ORIGIN).write_text(json.dumps(origin, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return differences


def tables(runs: Runs) -> Iterator[Table]:
    """Means with their intervals, as far as they fit, a table for each metric."""
    from rich.table import Table
    from rich.text import Text

    means = runs.means()
    rest = means.height - SHOWN
    for (metric,), rows in means.head(SHOWN).group_by("metric", maintain_order=True):
        factor, unit = scale(rows["mean"], rows["unit"][0])
        shown = Table(title=Text(named(metric, unit)), title_justify="left")
        shown.add_column("point", overflow="fold")
        for column in ("mean", "95 % interval", "runs"):
            shown.add_column(column, justify="right", no_wrap=column == "95 % interval")
        for row in rows.iter_rows(named=True):
            mean, interval = number(row["mean"] / factor), sweep_page.interval(row, factor)
            shown.add_row(Text(row["name"]), mean, interval, str(row["runs"]))
        if rest > 0 and metric == means["metric"][SHOWN - 1]:
            shown.caption = f"and {rest} more lines in means.csv"
        yield shown
