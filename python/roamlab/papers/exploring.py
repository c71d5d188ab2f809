"""`roamlab reproduce PAPER --explore`: where, in the space of what a paper leaves open, its claims come out."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.base.quantities import counted, with_unit
from roamlab.base.screen import say
from roamlab.papers import sentences
from roamlab.papers.reporting import search_report, table_of
from roamlab.papers.robustness import Known
from roamlab.papers.runs import Batch
from roamlab.papers.stored import code
from roamlab.showing.page import Measured, Table
from roamlab.showing.report import Assumption
from roamlab.statistics.axes import Outcome, Setting, shortfall
from roamlab.statistics.claims import interval_text, turned
from roamlab.statistics.space import alone, beside, explore, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roamlab.papers import Session
    from roamlab.papers.spaces import Space
    from roamlab.showing.report import Report
    from roamlab.statistics.axes import Axis
    from roamlab.statistics.claims import Claim, Measure, Verdict
    from roamlab.statistics.space import Explored, Robustness
    from roamlab.statistics.stats import Interval

    Ask = Callable[[Batch, Any, range], Callable[[], Sequence[Claim]]]

SETTINGS = 200
"""As many are tried unless another number is asked for."""
LOG_SECONDS = 10.0


@dataclass(frozen=True)
class Confirmed:
    """A verdict under the setting in which it turned, from runs that the search had not seen."""

    setting: Setting
    verdict: Verdict
    measured: str
    runs: int

    def __str__(self) -> str:
        return f"{self.verdict} in {self.runs} further runs: {self.measured}"


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


@dataclass(frozen=True)
class Decider:
    """Decides a paper's claims under settings. Equal runs are made once, and found in the store again."""

    space: Space[Any]
    session: Session

    @property
    def blocks(self) -> tuple[range, range, range]:
        """Numbers of runs: for each setting, for a closer look, and fresh ones that no choice was based on."""
        few, many = self.space.runs, self.space.confirm
        return range(few), range(few, few + many), range(few + many, few + 2 * many)

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
            (found,) = self.every([(0,) * len(self.space.axes)], numbers)
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


def outcomes(claims: Sequence[Claim]) -> dict[str, Outcome]:
    """Of each claim, by its name."""
    return {claim.id: outcome(claim) for claim in claims}


ROUNDS = 3
"""Turning points of a claim that are examined again, until fresh runs confirm one."""


def search(space: Space[Any], session: Session, budget: int) -> tuple[Explored, dict[str, Confirmed]]:
    """Explore a paper's space; runs that the store has are not made again. Then examine each turning point again."""
    decider = Decider(space, session)
    runs, closer, fresh = decider.blocks

    def evaluate(settings: Sequence[Setting], closely: bool) -> list[Mapping[str, Outcome]]:
        found = decider.claims(settings, closer if closely else runs, space.ask)
        return [outcomes(of_setting) for of_setting in found]

    found = explore(space.axes, evaluate, budget, decider.progress("explored", budget))
    steering = set(found.claims)
    if space.beside is not None:
        wanted = dict.fromkeys([*found.drawn, *alone(space.axes)])
        settings = [setting for setting in found.tried if setting in wanted]
        found = beside(found, _beside(decider, settings, space.beside))
    confirmed: dict[str, Confirmed] = {}
    for _ in range(ROUNDS):
        open_ = {
            name: robust.turning
            for name, robust in found.claims.items()
            if robust.turning is not None
            and (name not in confirmed or confirmed[name].setting != robust.turning)
        }
        if not open_:
            break
        for names, ask in ((steering, space.ask), (open_.keys() - steering, space.beside)):
            of = {name: turn for name, turn in open_.items() if name in names}
            if of and ask is not None:
                confirmed |= _anew(decider, found, of, fresh, ask)
        if any(confirmed[name].verdict != turned(found.claims[name].default) for name in open_):
            found = replace(found, claims=judge(found.axes, found.tried, found.drawn))
    at_the_turn = {
        name: again for name, again in confirmed.items() if again.setting == found.claims[name].turning
    }
    return found, at_the_turn


def _beside(decider: Decider, settings: Sequence[Setting], ask: Ask) -> dict[Setting, Mapping[str, Outcome]]:
    """The claims of `ask`, which do not steer the search, under each setting."""
    space = decider.space
    decided = decider.claims(settings, range(space.few or space.runs), ask)
    return dict(zip(settings, map(outcomes, decided), strict=True))


def everywhere(decider: Decider, found: Explored) -> Explored:
    """A search with the claims that did not steer it decided in all settings that it tried."""
    ask = decider.space.beside
    if ask is None:
        return found
    (default, *_) = alone(found.axes)
    missing = [setting for setting, of in found.tried.items() if of.keys() != found.tried[default].keys()]
    return beside(found, _beside(decider, missing, ask)) if missing else found


def _anew(
    decider: Decider, found: Explored, turning: Mapping[str, Setting], fresh: range, ask: Ask
) -> dict[str, Confirmed]:
    """Results of fresh runs where claims turned. Where they do not confirm it, theirs is what the setting gave."""
    turns = sorted(set(turning.values()))
    decided = {
        (turn, claim.id): claim
        for turn, of_turn in zip(turns, decider.claims(turns, fresh, ask), strict=True)
        for claim in of_turn
    }
    confirmed = {}
    for name, turn in turning.items():
        again = outcome(decided[turn, name])
        confirmed[name] = Confirmed(turn, again.verdict, again.measured, len(fresh))
        if again.verdict != found.tried[turn][name].verdict:
            found.tried[turn][name] = again
    return confirmed


def line(space: Space[Any], robust: Robustness, confirmed: Mapping[str, Confirmed]) -> str:
    """A claim's robustness in one line, with the results of fresh runs where its verdict turned."""
    again = confirmed.get(robust.claim)
    return robust.line(space.axes, (again.verdict, again.runs) if again else None)


def report(space: Space[Any], session: Session, budget: int) -> tuple[Report, dict[str, Any]]:
    """Explore, and write the result: as a page, and as data."""
    found, confirmed = search(space, session, budget)
    data = _data(space, found, confirmed)
    page = search_report(
        space,
        session,
        "the space of interpretations",
        f"What the paper leaves open, as {len(space.axes)} axes. Each setting has one value on each.",
        _headline(found),
        {
            "robustness": _robustness(space, found, confirmed),
            "measures": _measures(found),
            "deciding": _deciding(found),
            "axes": _axes(space),
        },
        {
            "settings tried": len(found.tried),
            "of these drawn by weight, for the shares": len(found.drawn),
            "runs of each experiment under a setting": space.runs,
            "further runs where a verdict turns": space.confirm,
        },
        figures=[Known.of(data).draw_map(session.figures)],
        assumptions=[
            Assumption(axis.what, " | ".join(value.label for value in axis.values), data["says"][axis.what])
            for axis in space.axes
        ],
    )
    return page, data


def _headline(found: Explored) -> str:
    """How many claims turn, in one sentence."""
    of = found.claims.values()
    turning = [robust.claim for robust in of if robust.turning is not None]
    never = f"{len(of) - len(turning)} of {len(of)} claims keep their verdict, or become undecided, in all"
    names = f": {', '.join(turning)}" if turning else ""
    return f"{never} {len(found.tried)} settings; {counted(len(turning), 'turns', 'turn')}{names}."


def _robustness(space: Space[Any], found: Explored, confirmed: Mapping[str, Confirmed]) -> Table:
    def share(verdict: Verdict, robust: Robustness) -> Measured:
        return Measured(_percent(robust.shares[verdict]), ".3g")

    return table_of(
        "Where each claim holds; 95 % intervals of the shares",
        ("claim",),
        (((robust.claim,), robust) for robust in found.claims.values()),
        {
            "robustness": lambda robust: line(space, robust, confirmed),
            "where it turns, examined again": lambda robust: str(
                confirmed.get(robust.claim, "no verdict turned")
            ),
            "holds [% of the space]": partial(share, "holds"),
            "undecided [% of the space]": partial(share, "undecided"),
            "contradicted [% of the space]": partial(share, "contradicted"),
            "nearest setting": lambda robust: f"{robust.nearest_text(space.axes)}: {robust.nearest.measured}",
        },
    )


def _measures(found: Explored) -> Table:
    rows = [
        (robust.claim, what, str(count), str(robust.tried))
        for robust in found.claims.values()
        for what, count in robust.measures.items()
    ]
    title = "In how many settings each measure of a claim holds"
    return Table(title, ("claim", "measure", "settings", "of"), rows)


def _percent(share: Interval) -> Interval:
    return replace(share, effect=share.effect * 100, low=share.low * 100, high=share.high * 100)


def _deciding(found: Explored) -> Table:
    rows = [
        (robust.claim, " with ".join(effect.axes), Measured(_percent(effect.share), ".3g"))
        for robust in found.claims.values()
        for effect in robust.effects[:5]
    ]
    title = "What decides: shares of the margin's variance over the space, with bootstrap intervals"
    return Table(title, ("claim", "axis, or two together", "share [%]"), rows)


def _axes(space: Space[Any]) -> Table:
    def values(axis: Axis) -> str:
        weighed = zip(axis.values, axis.weights, strict=True)
        return "; ".join(f"{value.label} ({weight:.2g})" for value, weight in weighed)

    title = "The axes, with each value's weight before anything was run"
    rows = [(axis.what, values(axis)) for axis in space.axes]
    return Table(title, ("axis", "values, default first"), rows)


def _map(found: Explored) -> dict[str, list[list[float | None]]]:
    """Of each claim, by axis and value, the share of the settings with the value in which it holds; none: null."""

    def share(claim: str, at: int, value: int) -> float | None:
        of = [
            outcomes[claim]
            for setting, outcomes in found.tried.items()
            if setting[at] == value and claim in outcomes
        ]
        return round(sum(each.verdict == "holds" for each in of) / len(of), 4) if of else None

    return {
        claim: [
            [share(claim, at, value) for value in range(len(axis.values))]
            for at, axis in enumerate(found.axes)
        ]
        for claim in found.claims
    }


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


def _data(space: Space[Any], found: Explored, confirmed: Mapping[str, Confirmed]) -> dict[str, Any]:
    of = sentences.of_paper(space.paper)

    def claim(robust: Robustness) -> dict[str, Any]:
        turned = confirmed.get(robust.claim)
        return {
            "default": robust.default,
            "turned": robust.turned,
            "robustness": line(space, robust, confirmed),
            "turns_under": None if robust.turning is None else labels(space, robust.turning),
            "fresh_runs": turned
            and {"verdict": turned.verdict, "measured": turned.measured, "runs": turned.runs},
            "shares": {
                verdict: [share.effect, share.low, share.high] for verdict, share in robust.shares.items()
            },
            "nearest": near(space, robust),
            "measures": robust.measures,
            "most_measures": robust.most_measures,
            "deciding": [
                {"axes": effect.axes, "share": [effect.share.effect, effect.share.low, effect.share.high]}
                for effect in robust.effects
            ],
        }

    def decided(setting: Setting) -> dict[str, Any]:
        return {
            "setting": labels(space, setting),
            "claims": {
                name: {"verdict": each.verdict, "measured": each.measured}
                for name, each in found.tried[setting].items()
            },
        }

    return {
        "engine": _roamlab.build_hash(),
        "code": code(space.ask.__module__),
        "settings": len(found.tried),
        "drawn": len(found.drawn),
        "runs": space.runs,
        "fresh_runs": space.confirm,
        "axes": {axis.what: [value.label for value in axis.values] for axis in space.axes},
        "says": {axis.what: sentences.text_on(of, axis) for axis in space.axes},
        "map": _map(found),
        "claims": {name: claim(robust) for name, robust in found.claims.items()},
        "alone": [decided(setting) for setting in alone(space.axes) if setting in found.tried],
        "tried": [{"drawn": found.drawn.count(setting), **decided(setting)} for setting in found.tried],
    }
