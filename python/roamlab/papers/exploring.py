"""`roamlab reproduce PAPER --explore`: where, in the space of what a paper leaves open, its claims come out.

And the one setting under which most of its results hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted
from roamlab.base.screen import say
from roamlab.papers import fitting, robustness, sentences
from roamlab.papers.reporting import search_report, table_of
from roamlab.papers.robustness import Known
from roamlab.papers.runs import Batch
from roamlab.papers.spaces import Decider, labels, near, outcomes
from roamlab.papers.stored import code
from roamlab.showing.page import Measured, Table
from roamlab.showing.report import Assumption
from roamlab.statistics.axes import permits
from roamlab.statistics.claims import turned
from roamlab.statistics.space import alone, beside, explore, judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roamlab.papers import Session
    from roamlab.papers.spaces import Ask, Space
    from roamlab.showing.report import Report
    from roamlab.statistics.axes import Axis, Outcome, Setting
    from roamlab.statistics.claims import Verdict
    from roamlab.statistics.space import Explored, Robustness
    from roamlab.statistics.stats import Interval

FURTHER = 0.5
"""Settings tried for the joint fit, as a part of those that the exploration before it tries."""


@dataclass(frozen=True)
class Confirmed:
    """A verdict under the setting in which it turned, from runs that the search had not seen."""

    setting: Setting
    verdict: Verdict
    measured: str
    runs: int

    def __str__(self) -> str:
        return f"{self.verdict} in {self.runs} further runs: {self.measured}"


ROUNDS = 3
"""Turns by several values that get fresh runs, of each claim that no single value turns, until one is confirmed."""


def planned(decider: Decider, settings: int) -> dict[str, int]:
    """The budget of a search of this number of settings, before it begins."""
    space = decider.space
    singles = [permits(space.axes, setting) for setting in alone(space.axes)[1:]]
    return {
        "settings": settings,
        "of these single values": sum(singles),
        "single values that the text rules out": len(singles) - sum(singles),
        "runs under the default": len(decider.of_default),
        "runs under a single value": space.confirm,
        "runs under another setting": space.runs,
        "single values with fresh runs at most": sum(singles),
        "turns of the record that ships": len(_turns_of_last(space)),
        "turns by several values with fresh runs at most, of a claim": ROUNDS,
        "fresh runs of a turn": space.confirm,
        "further settings for one that fits all": round(settings * FURTHER),
        "fresh runs of the fit": space.confirm,
    }


def search(decider: Decider, budget: int) -> tuple[Explored, dict[str, dict[Setting, Confirmed]]]:
    """Explore a paper's space; runs that the store has are not made again. Then fresh runs at each turn.

    These are at every single value that turned a claim, and then at the smallest change of each claim that has none.
    """
    space = decider.space
    runs, closer, *_ = decider.blocks
    (steering,) = decider.claims([decider.default], runs, space.ask)
    names = {claim.id for claim in steering}
    at_default = outcomes(decider.whole(decider.of_default))

    def evaluate(settings: Sequence[Setting], closely: bool) -> list[Mapping[str, Outcome]]:
        if list(settings) == [decider.default]:
            return [{name: of for name, of in at_default.items() if name in names}]
        found = decider.claims(settings, closer if closely else runs, space.ask)
        return [outcomes(of_setting) for of_setting in found]

    found = explore(space.axes, evaluate, budget, decider.progress("explored", budget))
    last = _turns_of_last(space)
    new = [setting for setting in last if setting not in found.tried]
    of_new = map(dict, evaluate(new, False))
    found = replace(found, tried=found.tried | dict(zip(new, of_new, strict=True)))
    if space.beside is not None:
        drawn = list(dict.fromkeys(found.drawn))[: space.beside_drawn]
        wanted = dict.fromkeys([*drawn, *alone(space.axes), *last])
        settings = [s for s in (*found.tried, *found.ruled_out) if s in wanted and s != decider.default]
        decided = _beside(decider, settings, space.beside)
        decided[decider.default] = {name: of for name, of in at_default.items() if name not in names}
        found = beside(found, decided)
    return _confirm(decider, found, names)


def _turns_of_last(space: Space[Any]) -> list[Setting]:
    """The settings with the turns of the record that ships, so that a search does not lose what the last one has found.

    And those that the paper's page names, in `named.toml`. Those with a choice that the space has no more, or that
    the text rules out, are left out.
    """
    found: dict[Setting, None] = {}
    for labels_of in [*robustness.shipped_turns(space.paper), *_named(space.paper)]:
        try:
            setting = space.setting(labels_of)
        except BadInput:
            continue
        if permits(space.axes, setting):
            found[setting] = None
    return list(found)


def _named(paper: str) -> list[dict[str, str]]:
    """The settings under which a paper's page names a result, if it names some."""
    import tomli

    path = files("roamlab.papers") / paper / "named.toml"
    if not path.is_file():
        return []
    settings: list[dict[str, str]] = tomli.loads(path.read_text(encoding="utf-8"))["settings"]
    return settings


def _confirm(
    decider: Decider, found: Explored, steering: set[str]
) -> tuple[Explored, dict[str, dict[Setting, Confirmed]]]:
    """Fresh runs at turns. Where they do not confirm one, theirs is what the setting gave."""
    confirmed: dict[str, dict[Setting, Confirmed]] = {name: {} for name in found.claims}

    def repeat(wanted: Mapping[Setting, Sequence[str]]) -> None:
        for setting, name, again in _repeated(decider, wanted, steering):
            confirmed[name][setting] = again[1]
            if again[1].verdict != found.tried[setting][name].verdict:
                found.tried[setting][name] = again[0]

    def turns(setting: Setting) -> list[str]:
        return [
            name
            for name, of in found.tried[setting].items()
            if of.verdict == turned(found.claims[name].default)
        ]

    singles = [setting for setting in alone(found.axes)[1:] if setting in found.tried]
    repeat({setting: names for setting in singles if (names := turns(setting))})
    for _ in range(ROUNDS):
        found = replace(found, claims=judge(found.axes, found.tried, found.drawn))
        open_: dict[Setting, list[str]] = {}
        for name, robust in found.claims.items():
            if robust.turning is not None and robust.turning not in confirmed[name]:
                open_.setdefault(robust.turning, []).append(name)
        if not open_:
            break
        repeat(open_)
    return replace(found, claims=judge(found.axes, found.tried, found.drawn)), confirmed


def _repeated(
    decider: Decider, wanted: Mapping[Setting, Sequence[str]], steering: set[str]
) -> list[tuple[Setting, str, tuple[Outcome, Confirmed]]]:
    """Results of fresh runs of claims, each under a setting."""
    space = decider.space
    _, _, fresh, _ = decider.blocks
    found = []
    for ask, steers in ((space.ask, True), (space.beside, False)):
        settings = [s for s, names in wanted.items() if any((name in steering) == steers for name in names)]
        if not settings or ask is None:
            continue
        for setting, claims in zip(settings, decider.claims(settings, fresh, ask), strict=True):
            for name, again in outcomes(claims).items():
                if name in wanted[setting]:
                    told = Confirmed(setting, again.verdict, again.measured, len(fresh))
                    found.append((setting, name, (again, told)))
    return found


def _beside(decider: Decider, settings: Sequence[Setting], ask: Ask) -> dict[Setting, Mapping[str, Outcome]]:
    """The claims of `ask`, which do not steer the search, under each setting."""
    space = decider.space
    decided = decider.claims(settings, range(space.few or space.runs), ask)
    return dict(zip(settings, map(outcomes, decided), strict=True))


def at_turn(robust: Robustness, confirmed: Mapping[str, Mapping[Setting, Confirmed]]) -> Confirmed | None:
    """The fresh runs under the smallest change that turns a claim, if there were some."""
    return confirmed[robust.claim].get(robust.turning) if robust.turning is not None else None


def line(space: Space[Any], robust: Robustness, confirmed: Mapping[str, Mapping[Setting, Confirmed]]) -> str:
    """A claim's robustness in one line, with the results of fresh runs where its verdict turned."""
    again = at_turn(robust, confirmed)
    return robust.line(space.axes, (again.verdict, again.runs) if again else None)


def report(space: Space[Any], session: Session, budget: int) -> tuple[Report, dict[str, Any], dict[str, Any]]:
    """Explore, fit, and write the result: as a page, and as the data of either."""
    decider = Decider(space, session.store, session.threads, session.runs)
    plan = planned(decider, budget)
    say(f"budget: {', '.join(f'{what} {count}' for what, count in plan.items())}", err=True)
    found, confirmed = search(decider, budget)
    by = _made(space, session)
    data = by | {"budget": plan} | _data(space, found, confirmed)
    fitted = fitting.fit(decider, found, round(budget * FURTHER))
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
            **fitting.tables(fitted),
        },
        {
            "settings tried": len(found.tried),
            "of these drawn by weight, for the shares": len(found.drawn),
            **{f"budget, {what}": count for what, count in plan.items()},
        },
        figures=[Known.of(data).draw_map(session.figures)],
        assumptions=[
            Assumption(axis.what, " | ".join(value.label for value in axis.values), data["says"][axis.what])
            for axis in space.axes
        ],
    )
    return page, data, by | fitting.data(fitted)


def _made(space: Space[Any], session: Session) -> dict[str, str]:
    """Origin of a record: the engine, its behaviour in the paper's runs, and the code of the claims."""
    return {
        "engine": _roamlab.build_hash(),
        "behaviour": behaviour(space, session.threads),
        "code": code(space.ask.__module__),
    }


def behaviour(space: Space[Any], threads: int) -> str:
    """One number for what the engine does in the paper's experiments: all that the measures read of run 0.

    Builds of the engine with the same behaviour have the same number.
    """
    batch = Batch()
    space.ask(batch, space.default, range(1))
    return batch.behaviour(threads)


def _headline(found: Explored) -> str:
    """How many claims turn, in one sentence."""
    of = found.claims.values()
    turning = [robust.claim for robust in of if robust.turning is not None]
    never = f"{len(of) - len(turning)} of {len(of)} claims keep their verdict, or become undecided, in all"
    names = f": {', '.join(turning)}" if turning else ""
    return f"{never} {len(found.tried)} settings; {counted(len(turning), 'turns', 'turn')}{names}."


def _robustness(
    space: Space[Any], found: Explored, confirmed: Mapping[str, Mapping[Setting, Confirmed]]
) -> Table:
    def share(verdict: Verdict, robust: Robustness) -> Measured:
        return Measured(_percent(robust.shares[verdict]), ".3g")

    return table_of(
        "Where each claim holds; 95 % intervals of the shares",
        ("claim",),
        (((robust.claim,), robust) for robust in found.claims.values()),
        {
            "robustness": lambda robust: line(space, robust, confirmed),
            "where it turns, examined again": lambda robust: str(
                at_turn(robust, confirmed) or "no verdict turned"
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


def _data(
    space: Space[Any], found: Explored, confirmed: Mapping[str, Mapping[Setting, Confirmed]]
) -> dict[str, Any]:
    of = sentences.of_paper(space.paper)

    def fresh(again: Confirmed) -> dict[str, Any]:
        return {"verdict": again.verdict, "measured": again.measured, "runs": again.runs}

    def claim(robust: Robustness) -> dict[str, Any]:
        again = at_turn(robust, confirmed)
        return {
            "default": robust.default,
            "turned": robust.turned,
            "robustness": line(space, robust, confirmed),
            "turns_under": None if robust.turning is None else labels(space, robust.turning),
            "fresh_runs": again and fresh(again),
            "turns": [
                {"setting": labels(space, setting), "fresh_runs": fresh(each)}
                for setting, each in confirmed[robust.claim].items()
            ],
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

    every = found.tried | found.ruled_out

    def decided(setting: Setting) -> dict[str, Any]:
        return {
            "setting": labels(space, setting),
            "claims": {
                name: {"verdict": each.verdict, "measured": each.measured}
                for name, each in every[setting].items()
            },
        }

    return {
        "settings": len(found.tried),
        "drawn": len(found.drawn),
        "runs": space.runs,
        "fresh_runs": space.confirm,
        "axes": {axis.what: [value.label for value in axis.values] for axis in space.axes},
        "says": {axis.what: sentences.text_on(of, axis) for axis in space.axes},
        "map": _map(found),
        "claims": {name: claim(robust) for name, robust in found.claims.items()},
        "alone": [decided(setting) for setting in alone(space.axes) if setting in every],
        "tried": [{"drawn": found.drawn.count(setting), **decided(setting)} for setting in found.tried],
    }
