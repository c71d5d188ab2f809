"""Two scenarios side by side: paired differences with intervals, as a table, a figure and JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from roamlab import figures
from roamlab.design import Whole
from roamlab.errors import BadInput
from roamlab.executor import LocalPool
from roamlab.plan import Plan, execute
from roamlab.stopping import LEAST, Until
from roamlab.summary import Measurement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import polars as pl
    from rich.table import Table

    from roamlab.figures import SavedFigure
    from roamlab.runs import Runs
    from roamlab.scenario import Scenario

DEFAULT_METRICS = (
    "flows.*.goodput_bps",
    "flows.*.loss_ratio",
    "flows.*.timeouts",
    "flows.*.reordered_ratio",
    "flows.*.disruption_s",
)


ROWS_DRAWN = 12
"""A figure has axes for so many metrics at most."""


def compare(
    first: Scenario,
    second: Scenario,
    metrics: Sequence[str],
    replications: int | Until,
    seed: int,
    store: Path,
    threads: int | None,
) -> Runs:
    """Run both under the same random streams. A stopping rule looks at the difference.

    Raises `BadInput` if they are the same scenario.
    """
    if first.resolved == second.resolved:
        raise BadInput(
            f"{first.name} and {second.name}",
            "they say the same",
            expected="two scenarios that differ",
            remedy="`roamlab check` shows what a scenario says",
        )
    names = (first.name, second.name if second.name != first.name else f"{second.name} (2)")
    design = Whole(dict(zip(names, (first, second), strict=True)))
    if isinstance(replications, Until):
        replications = replace(replications, baseline=first.name)
    plan = Plan(first, design, replications, seed, Measurement(tuple(dict.fromkeys(metrics))))
    return execute(plan, store, LocalPool(threads))


def until(metrics: Sequence[str], half_width: float, runs: int, budget: int) -> Until:
    """The stopping rule that the options of `roamlab compare` make. Raises `BadInput`, naming the option."""

    def refuse(option: str, problem: str, expected: str, remedy: str) -> BadInput:
        return BadInput(option, problem, expected=expected, remedy=remedy)

    if len(metrics) != 1 or "*" in metrics[0]:
        problem = f"with {', '.join(metrics) or 'no --metric'} it is not clear which interval is meant"
        remedy = "write --metric flows.NAME.goodput_bps, for example"
        raise refuse("--half-width", problem, "one metric", remedy)
    if not 0 < half_width < math.inf:
        raise refuse("--half-width", f"{half_width:g}", "a number above 0", "write it in the metric's unit")
    if runs < LEAST:
        raise refuse("--runs", f"{runs} runs do not show their spread", f"{LEAST} or more", "leave it out")
    if budget < runs:
        raise refuse("--budget", f"{budget}", f"at least the {runs} of --runs", f"write {10 * runs}")
    return Until(metrics[0], half_width, minimum=runs, budget=budget)


def tables(frame: pl.DataFrame) -> Iterator[Table]:
    """The differences for the terminal, a table for each metric. In bold: p below 0.05 after Holm's correction."""
    from rich.table import Table
    from rich.text import Text

    for (metric,), rows in frame.group_by("metric", maintain_order=True):
        shown = Table(title=Text(f"{metric} [{rows['unit'][0]}]"), title_justify="left")
        shown.add_column("compared")
        for heading in ("baseline's mean", "difference", "95 % interval", "runs", "p (Holm)"):
            shown.add_column(heading, justify="right")
        for row in rows.iter_rows(named=True):
            shown.add_row(
                Text(row["name"]),
                f"{row['reference']:.4g}",
                Text(f"{row['difference']:+.4g}", "bold" if row["p_holm"] < 0.05 else ""),
                f"{row['low']:.4g} … {row['high']:.4g}",
                str(row["runs"]),
                f"{row['p_holm']:.2g}",
            )
        yield shown


def draw(frame: pl.DataFrame, baseline: str, folder: Path) -> SavedFigure:
    """The differences with their intervals, an axis for each metric."""
    metrics = frame["metric"].unique(maintain_order=True).to_list()[:ROWS_DRAWN]
    points = frame["name"].unique(maintain_order=True).to_list()
    with figures.new_figure(len(metrics), share_x=False, row_inches=0.9 + 0.25 * len(points)) as (
        figure,
        all_axes,
    ):
        for metric, axes in zip(metrics, all_axes, strict=True):
            rows = frame.filter(frame["metric"] == metric)
            places = [points.index(name) for name in rows["name"]]
            middle = rows["difference"].to_numpy()
            spans = [middle - rows["low"].to_numpy(), rows["high"].to_numpy() - middle]
            axes.errorbar(middle, places, xerr=spans, fmt="o", capsize=3, linestyle="none")
            axes.axvline(0.0, color="0.4", linewidth=0.8, linestyle="-")
            axes.set_yticks(range(len(points)), points)
            axes.set_ylim(len(points) - 0.5, -0.5)
            axes.set_xlabel(f"{metric}, difference to {baseline} [{rows['unit'][0]}]")
            axes.set_ylabel("compared")
        caption = f"Differences to {baseline}, run by run, with 95 % intervals."
        return figures.save(figure, folder, "compare", caption)


def write_json(frame: pl.DataFrame, path: Path) -> None:
    """The rows as a JSON list; what one run alone leaves open is null."""
    rows = [
        {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }
        for row in frame.iter_rows(named=True)
    ]
    path.write_text(json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
