"""The results of `roamlab compare` and `roamlab sweep`, as one page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab import _roamlab
from roamlab.base.quantities import counted, named, number, scale, with_unit
from roamlab.showing.page import Table
from roamlab.showing.report import Report
from roamlab.statistics.stats import LEAST
from roamlab.sweeps import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roamlab.base.figures import SavedFigure

_LEAST_P = 0.05


def differences(
    frame: pl.DataFrame, baseline: str, other: str, seed: int, figures: Sequence[SavedFigure]
) -> Report:
    """The page of a comparison with its figures; `frame` as `compare.differences` gives it."""
    return _report(
        title=f"{words.called(other, baseline)} compared with {words.called(baseline, other)}",
        paper=f"Paired differences to {baseline}: run n of both draws from the same random streams. Intervals are of "
        "95 %; p-values are corrected for their number after Holm.",
        headline=headline(frame, baseline),
        figures=figures,
        tables=_difference_tables(frame, "scenario"),
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
        title=f"Sweep of {words.called(name)}",
        paper="Means of the runs of each point, with 95 % intervals.",
        headline=headline(*found) if found is not None and compared else _extremes(means),
        figures=figures,
        tables=[
            *_mean_tables(means),
            *(_difference_tables(found[0], "point") if found is not None and compared else []),
        ],
        seed=seed,
    )


def headline(frame: pl.DataFrame, baseline: str) -> str:
    """The difference of the metric that was asked first, in words, and how many are significant.

    If that metric shows nothing, the headline reports this and continues with the next that does.
    """
    stand = frame.filter([tells(row) for row in frame.iter_rows(named=True)])
    if stand.is_empty():
        most = int(frame["runs"].max())  # type: ignore[arg-type]
        if most < LEAST:
            made = counted(most, "run is", "runs are")
            return f"{made} too few to compare with {words.called(baseline)}: make {LEAST} or more."
        return f"No difference to {words.called(baseline)} is significant: these runs do not tell the scenarios apart."
    verb = "is" if stand.height == 1 else "are"
    count = f"{stand.height} of {frame.height} differences" if frame.height > 1 else "The one difference"
    asked = frame["metric"][0]
    first_told = stand["metric"][0]
    ratio = (pl.col("difference") / pl.col("reference")).abs().fill_nan(0.0)
    clearest = (pl.col("p_holm").fill_null(0.0), -ratio)
    row = stand.filter(metric=first_told).sort(*clearest, maintain_order=True).row(0, named=True)
    factor, unit = scale([row["reference"], row["difference"]], row["unit"])
    values = (row["reference"] + row["difference"], row["reference"])
    theirs, ours = (with_unit(number(value / factor), unit) for value in values)
    ends = sorted(abs(row[column] / factor) for column in ("low", "high"))
    more = "more" if row["difference"] > 0 else "less"
    known = all(map(math.isfinite, ends)) and ends[0] != ends[1] and row["low"] * row["high"] > 0
    what, other = words.subject(row["metric"]), words.called(row["name"], baseline)
    first = f"{what} is {theirs} with {other} and {ours} with {words.called(baseline, row['name'])}"
    less = f"{number(ends[0])} to {with_unit(number(ends[1]), unit)} {more}"
    spread = f": {less} with {other} (95 % interval)" if known else ""
    without = "" if first_told == asked else f"{words.subject(asked)} does not differ significantly. "
    same = stand["p_holm"].null_count()
    if not same:
        how = f"{verb} significant after Holm's correction"
    elif same == stand.height:
        how = f"{verb} the same in all runs"
    else:
        alone = "is" if same == 1 else "are"
        how = f"{verb} clear: {stand.height - same} by Holm's correction, and {same} {alone} the same in all runs"
    return f"{without}{first}{spread}. {count} {how}."


def tells(row: Mapping[str, Any]) -> bool:
    """True if a difference is significant after Holm's correction, or not 0 and the same in all of several runs.

    Fewer than `LEAST` runs do not show their spread, and tell nothing.
    """
    p: float | None = row["p_holm"]
    if row["runs"] < LEAST:
        return False
    return p < _LEAST_P if p is not None else bool(row["difference"] != 0.0)


def p_text(row: Mapping[str, Any]) -> str:
    """The adjusted p-value of a difference, or why it has none."""
    if row["p_holm"] is not None:
        return f"{row['p_holm']:.2g}"
    return "one run" if row["runs"] == 1 else "no spread"


def _extremes(means: pl.DataFrame) -> str:
    """Where the first metric is least and most."""
    if means.is_empty():
        return "No run defines any of the metrics."
    rows = means.filter((pl.col("metric") == means["metric"][0]) & pl.col("mean").is_finite()).sort("mean")
    if rows.is_empty():
        return f"No run defines {means['metric'][0]}."
    factor, unit = scale(rows["mean"], rows["unit"][0])
    shown = [with_unit(number(rows["mean"][at] / factor), unit) for at in (0, -1)]
    least, most = (f"{value} at {rows['name'][at]}" for value, at in zip(shown, (0, -1), strict=True))
    metric = rows["metric"][0]
    what = words.subject(metric)
    return f"{what} goes from {least} to {most}." if rows.height > 1 else f"{what} is {least}."


def _difference_tables(frame: pl.DataFrame, first: str) -> list[Table]:
    tables = []
    for (metric,), rows in frame.group_by("metric", maintain_order=True):
        factor, unit = scale([*rows["reference"], *rows["difference"]], rows["unit"][0])
        headings = (first, "mean", "baseline's mean", "difference", "95 % interval", "runs", "p (Holm)")
        cells = [
            (
                row["name"],
                number((row["reference"] + row["difference"]) / factor),
                *(number(row[column] / factor) for column in ("reference", "difference")),
                interval(row, factor),
                str(row["runs"]),
                p_text(row),
            )
            for row in rows.iter_rows(named=True)
        ]
        tables.append(Table(f"Differences: {named(words.heading(metric), unit)}", headings, cells))
    return tables


def _mean_tables(means: pl.DataFrame) -> list[Table]:
    tables = []
    for (metric,), rows in means.group_by("metric", maintain_order=True):
        factor, unit = scale(rows["mean"], rows["unit"][0])
        cells = [
            (row["name"], number(row["mean"] / factor), interval(row, factor), str(row["runs"]))
            for row in rows.iter_rows(named=True)
        ]
        tables.append(
            Table(
                f"Means: {named(words.heading(metric), unit)}",
                ("point", "mean", "95 % interval", "runs"),
                cells,
            )
        )
    return tables


def interval(row: Mapping[str, Any], factor: float) -> str:
    """The 95 % interval of a mean or a difference, in the unit of this factor; one run has none."""
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
