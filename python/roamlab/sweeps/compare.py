"""The comparison of two scenarios: paired differences with intervals, as a table, a figure and JSON."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.base import figures
from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted, named, number, scale
from roamlab.running.executor import LocalPool
from roamlab.running.summary import Measurement, Name, undefined
from roamlab.showing import terminal
from roamlab.statistics.stats import LEAST
from roamlab.statistics.stopping import Until
from roamlab.sweeps.design import Whole
from roamlab.sweeps.drawing import WIDTH
from roamlab.sweeps.plan import Plan
from roamlab.sweeps.sweep import execute
from roamlab.sweeps.sweep_page import interval, p_text, tells
from roamlab.sweeps.words import called, heading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import polars as pl
    from rich.table import Table

    from roamlab.base.figures import SavedFigure
    from roamlab.scenarios.scenario import Scenario
    from roamlab.sweeps.runs import Runs

DEFAULT_METRICS = (
    "flows.*.goodput_bps",
    "flows.*.loss_ratio",
    "flows.*.timeouts",
    "flows.*.reordered_ratio",
    "flows.*.disruption_s",
)


ROWS_DRAWN = 12
"""Most metrics with axes in a figure."""


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

    Raises `BadInput` if they are the same scenario, or have nothing that `metrics` could compare.
    """
    if first.resolved == second.resolved:
        raise BadInput(
            f"{first.name} and {second.name}",
            "they are the same",
            expected="two scenarios that differ",
            remedy="`roamlab check` shows the content of a scenario",
        )
    _check_pairs(first, second, metrics)
    names = (first.name, second.name if second.name != first.name else f"{second.name} (2)")
    design = Whole(dict(zip(names, (first, second), strict=True)))
    if isinstance(replications, Until):
        replications = replace(replications, baseline=first.name)
    plan = Plan(first, design, replications, seed, Measurement(tuple(dict.fromkeys(metrics))))
    return execute(plan, store, LocalPool(threads))


def unpaired_note(first: Scenario, second: Scenario) -> str:
    """Which flows only one of the scenarios has, so that they are left out; empty if none or all are."""
    ours, theirs = _flows(first), _flows(second)
    if not ours.keys() & theirs.keys():
        return ""
    lone = [
        f"{_some(mine - others)} only in {scenario.name}"
        for scenario, mine, others in (
            (first, ours.keys(), theirs.keys()),
            (second, theirs.keys(), ours.keys()),
        )
        if mine - others
    ]
    return f"flows that do not pair are not compared: {'; '.join(lone)}" if lone else ""


def differing(first: Scenario, second: Scenario) -> str:
    """The fields in which two scenarios differ, as a sentence; with what that means for flows of one name."""
    fields = sorted(_unequal(first.parameters, second.parameters, ""))
    more = f" and {len(fields) - _SHOWN} more" if len(fields) > _SHOWN else ""
    said = f"they differ in {', '.join(fields[:_SHOWN])}{more}"
    ours, theirs = (
        {
            flow["name"]: tuple(flow.get(part, {}).get("kind", "") for part in ("app", "transport"))
            for flow in each.expanded().get("flows", [])
        }
        for each in (first, second)
    )
    for name, kinds in ours.items():
        if name in theirs and theirs[name] != kinds:
            one, other = " over ".join(kinds), " over ".join(theirs[name])
            return f"{said}; flow {name} is {one} in {first.name} and {other} in {second.name}"
    return said


_SHOWN = 8
"""Fields that a sentence lists at most."""


def _unequal(left: Any, right: Any, path: str) -> Iterator[str]:
    """The paths at which two values differ; lists of other lengths, and values of which one is None, as a whole."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in {*left, *right}:
            yield from _unequal(left.get(key), right.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for at, (one, other) in enumerate(zip(left, right, strict=True)):
            name = one.get("name") if isinstance(one, Mapping) else None
            yield from _unequal(one, other, f"{path}.{name or at}")
    elif left != right:
        yield path


def differences(runs: Runs, baseline: str) -> pl.DataFrame:
    """Differences between the runs of `compare`. Raises `BadInput` if no pair of runs defines any of the metrics."""
    found = runs.compare(baseline=baseline)
    if found.is_empty():
        scenarios = [runs.plan.scenario(point) for point in range(len(runs.counts))]
        reasons = [undefined(metric, each) for metric in runs.metrics for each in scenarios]
        reason = "; ".join(dict.fromkeys(filter(None, reasons)))
        raise BadInput(
            f"metrics {', '.join(runs.metrics)}",
            "no run of the one scenario and the same run of the other both define one",
            expected="metrics that runs of both define",
            remedy=reason or "see docs/metrics.md for what each needs",
        )
    return found


def _flows(scenario: Scenario) -> dict[str, int]:
    return {flow["name"]: at for at, flow in enumerate(scenario.expanded().get("flows", []))}


def _check_pairs(first: Scenario, second: Scenario, metrics: Sequence[str]) -> None:
    """Raise `BadInput` unless each metric of a flow has the flow in both scenarios, and `*` has one at least."""
    ours, theirs = _flows(first), _flows(second)
    both = [name for name in ours if name in theirs]
    for metric in metrics:
        name = Name.of(metric)
        flow = name.flow
        if name.family != "flows" or any(map(name.matches, both)):
            continue
        lacking = first if flow in theirs else second
        line = None if lacking.changed else _roamlab.line_of(lacking.text, "flows[0].name")
        place = f"{lacking.name}:{line}" if line else lacking.name
        has = f"{first.name} has {_some(ours)}; {second.name} has {_some(theirs)}"
        raise BadInput(
            f"{place}, field `flows`, for the metric {metric}",
            f"there is no flow {flow!r}"
            if both or flow != "*"
            else f"no flow pairs with one of {first.name}",
            expected=f"flows of the same name in both scenarios: {has}",
            remedy=f"name one of {_some(both)}"
            if both
            else "give the flows the same names, or compare whole runs: --metric goodput_bps --metric jain",
        )


def _some(names: Iterable[str]) -> str:
    """Names for people, the first few of many."""
    listed = sorted(names)
    return ", ".join(listed[:_NAMED]) + (f", … ({len(listed)} in all)" if len(listed) > _NAMED else "")


_NAMED = 8


def until(metrics: Sequence[str], half_width: float, runs: int, budget: int) -> Until:
    """The stopping rule that the options of `roamlab compare` make. Raises `BadInput`, naming the option."""

    def refuse(option: str, problem: str, expected: str, remedy: str) -> BadInput:
        return BadInput(option, problem, expected=expected, remedy=remedy)

    if len(metrics) != 1 or ("*" in metrics[0] and not Name.of(metrics[0]).over):
        problem = f"with {', '.join(metrics) or 'no --metric'} it is not clear which interval is meant"
        remedy = "write --metric flows.NAME.goodput_bps, for example"
        raise refuse("--half-width", problem, "one metric", remedy)
    if not 0 < half_width < math.inf:
        raise refuse("--half-width", f"{half_width:g}", "a number above 0", "write it in the metric's unit")
    if runs < LEAST:
        raise refuse(
            "--runs",
            f"{counted(runs, 'run shows no', 'runs show no')} spread",
            f"{LEAST} or more",
            "leave it out",
        )
    if budget < runs:
        raise refuse("--budget", f"{budget}", f"at least the {runs} of --runs", f"write {10 * runs}")
    return Until(metrics[0], half_width, minimum=runs, budget=budget)


def tables(frame: pl.DataFrame, first: str = "scenario") -> Iterator[Table]:
    """The differences for the terminal, a table for each metric. In bold: what `page.tells`.

    Of one scenario in many metrics the metrics are rows: of a table for each flow if it has many, or else of one
    table. `first` is the kind of the rows otherwise.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if frame["name"].n_unique() == 1 and frame["metric"].n_unique() > _SINGLE:
        # The names of metrics without their flow are short enough for a terminal of 80 columns.
        whose = frame["metric"].str.extract(r"^(flows\..*)\.[^.]+$").fill_null("")
        if max(Counter(whose.to_list()).values()) <= _SINGLE:
            whose = whose.str.head(0)
        for (flow,), rows in frame.group_by(whose.alias("whose"), maintain_order=True):
            shown = Table(box=box.SIMPLE_HEAD, padding=0, title_justify="left")
            shown.title = Text(str(flow)) if flow else None
            _add_columns(shown, "metric")
            for row in rows.iter_rows(named=True):
                factor, unit = scale([row["reference"], row["difference"]], row["unit"])
                _add_row(shown, named(row["metric"].removeprefix(f"{flow}."), unit), row, factor)
            yield shown
        return

    for (metric,), rows in frame.group_by("metric", maintain_order=True):
        factor, unit = scale([*rows["reference"], *rows["difference"]], rows["unit"][0])
        shown = Table(title=Text(named(metric, unit)), title_justify="left")
        _add_columns(shown, first)
        for row in rows.iter_rows(named=True):
            _add_row(shown, row["name"], row, factor)
        yield shown


_SINGLE = 4
"""More metrics than this of one scenario, or of a flow, are rows of one table."""


def _add_columns(shown: Table, first: str) -> None:
    shown.add_column(first, overflow="fold")
    for column in ("baseline's mean", "difference", "95 % interval", "runs", "p (Holm)"):
        shown.add_column(column, justify="right", no_wrap=column == "95 % interval")


def _add_row(shown: Table, first: str, row: dict[str, Any], factor: float) -> None:
    from rich.text import Text

    shown.add_row(
        Text(first),
        number(row["reference"] / factor),
        Text(_signed(row["difference"] / factor), "bold" if tells(row) else ""),
        interval(row, factor),
        str(row["runs"]),
        p_text(row),
    )


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else ''}{number(value)}"


def draw(frame: pl.DataFrame, baseline: str, folder: Path, first: str = "scenario") -> SavedFigure:
    """The differences with their intervals, an axis for each metric. `first`: what the rows are."""
    metrics = frame["metric"].unique(maintain_order=True).to_list()[:ROWS_DRAWN]
    points = frame["name"].unique(maintain_order=True).to_list()
    with figures.new_figure(len(metrics), share_x=False, row_inches=0.9 + 0.25 * len(points)) as (
        figure,
        all_axes,
    ):
        for metric, axes in zip(metrics, all_axes, strict=True):
            rows = frame.filter(frame["metric"] == metric)
            places = [points.index(name) for name in rows["name"]]
            factor, unit = scale([*rows["difference"]], rows["unit"][0])
            middle, low, high = (rows[name].to_numpy() / factor for name in ("difference", "low", "high"))
            spans = [middle - low, high - middle]
            axes.errorbar(middle, places, xerr=spans, fmt="o", capsize=3, linestyle="none")
            axes.axvline(0.0, color="0.4", linewidth=0.8, linestyle="-")
            axes.set_yticks(range(len(points)), [called(point, baseline, *points) for point in points])
            axes.set_ylim(len(points) - 0.5, -0.5)
            what = named(f"{heading(metric)}: difference to {called(baseline, *points)}", unit)
            axes.set_xlabel(textwrap.fill(what, WIDTH, break_on_hyphens=False))
            axes.set_ylabel(first)
        caption = f"Differences to {called(baseline, *points)}, run by run, with 95 % intervals."
        return figures.save(figure, folder, "compare", caption)


def write_json(frame: pl.DataFrame, path: Path) -> None:
    """The rows as a JSON list; what one run alone leaves open is null."""
    path.write_text(
        json.dumps(terminal.rows(frame), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        encoding="utf-8",
    )
