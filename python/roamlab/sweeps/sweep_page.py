"""The results of `roamlab compare` and `roamlab sweep`, as one page."""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab import _roamlab
from roamlab.base.quantities import named, number, scale
from roamlab.showing.page import Table
from roamlab.showing.report import Report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roamlab.base.figures import SavedFigure

_LEAST_P = 0.05


def differences(frame: pl.DataFrame, baseline: str, other: str, seed: int, figure: SavedFigure) -> Report:
    """The page of a comparison with its figure; `frame` as `compare.differences` gives it."""
    return _report(
        title=f"{PurePath(other).name} beside {PurePath(baseline).name}",
        paper=f"Paired differences to {baseline}: run n of both draws from the same random streams. Intervals are of "
        "95 %; p-values are corrected for their number after Holm.",
        headline=headline(frame, baseline),
        figures=[figure],
        tables=_difference_tables(frame),
        seed=seed,
    )


def swept(
    name: str,
    means: pl.DataFrame,
    found: tuple[pl.DataFrame, str] | None,
    figures: Sequence[SavedFigure],
    seed: int,
) -> Report:
    """The page of a sweep: its means and, if there is a baseline, `found`, the differences to it and its name."""
    compared = found is not None and not found[0].is_empty()
    return _report(
        title=f"Sweep of {PurePath(name).name}",
        paper="Means of the runs of each point, with 95 % intervals.",
        headline=headline(*found) if found is not None and compared else _extremes(means),
        figures=figures,
        tables=[
            *(_difference_tables(found[0]) if found is not None and compared else []),
            *_mean_tables(means),
        ],
        seed=seed,
    )


def headline(frame: pl.DataFrame, baseline: str) -> str:
    """The clearest difference in words, and how many are significant."""
    stand = frame.filter([tells(row) for row in frame.iter_rows(named=True)])
    if stand.is_empty():
        return f"No difference to {_called(baseline)} is significant: these runs do not tell the scenarios apart."
    verb = "is" if stand.height == 1 else "are"
    count = f"{stand.height} of {frame.height} differences" if frame.height > 1 else "The one difference"
    ratio = (pl.col("difference") / pl.col("reference")).abs().fill_nan(0.0)
    row = stand.sort(pl.col("p_holm").fill_null(0.0), -ratio, maintain_order=True).row(0, named=True)
    factor, unit = scale([row["reference"], row["difference"]], row["unit"])
    values = (row["reference"] + row["difference"], row["reference"])
    shown = "" if unit == "1" else f" {unit}"
    theirs, ours = (f"{number(value / factor)}{shown}" for value in values)
    ends = sorted(abs(row[column] / factor) for column in ("low", "high"))
    more = "more" if row["difference"] > 0 else "less"
    known = all(map(math.isfinite, ends)) and ends[0] != ends[1] and row["low"] * row["high"] > 0
    spread = f", {number(ends[0])} to {number(ends[1])}{shown} {more} (95 % interval)" if known else ""
    first = (
        f"{_words(row['metric'])} is {theirs} with {_called(row['name'])} and {ours} with {_called(baseline)}"
    )
    same = stand["p_holm"].null_count()
    how = ["significant after Holm's correction"] if same < stand.height else []
    if same:
        how.append("the same in all runs")
    return f"{first}{spread}. {count} {verb} {' or '.join(how)}."


def tells(row: Mapping[str, Any]) -> bool:
    """Whether a difference is significant after Holm's correction, or not 0 and the same in all of several runs."""
    p: float | None = row["p_holm"]
    return p < _LEAST_P if p is not None else row["runs"] > 1 and row["difference"] != 0.0


def p_text(row: Mapping[str, Any]) -> str:
    """The adjusted p-value of a difference, or why it has none."""
    if row["p_holm"] is not None:
        return f"{row['p_holm']:.2g}"
    return "one run" if row["runs"] == 1 else "no spread"


_WORDS = {
    "goodput_bps": "goodput",
    "loss_ratio": "share of lost packets",
    "dropped_pkts": "number of lost packets",
    "delivered_pkts": "number of delivered packets",
    "retransmitted_pkts": "number of retransmissions",
    "timeouts": "number of timeouts",
    "spurious_timeouts": "number of spurious timeouts",
    "handover_timeouts": "number of timeouts by handovers",
    "reordered_ratio": "share of reordered packets",
    "disruption_s": "longest disruption by a handover",
    "completion_s": "completion time",
    "jitter_s": "jitter",
    "mos": "mean opinion score",
    "frame_loss_ratio": "share of lost frames",
    "freeze_s": "time in which the picture stands still",
    "page_load_s": "mean load time of the pages",
    "rebuffering_ratio": "share of the play-out time in stalls",
    "jain": "Jain's index of fairness",
}
"""Metrics in words; others are called by their names."""


def _words(metric: str) -> str:
    """A metric as the subject of a sentence: "The goodput of download"."""
    of, _, name = metric.rpartition(".")
    flow = of.removeprefix("flows.")
    if name not in _WORDS:
        return metric
    article = "" if name == "jain" else "The "
    return f"{article}{_WORDS[name]}{f' of {flow}' if flow else ''}"


def _called(name: str) -> str:
    """A scenario or point in a sentence: its file without the folder and the extension."""
    return PurePath(name).name.removesuffix(".toml")


def _extremes(means: pl.DataFrame) -> str:
    """Where the first metric is least and most."""
    if means.is_empty():
        return "No run defines any of the metrics."
    rows = means.filter((pl.col("metric") == means["metric"][0]) & pl.col("mean").is_finite()).sort("mean")
    if rows.is_empty():
        return f"No run defines {means['metric'][0]}."
    factor, unit = scale(rows["mean"], rows["unit"][0])
    named = "" if unit == "1" else f" {unit}"
    least, most = (f"{number(rows['mean'][at] / factor)}{named} at {rows['name'][at]}" for at in (0, -1))
    metric = rows["metric"][0]
    return f"{metric} goes from {least} to {most}." if rows.height > 1 else f"{metric} is {least}."


def _difference_tables(frame: pl.DataFrame) -> list[Table]:
    tables = []
    for (metric,), rows in frame.group_by("metric", maintain_order=True):
        factor, unit = scale([*rows["reference"], *rows["difference"]], rows["unit"][0])
        headings = ("compared", "baseline's mean", "difference", "95 % interval", "runs", "p (Holm)")
        cells = [
            (
                row["name"],
                *(number(row[column] / factor) for column in ("reference", "difference")),
                f"{number(row['low'] / factor)} … {number(row['high'] / factor)}",
                str(row["runs"]),
                p_text(row),
            )
            for row in rows.iter_rows(named=True)
        ]
        tables.append(Table(f"Differences: {named(metric, unit)}", headings, cells))
    return tables


def _mean_tables(means: pl.DataFrame) -> list[Table]:
    tables = []
    for (metric,), rows in means.group_by("metric", maintain_order=True):
        factor, unit = scale(rows["mean"], rows["unit"][0])
        cells = [
            (row["name"], number(row["mean"] / factor), _interval(row, factor), str(row["runs"]))
            for row in rows.iter_rows(named=True)
        ]
        tables.append(
            Table(f"Means: {named(metric, unit)}", ("point", "mean", "95 % interval", "runs"), cells)
        )
    return tables


def _interval(row: dict[str, Any], factor: float) -> str:
    if row["runs"] < 2:
        return "one run"
    return f"{number(row['low'] / factor)} … {number(row['high'] / factor)}"


def _report(
    *,
    title: str,
    paper: str,
    headline: str,
    figures: Sequence[SavedFigure],
    tables: Sequence[Table],
    seed: int,
) -> Report:
    return Report(
        title=title,
        paper=paper,
        headline=headline,
        claims=(),
        figures=figures,
        tables=tables,
        parameters=(),
        assumptions=(),
        origin=(("engine build", _roamlab.build_hash()), ("seed", str(seed))),
    )
