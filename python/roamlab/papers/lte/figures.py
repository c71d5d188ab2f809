"""The paper's figures 4 and 8 to 12, the message charts of figs. 2, 5 and 6 as they ran, and the fate of predictions.

Trajectories are those of one run and are marked as such; shares and means are over all runs, with 95 %
intervals.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.figures import BLUE, GREEN, ORANGE, VERMILION, label, new_figure
from roamlab.papers import texts
from roamlab.papers.drawing import bars, differences, errorbars, mark, panel, saved
from roamlab.papers.lte import claims, model, modelfit
from roamlab.papers.lte.evidence import FIG12, PEAKS
from roamlab.papers.lte.experiments import PREDICTIONS, SCHEMES, TARGETS
from roamlab.showing.report import Handover, handover
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from roamlab.base.figures import SavedFigure
    from roamlab.papers.lte.evidence import Anatomy, Evidence, Traced
    from roamlab.papers.lte.experiments import Scheme
    from roamlab.papers.lte.model import Case
    from roamlab.showing.chart import Chart

NAMES: dict[Scheme, str] = {
    "standard": "standard",
    "fast": "fast path switch",
    "predictive": "prediction",
}
CASES: dict[Case, str] = {"timeout": "timeout", "halving": "window halving", "ideal": "ideal"}
_COLOURS: dict[Case, str] = {"timeout": VERMILION, "halving": ORANGE, "ideal": BLUE}
_SPAN_S = (2.0, 3.4)


def drawings(
    anatomy: Anatomy, found: Evidence, traced: Callable[[], Traced], folder: Path
) -> dict[str, Callable[[], SavedFigure]]:
    """All figures; `traced`: `evidence.traces`."""
    return {
        "fig4": partial(_model, anatomy, folder),
        "fit": partial(_fit, found, folder),
        "fig8": partial(_probabilities, found, "standard", folder, "fig8"),
        "fig9": partial(_windows, traced, folder),
        "fig10": partial(_round_trips, traced, folder),
        "fig11": partial(_probabilities, found, "predictive", folder, "fig11"),
        "fig12": partial(_delivered, found, folder),
        "predictions": partial(_predictions, anatomy, folder),
    }


CHARTS: dict[Scheme, str] = {"standard": "fig2", "fast": "fig5", "predictive": "fig6"}
"""The paper's figure with the message chart of a scheme."""


def messages(made: Chart, scheme: Scheme, folder: Path) -> Handover:
    """The message sequence chart of one handover."""
    name = CHARTS[scheme]
    return handover(made, folder, name, texts("lte").captions[name])


def _model(anatomy: Anatomy, folder: Path) -> SavedFigure:
    cases: tuple[Case, ...] = ("halving", "timeout")
    with new_figure(rows=2) as (figure, axes):
        for axis, case in zip(axes, cases, strict=True):
            for part, name in ((1.0, "at cwnd_MAX"), (0.5, "mid-interval")):
                axis.plot(claims.CURVE, claims.curve(case, part, "literal"), label=f"model, {name}")
            for part, name in ((1.0, "at cwnd_MAX"), (0.5, "mid-interval")) if case == "timeout" else ():
                curve = claims.curve(case, part, "trajectory")
                axis.plot(claims.CURVE, curve, label=f"areas of fig. 3, {name}")
            simulated = {window: modelfit.normalised(anatomy, window)[case] for window in PEAKS}
            points = {window: student(values) for window, values in simulated.items() if len(values) > 1}
            style = _POINTS | {"markersize": 4, "label": "simulated, at cwnd_MAX"}
            errorbars(axis, points, list(points.values()), color="black", marker="o", **style)
            axis.set_ylim(0.0, 1.15)
            axis.set_yticks(np.arange(0.0, 1.01, 0.2))
            axis.legend(loc="lower right", ncols=2)
            panel(axis, CASES[case], ("cwnd_MAX", "segments"), ("data over ideal", "1"))
        return saved("lte", figure, folder, "fig4", runs=len(anatomy.peaks[44, True]))


def _fit(found: Evidence, folder: Path) -> SavedFigure:
    fits = modelfit.fits(found)
    with new_figure(rows=2) as (figure, (upper, lower)):
        places = np.arange(len(fits), dtype=float)
        errorbars(upper, places, [fit.simulated for fit in fits], **_mark("simulated", "black", "o"))
        for interpretation, name, shift, marker, colour in _INTERPRETATIONS:
            predicted = [fit.predicted[interpretation] for fit in fits]
            style: dict[str, Any] = {
                "color": colour,
                "marker": marker,
                "linestyle": "none",
                "label": f"predicted, {name}",
            }
            upper.plot(places + shift, predicted, **style)
            residuals = [fit.residual[interpretation] for fit in fits]
            errorbars(lower, places + shift, residuals, **_mark(name, colour, marker))
        lower.axhline(0.0, color="0.4", linewidth=0.8)
        before = _mark("arisen before the handover", "black", "o")
        errorbars(lower, places, [fit.before for fit in fits], **before)
        upper.set_ylim(0.0, 1.1 * max(max(fit.simulated.high, *fit.predicted.values()) for fit in fits))
        lower.margins(y=0.35)
        upper.legend(loc="lower left", ncols=3)
        lower.legend(loc="lower left", ncols=3)
        upper.set_xticks(places, [fit.group for fit in fits])
        axis_name = ("mobiles in source + target cell", "1")
        label(upper, axis_name, ("delivered", "segments"))
        label(lower, axis_name, ("residual", "segments"))
        upper.label_outer()
        return saved("lte", figure, folder, "fit")


_POINTS: dict[str, Any] = {"linestyle": "none", "capsize": 3}


def _mark(name: str, colour: str, marker: str) -> dict[str, Any]:
    return _POINTS | {"color": colour, "marker": marker, "label": name}


_INTERPRETATIONS: tuple[tuple[model.Interpretation, str, float, str, str], ...] = (
    ("literal", "equations as printed", -0.12, "s", BLUE),
    ("trajectory", "areas of fig. 3", 0.12, "^", VERMILION),
)


def _probabilities(found: Evidence, scheme: Scheme, folder: Path, name: str) -> SavedFigure:
    with new_figure() as (figure, (axis,)):
        for at, case in enumerate(CASES):
            for n in TARGETS:
                share = claims.share_of(case, found.forwarding[scheme, n])
                name_once = CASES[case] if n == TARGETS[0] else None
                bars(axis, [n + 0.27 * (at - 1)], [share], 0.25, _COLOURS[case], name_once)
        axis.set_xticks(TARGETS)
        axis.set_ylim(0.0, 1.18)
        axis.set_yticks(np.arange(0.0, 1.01, 0.2))
        axis.legend(loc="upper center", ncols=3)
        label(axis, ("mobiles in the target cell", "1"), ("probability", "1"))
        runs = len(found.forwarding[scheme, TARGETS[0]])
        return saved("lte", figure, folder, name, runs=runs)


def _windows(traced: Callable[[], Traced], folder: Path) -> SavedFigure:
    number, traces = traced()
    with new_figure(rows=len(SCHEMES)) as (figure, axes):
        for axis, scheme in zip(axes, SCHEMES, strict=True):
            trace = traces[scheme]
            axis.step(trace.window_times, trace.window, where="post")
            for at, kind in trace.timeouts:
                if _SPAN_S[0] <= at <= _SPAN_S[1]:
                    arrow = {"arrowstyle": "->"}
                    axis.annotate(
                        f"{kind} timeout", (at, 2.0), (at + 0.03, 32.0), fontsize=8, arrowprops=arrow
                    )
            mark(axis, (trace.command_s, trace.attached_s))
            axis.set_xlim(*_SPAN_S)
            axis.set_ylim(0, 48)
            panel(axis, NAMES[scheme], ("time", "s"), ("cwnd in use", "segments"))
        return saved("lte", figure, folder, "fig9", number=number)


def _round_trips(traced: Callable[[], Traced], folder: Path) -> SavedFigure:
    _, traces = traced()
    with new_figure(rows=len(SCHEMES)) as (figure, axes):
        for axis, scheme in zip(axes, SCHEMES, strict=True):
            trace = traces[scheme]
            shown = (trace.times >= _SPAN_S[0]) & (trace.times <= _SPAN_S[1])
            style: dict[str, Any] = {"marker": ".", "markersize": 3, "linestyle": "none", "rasterized": True}
            axis.plot(trace.times[shown], trace.round_trips[shown] * 1e3, **style)
            axis.axhline(200.0, color="0.4", linestyle="--", linewidth=0.8)
            mark(axis, (trace.command_s, trace.attached_s))
            axis.set_xlim(*_SPAN_S)
            axis.set_ylim(0, 300)
            panel(axis, NAMES[scheme], ("time of arrival", "s"), ("round trip", "ms"))
        return saved("lte", figure, folder, "fig10")


def _delivered(found: Evidence, folder: Path) -> SavedFigure:
    names = {"droptail": "drop-tail", "red": "RED, dropping", "mark": "RED, marking"}
    colours = {"droptail": BLUE, "red": ORANGE, "mark": GREEN}
    with new_figure(rows=2, share_x=False) as (figure, (axis, lower)):
        for at, (scheme, aqm) in enumerate(FIG12):
            mean = student([run.handover.handover_bytes / 1e3 for run in found.active[scheme, aqm]])
            place = at % 3 * 0.27 + at // 3
            bars(axis, [place], [mean], 0.25, colours[aqm], names[aqm] if at < 3 else None)
        axis.set_xticks([0.27, 1.27], ["standard", "prediction"])
        axis.margins(y=0.2)
        axis.set_ylim(bottom=0.0)
        axis.legend(loc="upper right", ncols=3, fontsize=8, columnspacing=1.0)
        label(axis, ("handover procedure", "1"), ("delivered", "kB"))
        apart = (*claims.fig12_more(found).measures, *claims.fig12_both(found).measures)
        differences(lower, apart, "difference of what is delivered")
        runs = len(found.active["standard", "droptail"])
        return saved("lte", figure, folder, "fig12", runs=runs)


def _predictions(anatomy: Anatomy, folder: Path) -> SavedFigure:
    with new_figure(rows=2) as (figure, (upper, lower)):
        for at, name in enumerate(PREDICTIONS):
            for comes, colour in ((True, BLUE), (False, VERMILION)):
                runs = anatomy.predictions[name, comes]
                shown = ("the handover comes" if comes else "it does not") if at == 0 else None
                place = at + (-0.2 if comes else 0.2)
                silence = student([run.silence_s * 1e3 for run in runs])
                received = student([run.received for run in runs])
                bars(upper, [place], [silence], 0.36, colour, shown)
                bars(lower, [place], [received], 0.36, colour, None)
        lower.set_xticks(range(len(PREDICTIONS)), list(PREDICTIONS))
        upper.legend(loc="upper left", ncols=2)
        upper.margins(y=0.25)
        label(upper, ("handover predicted", "1"), ("longest silence", "ms"))
        label(lower, ("handover predicted", "1"), ("received in 1.5 s", "pkt"))
        upper.label_outer()
        runs_made = len(anatomy.predictions["none", True])
        return saved("lte", figure, folder, "predictions", runs=runs_made)
