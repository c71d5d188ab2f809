"""A paper's claims under settings of what it leaves open: runs, outcomes, and settings for people."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roamlab.base.quantities import with_unit
from roamlab.base.screen import say
from roamlab.papers.runs import Batch
from roamlab.statistics.axes import Outcome, Setting, shortfall
from roamlab.statistics.claims import interval_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers import Session
    from roamlab.papers.spaces import Space
    from roamlab.statistics.claims import Claim, Measure, Verdict
    from roamlab.statistics.space import Robustness

    Ask = Callable[[Batch, Any, range], Callable[[], Sequence[Claim]]]

LOG_SECONDS = 10.0


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


_RANK: dict[Verdict, int] = {"contradicted": 0, "undecided": 1, "holds": 2}


def _margin(measure: Measure) -> float:
    found, claimed = measure.measured, measure.claimed
    inside = min(found.effect - claimed.low, claimed.high - found.effect)
    half = (found.high - found.low) / 2
    if half == 0.0 or math.isinf(half):
        return {"holds": math.inf, "contradicted": -math.inf, "undecided": 0.0}[measure.verdict]
    return inside / half


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
    session: Session

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
        return range(max(self.session.runs, self.space.confirm))

    def claims(self, settings: Sequence[Setting], numbers: range, ask: Ask) -> list[list[Claim]]:
        """Those that `ask` decides, under each setting, from the runs with these numbers."""
        batch = Batch()
        decide = [ask(batch, self.space.interpretation(setting), numbers) for setting in settings]
        batch.make(self.session.store, self.session.threads, say_found=False)
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
        if self.space.whole is None:
            (found,) = self.every([self.default], numbers)
            return found
        batch = Batch()
        decide = self.space.whole(batch, numbers)
        batch.make(self.session.store, self.session.threads, say_found=False)
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
