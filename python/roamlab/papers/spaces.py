"""Open points of a paper, as a space, and its claims under settings of it: runs, outcomes, and settings for people."""

from __future__ import annotations

import math
import time
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from roamlab.base.errors import unknown_name
from roamlab.base.quantities import with_unit
from roamlab.base.screen import say
from roamlab.papers import sentences
from roamlab.papers.runs import Batch, Drawn
from roamlab.statistics.axes import Axis, Outcome, Setting, Value, shortfall
from roamlab.statistics.claims import interval_text, too_few
from roamlab.statistics.stats import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from roamlab.base.errors import BadInput
    from roamlab.statistics.claims import Claim, Measure, Verdict
    from roamlab.statistics.space import Robustness

    Ask = Callable[[Batch, Any, range], Callable[[], Sequence[Claim]]]

R = TypeVar("R")

LOG_SECONDS = 10.0

AXES = "axes.toml"
"""In a paper's package: its axes."""


@dataclass(frozen=True)
class Space(Generic[R]):
    """Open points of a paper, and how its claims are decided under one choice of it all."""

    title: str
    default: R
    """The interpretation with the first value on each axis; a dataclass."""
    axes: Sequence[Axis]
    ask: Callable[[Batch, R, range], Callable[[], Sequence[Claim]]]
    """Asks for the runs of these numbers under an interpretation; decides the claims once the batch is made."""
    runs: int
    """Runs of each experiment under each setting."""
    confirm: int
    """Runs, others than those, of each experiment for a closer look; as many again where a verdict turns."""

    beside: Callable[[Batch, R, range], Callable[[], Sequence[Claim]]] | None = None
    """The same for claims that few of the axes touch: they are decided in the settings tried, and do not steer."""
    few: int | None = None
    """Runs of each experiment for these, if not `runs`: some vary little."""
    beside_drawn: int | None = None
    """They are decided in this number of the settings drawn, if not in all: where they cost more than the others."""
    settings: int = 200
    """Settings that a search tries unless another number is asked for: of a search of 20 minutes on two cores."""
    whole: Callable[[Batch, range], Callable[[], Sequence[Claim]]] | None = None
    """All claims under the default as the reproduction decides them, with all its points, from the runs with these
    numbers. Without it, what `ask` and `beside` decide."""

    def __post_init__(self) -> None:
        if min(self.runs, self.confirm) < LEAST:
            raise ValueError(f"{self.title}: {too_few(min(self.runs, self.confirm))}")

    def ask_whole(self, batch: Batch, numbers: range) -> Callable[[], Sequence[Claim]]:
        """Asks for the runs of all claims under the default, as the reproduction decides them."""
        if self.whole is not None:
            return self.whole(batch, numbers)
        asks = [ask for ask in (self.ask, self.beside) if ask is not None]
        decides = [ask(batch, self.default, numbers) for ask in asks]
        return lambda: [claim for decide in decides for claim in decide()]

    @property
    def paper(self) -> str:
        """The name of the paper's package."""
        return self.ask.__module__.split(".")[-2] if "." in self.ask.__module__ else ""

    def interpretation(self, setting: Setting) -> R:
        """The interpretation of a setting."""
        chosen = {axis.field: axis.values[at].value for axis, at in zip(self.axes, setting, strict=True)}
        return replace(self.default, **chosen)  # type: ignore[type-var]

    def chosen(self, labels: Mapping[str, str]) -> R:
        """The default with some choices changed, each to the value with this label. Raises `BadInput` for another."""
        return self.interpretation(self.setting(labels))

    def setting(self, labels: Mapping[str, str]) -> Setting:
        """The same as a setting."""
        by_name = {axis.what: axis for axis in self.axes}
        if unknown := next((what for what in labels if what not in by_name), None):
            raise _no_choice(f"setting {unknown!r}", self.title, "choice", unknown, list(by_name))
        setting = [0] * len(self.axes)
        for at, axis in enumerate(self.axes):
            values = [value.label for value in axis.values]
            label = labels.get(axis.what, values[0])
            if label not in values:
                raise _no_choice(f"setting {axis.what!r}", self.title, "value", label, values)
            setting[at] = values.index(label)
        return tuple(setting)


def _no_choice(where: str, paper: str, what: str, wanted: str, known: Sequence[str]) -> BadInput:
    """The error for a choice, or the value of one, that a paper does not leave open."""
    otherwise = "`roamlab.choices(paper)` lists them"
    return unknown_name(where, f"{paper} leaves open no {what} {wanted!r}", str(wanted), known, otherwise)


@cache
def axes(paper: str) -> tuple[Axis, ...]:
    """The axes of a paper, from `axes.toml` in its package: a list `axis`, each with the fields of an `Axis`.

    Values that `sentences.toml` rules out are marked. A value is `[label, value, weight]`, in which the label may
    replace the value, and 1 is the weight if there is none; or a table of these, which without `value` is `None`.
    Lists are tuples. A table with `drawn = [low, high]` is a range, of which each run draws a value.
    """
    data = (files("roamlab.papers") / paper / AXES).read_text(encoding="utf-8")
    of = sentences.of_paper(paper)
    return tuple(
        _marked(Axis(axis["field"], axis["what"], tuple(map(_value, axis["values"])), axis["source"]), of)
        for axis in tomllib.loads(data)["axis"]
    )


def _marked(axis: Axis, of: Sequence[sentences.Sentence]) -> Axis:
    """The axis with the values marked that the text rules out."""
    values = (
        replace(value, ruled_out=sentences.excluded(of, axis, at)) for at, value in enumerate(axis.values)
    )
    return replace(axis, values=tuple(values))


def _value(entry: list[Any] | dict[str, Any]) -> Value:
    if isinstance(entry, dict):
        value = _range(entry) if "drawn" in entry else entry.get("value")
        return Value(entry["label"], value, entry.get("weight", 1.0))
    label, own, *weight = entry if len(entry) > 1 else entry * 2
    return Value(label, tuple(own) if isinstance(own, list) else own, *weight)


def _range(entry: dict[str, Any]) -> Drawn:
    low, high = entry["drawn"]
    return Drawn(low, high, entry.get("quantity", ""))


def outcome(claim: Claim) -> Outcome:
    """Result of a claim's measures, with the distance of the worst from the border of its claimed range."""
    worst = min(
        claim.counted or claim.measures, key=lambda measure: (_RANK[measure.verdict], _margin(measure))
    )
    distance = worst.claimed.distance(worst.measured.effect)
    counted = claim.counted or claim.measures
    return Outcome(
        claim.verdict,
        _margin(worst),
        _told(worst),
        distance,
        worst.unit,
        measures=tuple(measure.what for measure in counted),
        held=tuple(measure.what for measure in counted if measure.verdict == "holds"),
        short=sum(shortfall(_margin(measure)) for measure in counted),
    )


_OPEN = 0.999
"""The margin of a measure that is undecided, at most, to either side."""
_RANK: dict[Verdict, int] = {"contradicted": 0, "undecided": 1, "holds": 2}


def _margin(measure: Measure) -> float:
    found, claimed = measure.measured, measure.claimed
    inside = min(found.effect - claimed.low, claimed.high - found.effect)
    half = (found.high - found.low) / 2
    if half == 0.0 or math.isinf(half):
        return {"holds": math.inf, "contradicted": -math.inf, "undecided": 0.0}[measure.verdict]
    margin = inside / half
    # Undecided by the correction, or because what is left is too small to matter.
    return max(-_OPEN, min(_OPEN, margin)) if measure.verdict == "undecided" else margin


def _told(measure: Measure) -> str:
    found = measure.measured
    value = with_unit(f"{found.effect:.3g}", measure.unit)
    return f"{measure.what}: {value} ({interval_text(found)}), claimed {measure.claimed}"


def outcomes(claims: Sequence[Claim]) -> dict[str, Outcome]:
    """Of each claim, by its name."""
    return {claim.id: outcome(claim) for claim in claims}


@dataclass(frozen=True)
class Decider:
    """Decides a paper's claims under settings. Equal runs are made once, and found in the store again."""

    space: Space[Any]
    store: Path
    threads: int
    page_runs: int
    """Runs of each experiment of the reproduction."""

    @property
    def blocks(self) -> tuple[range, range, range, range]:
        """Numbers of runs: of each setting, for a closer look, to confirm a turn, to confirm a fit.

        No choice was based on runs of the last two.
        """
        few, many = self.space.runs, self.space.confirm
        closer, fresh, fit = (range(few + at * many, few + (at + 1) * many) for at in range(3))
        return range(few), closer, fresh, fit

    @property
    def default(self) -> Setting:
        """The first value on each axis."""
        return (0,) * len(self.space.axes)

    @property
    def of_default(self) -> range:
        """Numbers of the runs that decide under the default: those of the paper's reproduction."""
        return range(max(self.page_runs, self.space.confirm))

    def claims(self, settings: Sequence[Setting], numbers: range, ask: Ask) -> list[list[Claim]]:
        """Those that `ask` decides, under each setting, from the runs with these numbers."""
        batch = Batch()
        decide = [ask(batch, self.space.interpretation(setting), numbers) for setting in settings]
        batch.make(self.store, self.threads, say_found=False)
        return [list(each()) for each in decide]

    def every(self, settings: Sequence[Setting], numbers: range) -> list[list[Claim]]:
        """All claims under each setting."""
        found = self.claims(settings, numbers, self.space.ask)
        if self.space.beside is None:
            return found
        rest = self.claims(settings, numbers, self.space.beside)
        return [own + more for own, more in zip(found, rest, strict=True)]

    def whole(self, numbers: range) -> list[Claim]:
        """All claims under the default, as the paper's reproduction decides them, from the runs with these numbers."""
        batch = Batch()
        decide = self.space.ask_whole(batch, numbers)
        batch.make(self.store, self.threads, say_found=False)
        return list(decide())

    def progress(self, what: str, budget: int) -> Callable[[int], None]:
        """Prints from time to time how many settings were tried."""
        began = said = time.monotonic()

        def tell(tried: int) -> None:
            nonlocal said
            now = time.monotonic()
            if now - said >= LOG_SECONDS:
                said = now
                left = round((now - began) * max(0, budget - tried) / tried)
                say(f"{what}: {tried} of {budget} settings, {left // 60}:{left % 60:02} left", err=True)

        return tell


def labels(space: Space[Any], setting: Setting) -> dict[str, str]:
    """Of the axes that are not at their default, the values' labels."""
    return {axis.what: axis.values[at].label for axis, at in zip(space.axes, setting, strict=True) if at}


def near(space: Space[Any], robust: Robustness) -> dict[str, Any]:
    """The setting in which a claim comes nearest to holding, and how far it is there, for JSON."""
    found = robust.nearest
    return {
        "setting": labels(space, robust.best),
        "verdict": found.verdict,
        "measured": found.measured,
        "distance": found.distance,
        "unit": found.unit,
        "half_widths": -found.margin if math.isfinite(found.margin) else None,
        "line": robust.nearest_text(space.axes),
    }
