"""The answer of a question: its runs, the curve of each case, and the sentence with the numbers of the first runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from roamlab.gallery.questions import SEED
from roamlab.records import metrics
from roamlab.running.run import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roamlab.gallery.questions import Drawing, Number, Question
    from roamlab.records.results import Results

REPETITIONS = 3
"""Runs of each case. Picture and sentence are of the first; the conditions must hold in all."""

Points = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Times in s, and values."""


@dataclass(frozen=True)
class Curve:
    """Drawn data of a case."""

    points: Points
    lost_s: NDArray[np.float64]
    """When packets of the flow were lost."""


@dataclass(frozen=True)
class Answer:
    """The answer of a question, from its runs."""

    question: Question
    curves: Mapping[str, Curve]
    """By case, of its first run."""
    sentence: str
    broken: list[str]
    """Conditions that a repetition does not meet."""


def answer(question: Question, repetitions: int = REPETITIONS) -> Answer:
    """Make the runs of a question and answer it."""
    sentence, curves, broken = "", {}, []
    for number in range(repetitions):
        runs = {name: simulate(question.case(name), SEED, number) for name in question.cases}
        drawn = {name: curve(results, question.draw) for name, results in runs.items()}
        values = {
            name: _value(each, runs[each.case], drawn[each.case]) for name, each in question.numbers.items()
        }
        broken += [f"run {number}: {each}, with {values}" for each in question.met(values)]
        if number == 0:
            sentence, curves = question.answer.format_map(values), drawn
    return Answer(question, curves, sentence, broken)


def _value(number: Number, results: Results, drawn: Curve) -> float:
    family, _, what = number.metric.partition(".")
    if number.metric == "handovers":
        return number.factor * int(results.columns("handovers").where("phase", "link-down").sum())
    if family != "drawn":
        return number.factor * results.metric(number.metric)
    times, values = drawn.points
    steps = np.diff(times)
    found = {"max": values.max(), "last": values[-1], "gap": steps.max()}
    found["mean"] = (values[:-1] * steps).sum() / steps.sum()
    return number.factor * float(found[what])


def curve(results: Results, draw: Drawing) -> Curve:
    """Content of a drawing of a run."""
    if draw.what == "queue":
        return Curve(_queue(results, draw), np.empty(0))
    lost = metrics.losses(results, draw.of)
    times, values = {"received": _received, "delay": _delay, "window": _window}[draw.what](results, draw)
    return Curve(_within(times, values, draw), lost[(lost >= draw.begin_s) & (lost <= draw.end_s)])


def _within(times: NDArray[np.float64], values: NDArray[np.float64], draw: Drawing) -> Points:
    chosen = (times >= draw.begin_s) & (times <= draw.end_s)
    return times[chosen], values[chosen]


def _received(results: Results, draw: Drawing) -> Points:
    """Data that a flow has received since the begin, in kB."""
    rows = results.columns("deliveries")
    new = rows.where("flow", draw.of) & rows["fresh"]
    times = metrics.seconds(rows, chosen=new)
    at, held = _lasting(times, np.cumsum(rows["bytes"][new] / 1e3), draw)
    return at, held - held[0]


def _delay(results: Results, draw: Drawing) -> Points:
    """The delay of each packet of a flow when it arrives, in ms."""
    rows = results.columns("deliveries")
    own = rows.where("flow", draw.of)
    times = metrics.seconds(rows, chosen=own)
    return times, 1e3 * (times - metrics.seconds(rows, "sent_ns", own))


def _window(results: Results, draw: Drawing) -> Points:
    """The congestion window of a flow, in packets."""
    rows = results.columns("tcp")
    own = rows.where("flow", draw.of)
    return _lasting(metrics.seconds(rows, chosen=own), rows["cwnd"][own], draw)


def _queue(results: Results, draw: Drawing) -> Points:
    """The packets that wait in a queue."""
    rows = results.columns("queue")
    own = rows.where("queue", draw.of)
    return _lasting(metrics.seconds(rows, chosen=own), rows["packets"][own], draw)


def _lasting(times: NDArray[np.float64], values: NDArray[Any], draw: Drawing) -> Points:
    """A value that is kept until the next one: from the begin to the end of the picture."""
    at = np.concatenate(([draw.begin_s], times[(times > draw.begin_s) & (times < draw.end_s)], [draw.end_s]))
    known = np.concatenate(([0.0], values))
    return at, known[np.searchsorted(times, at, "right")].astype(np.float64)
