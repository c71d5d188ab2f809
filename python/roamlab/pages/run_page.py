"""`roamlab report`: a run as one page, with its moves, stalls and causes, flows, and messages."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from roamlab.base.figures import label, new_figure, save
from roamlab.base.quantities import number, scale
from roamlab.causes import explain as explaining
from roamlab.pages.noticed import Noticed, noticed
from roamlab.records import analysis, live, metrics
from roamlab.records.totals import Row, Totals
from roamlab.showing import terminal
from roamlab.showing.chart import chart
from roamlab.showing.page import Table
from roamlab.showing.report import Finding, Report, handover

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from roamlab.base.figures import SavedFigure
    from roamlab.causes.explain import Explanation
    from roamlab.records.analysis import SlowPeriod, Stall
    from roamlab.records.results import Results
    from roamlab.showing.report import Handover

DRAWN, QUEUES, CHARTS, TOLD = 6, 4, 8, 10
"""Most flows and queues drawn, handovers shown message by message, and stalls reported."""
_ANY = "`roamlab chart --host HOST --handover N` draws any"
_POINTS = 4_000
"""A line has about this number of points at most."""


def make(results: Results, folder: Path) -> tuple[Report, str]:
    """The page of a run, with figures in `folder`, and a note if the run was made again for it, or ""."""
    results, note = explaining.with_record(results)
    stalls = explaining.explain(results)
    felt = noticed(results)
    moves = entries(results)
    figures = [_received(results, stalls, moves, folder)]
    if results.queues.height:
        figures.append(_queues(results, moves, folder))
    manifest, totals = results.manifest, Totals.of(results, terminal.NEEDED)
    left = len(moves) > CHARTS
    page = Report(
        title=f"{PurePath(manifest.scenario_name).name}, seed {manifest.seed}, run {manifest.run}",
        paper=" ".join(
            [
                "This is one run. `roamlab compare` tells two scenarios apart by many.",
                *(
                    [
                        f"The first {CHARTS} of {len(moves)} handovers are shown here message by message; {_ANY}."
                    ]
                    if left
                    else []
                ),
            ]
        ),
        headline=headline(results),
        claims=(),
        findings=[
            Finding(
                f"{each.word.capitalize()} {each.number}: {each.stall.flow}", each.sentences, _around(each)
            )
            for each in stalls[:TOLD]
        ],
        figures=figures,
        handovers=_handovers(results, moves, folder),
        tables=[
            *([_noticed(felt)] if felt else []),
            _flows(totals.flows),
            _drops(totals.drops),
            *([_stalls(stalls)] if stalls else []),
            *([Table("Real time", ("what", "value"), told)] if (told := live.facts(manifest.live)) else []),
            _warnings(results),
        ],
        parameters=(),
        assumptions=(),
        origin=(
            ("engine build", manifest.build_hash),
            ("version", manifest.version),
            ("seed", str(manifest.seed)),
            ("run", str(manifest.run)),
        ),
        source=manifest.scenario_text,
    )
    return page, note


def _around(told: Explanation) -> tuple[float, float]:
    """A stall with a third of its length before and behind it, in s."""
    begin, end = told.stall.start_ns / 1e9, told.stall.end_ns / 1e9
    return begin - (end - begin) / 3, end + (end - begin) / 3


def entries(results: Results) -> list[tuple[str, int, float]]:
    """Host, number of the visit and time in s of each entry of a further cell."""
    rows = results.handovers.filter(pl.col("visit") > 0).with_columns(pl.col("host").cast(pl.String))
    first = rows.group_by("host", "visit", maintain_order=True).agg(pl.col("time_ns").min())
    return [(host, visit, at / 1e9) for host, visit, at in first.sort("time_ns").iter_rows()]


def headline(results: Results) -> str:
    """A run in one sentence: who moved, the longest stall, the worst slow period, a picture that froze."""
    still = [each for each in noticed(results) if each.still_s > 0.0]
    worst = max(still, key=lambda each: each.still_s, default=None)
    seen = f"; the picture of {worst.flow} froze for {worst.still_s:.3g} s" if worst else ""
    return f"{analysis.headline(results)}{seen}."


def _received(
    results: Results, stalls: list[Explanation], moves: list[tuple[str, int, float]], folder: Path
) -> SavedFigure:
    """Data received by flows over time: those that stalled longest, then those of hosts that move, then others."""
    shown = chosen(results, stalls)[:DRAWN]
    rows = results.columns("deliveries")
    totals = {}
    for flow in shown:
        new = rows.where("flow", flow) & rows["fresh"].astype(bool)
        times = np.asarray(metrics.seconds(rows, chosen=new))
        every = max(1, times.size // _POINTS)
        totals[flow] = times[::every], np.cumsum(rows["bytes"][new].astype(float))[::every]
    with new_figure() as (figure, (axes,)):
        for flow, (times, sizes) in totals.items():
            axes.step(times, sizes / 1e3, where="post", label=flow)
        stalled = list(dict.fromkeys(each.stall.flow for each in stalls if each.stall.flow in shown))
        drawn = [each for each in stalls if each.stall.flow in stalled[:1]][:TOLD]
        slow = list(dict.fromkeys(each.slow for each in drawn if each.slow))
        silent = [each.stall for each in drawn if not each.stall.is_slow]
        shades: tuple[tuple[Sequence[SlowPeriod | Stall], str, str], ...] = (
            (slow, "slow period", "0.93"),
            (silent, "stall", "0.8"),
        )
        for spans, name, shade in shades:
            for at, span in enumerate(spans):
                said = name if at == 0 else "_"
                axes.axvspan(span.start_ns / 1e9, span.end_ns / 1e9, color=shade, zorder=0, label=said)
        _mark(axes, moves)
        axes.set_xlim(0.0, results.manifest.outline.duration_ns / 1e9)
        axes.set_ylim(bottom=0.0)
        if shown:
            axes.legend(loc="upper left")
        label(axes, ("time", "s"), ("received", "kB"))
        left = results.flows.height - len(shown)
        rest = f" {left} more flows are in the table." if left else ""
        whose = f" of {stalled[0]}" if len(stalled) > 1 else ""
        # Only parts of the figure are explained.
        dotted = " Dotted: a host enters a further cell." if moves else ""
        stall = f"a stall{whose}, in which it got nothing new though there was some"
        period = f"a slow period{whose}, at less than half of the rate before"
        shaded = {
            (True, True): f" Shaded: {stall}; lighter: {period}.",
            (True, False): f" Shaded: {stall}.",
            (False, True): f" Shaded: {period}.",
        }.get((bool(silent), bool(slow)), "")
        whose = f"of {len(shown)} flows" if left else "flow"
        caption = f"New data that each {whose} has received.{dotted}{shaded}{rest}"
        return save(figure, folder, "received", caption)


def chosen(results: Results, stalls: list[Explanation]) -> list[str]:
    """All flows: those that stalled longest, then those of hosts that move, then the others."""
    hosts = {host for host, _, _ in entries(results)}
    flows = results.flows.select(pl.col("flow", "source", "destination").cast(pl.String)).rows()
    moving = [flow for flow, *ends in flows if hosts.intersection(ends)]
    order = [*(each.stall.flow for each in stalls), *moving, *(flow for flow, *_ in flows)]
    return list(dict.fromkeys(order))


def _mark(axes: Axes, moves: list[tuple[str, int, float]]) -> None:
    for _, _, at in moves[:_LINES]:
        axes.axvline(at, color="0.4", linestyle=":", linewidth=0.8)


_LINES = 40
"""More entries of cells than this would be a grey ground."""


def _queues(results: Results, moves: list[tuple[str, int, float]], folder: Path) -> SavedFigure:
    """The longest of the recorded queues over time."""
    samples = results.queues.with_columns(pl.col("queue").cast(pl.String))
    lengths = (
        samples.group_by("queue")
        .agg(pl.col("packets").max())
        .sort("packets", "queue", descending=[True, False])
    )
    names = lengths["queue"].to_list()
    with new_figure(rows=len(names[:QUEUES]), row_inches=1.7) as (figure, axes):
        for axis, name in zip(axes, names[:QUEUES], strict=True):
            own = samples.filter(pl.col("queue") == name)
            bins = own.with_columns(bin=pl.col("time_ns") * _POINTS // results.manifest.outline.duration_ns)
            drawn = bins.group_by("bin", maintain_order=True).agg(
                pl.col("time_ns").first(), pl.col("packets").max()
            )
            axis.step(
                drawn["time_ns"].to_numpy() / 1e9, drawn["packets"].to_numpy(), where="post", linewidth=0.8
            )
            _mark(axis, moves)
            axis.set_xlim(0.0, results.manifest.outline.duration_ns / 1e9)
            axis.set_ylim(bottom=0.0)
            axis.set_title(name, loc="left", fontsize=9)
            label(axis, ("time", "s"), ("queue", "pkt"))
            axis.label_outer()
        left = f", the {QUEUES} longest of {len(names)}" if len(names) > QUEUES else ""
        caption = (
            f"Packets that wait in the recorded queues{left}; each point is the largest number within 1/{_POINTS} of "
            "the run. Dotted: a host enters a further cell."
        )
        return save(figure, folder, "queues", caption)


def _handovers(results: Results, moves: list[tuple[str, int, float]], folder: Path) -> list[Handover]:
    if not results.signalling.height:
        return []
    made = []
    for count, (host, visit, at) in enumerate(moves[:CHARTS], start=1):
        of = chart(results, host, visit)
        caption = f"The messages of {of.title}, at {at:.3f} s."
        made.append(handover(of, folder, f"handover{count}", caption))
    return made


def _flows(flows: list[Row]) -> Table:
    factor, unit = scale((flow["goodput_bps"] for flow in flows), "bit/s")
    rows = [(*terminal.shown(flow), number(flow["goodput_bps"] / factor)) for flow in flows]
    return Table("Flows", (*terminal.COLUMNS.values(), f"goodput [{unit}]"), rows)


def _drops(drops: list[Row]) -> Table:
    rows = [tuple(map(str, row.values())) for row in drops]
    return Table("Drops", ("place", "reason", "packets"), rows)


def _stalls(stalls: list[Explanation]) -> Table:
    rows = [
        (
            str(each.number),
            each.word,
            each.stall.flow,
            f"{each.stall.start_ns / 1e9:.3f}",
            f"{each.stall.length_ns / 1e9:.3f}",
            f"{each.slow.length_ns / 1e9:.3f}" if each.slow else "",
            each.named or "nothing that the record names",
        )
        for each in stalls
    ]
    headings = ("number", "what", "flow", "from [s]", "length [s]", "slow period [s]", "suspected first")
    return Table("Stalls and slow periods", headings, rows)


def _noticed(felt: list[Noticed]) -> Table:
    return Table(
        "What people notice",
        ("flow", "application", "what"),
        [(each.flow, each.application, each.sentence) for each in felt],
    )


def _warnings(results: Results) -> Table:
    return Table("Warnings", ("warning",), [(text,) for text in results.warnings])
