"""The one setting for all claims under which most of a paper's results hold: a part of `reproduce PAPER --explore`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from roamlab.papers import sentences
from roamlab.papers.spaces import near, outcome, outcomes
from roamlab.showing.page import Table
from roamlab.statistics.fit import climb, ranked
from roamlab.statistics.space import changes, judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roamlab.papers.spaces import Decider, Space
    from roamlab.statistics.axes import Outcome, Setting, Tried
    from roamlab.statistics.claims import Claim
    from roamlab.statistics.space import Explored, Robustness

_LOOKED = 3
"""The best settings that are compared again, and with the default, on runs that did not choose them."""


@dataclass(frozen=True)
class Fit:
    """Result of a fit."""

    space: Space[Any]
    tried: int
    setting: Setting
    under_fit: Sequence[Claim]
    """The claims under that setting, on fresh runs."""
    under_default: Sequence[Claim]
    """The claims under the default, on the same runs."""
    runs: int
    nowhere: Mapping[str, Robustness]
    """Results that hold under no setting tried, with the nearest one."""
    apart: Sequence[tuple[str, str]]
    """Results that each hold in settings tried, and in none of them together."""

    def held(self, claims: Sequence[Claim]) -> int:
        """How many results hold."""
        return sum(claim.verdict == "holds" for claim in claims if claim.kind == "result")

    @property
    def headline(self) -> str:
        """Result, in one sentence."""
        results = sum(claim.kind == "result" for claim in self.under_fit)
        return (
            f"{self.held(self.under_fit)} of {results} results hold under one setting, "
            f"{changes(self.space.axes, self.setting)}, on {self.runs} further runs; under the default "
            f"{self.held(self.under_default)} of {results}."
        )


def fit(decider: Decider, explored: Explored, budget: int) -> Fit:
    """Continue a search where most results hold together, and examine the best setting with fresh runs.

    The claims that do not steer a search are decided in the best few. The setting is chosen from the runs of the search
    and of the closer look. What is reported of it comes from runs that neither had. It has no value that the text rules
    out.
    """
    space, default = decider.space, decider.default
    runs, closer, _, fresh = decider.blocks
    results = [claim.id for claim in decider.whole(decider.of_default) if claim.kind == "result"]
    steering = [name for name in results if all(name in of for of in explored.tried.values())]

    def evaluate(settings: Sequence[Setting]) -> Sequence[Mapping[str, Outcome]]:
        return list(map(outcomes, decider.claims(settings, runs, space.ask)))

    tried = climb(space.axes, evaluate, explored.tried, steering, budget, decider.progress("fitted", budget))
    best = list(dict.fromkeys([*ranked(tried, steering)[:_LOOKED], default]))
    again = _every(decider, best, closer)
    chosen = ranked(again, results)[0]
    under_fit, under_default = decider.every([chosen, default], fresh)
    every = [
        *explored.tried.values(),
        *tried.values(),
        *again.values(),
        *map(outcomes, (under_fit, under_default)),
    ]
    held = {name for of in every for name in _holds(of, results)}
    robust = judge(space.axes, tried | again, explored.drawn)
    return Fit(
        space,
        len(tried),
        chosen,
        under_fit,
        under_default,
        len(fresh),
        {name: robust[name] for name in results if name not in held},
        _pairs_apart(every, [name for name in results if name in held]),
    )


def _holds(of: Mapping[str, Outcome], names: Sequence[str]) -> set[str]:
    """Those that are decided under a setting and hold."""
    return {name for name in names if name in of and of[name].verdict == "holds"}


def _pairs_apart(every: Sequence[Mapping[str, Outcome]], names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of which both were decided wherever one holds, and never hold together."""
    together = [(_holds(of, names), of.keys()) for of in every]
    return [
        (one, other)
        for one, other in combinations(names, 2)
        if not any(
            {one, other} <= holds or (holds & {one, other} and not {one, other} <= decided)
            for holds, decided in together
        )
    ]


def _every(decider: Decider, settings: Sequence[Setting], numbers: range) -> Tried:
    """All claims under each setting."""
    return dict(zip(settings, map(outcomes, decider.every(settings, numbers)), strict=True))


def tables(found: Fit) -> dict[str, Table]:
    """The fit on a page."""
    of = data(found)
    return {"fit": _axes(of), "fit-claims": _claims(found), "nowhere": _nowhere(of), "apart": _apart(of)}


def summary(data: Mapping[str, Any]) -> str:
    """Result, for the terminal."""
    lines = [data["headline"]]
    lines += [
        f"{axis['axis']}: {axis['fit']}, default {axis['default']}"
        for axis in data["axes"]
        if axis["fit"] != axis["default"]
    ]
    lines += [
        f"{name}: {claim['verdict']}, under the default {claim['default']}"
        for name, claim in data["claims"].items()
    ]
    lines += [f"{name}: never holds; nearest: {near['line']}" for name, near in data["nowhere"].items()]
    lines += [f"{one} and {other}: hold, but under no setting tried together" for one, other in data["apart"]]
    return "\n".join(lines)


def data(found: Fit) -> dict[str, Any]:
    """For JSON."""
    axes, of = found.space.axes, sentences.of_paper(found.space.paper)
    by_default = {claim.id: claim for claim in found.under_default}
    return {
        "headline": found.headline,
        "settings": found.tried,
        "fresh_runs": found.runs,
        "holds": {"fit": found.held(found.under_fit), "default": found.held(found.under_default)},
        "results": sum(claim.kind == "result" for claim in found.under_fit),
        "axes": [
            {
                "axis": axis.what,
                "default": axis.values[0].label,
                "fit": axis.values[at].label,
                "text": sentences.text_on(of, axis),
            }
            for axis, at in zip(axes, found.setting, strict=True)
        ],
        "claims": {
            claim.id: {
                "kind": claim.kind,
                "verdict": claim.verdict,
                "measured": outcome(claim).measured,
                "default": by_default[claim.id].verdict,
                "measured_default": outcome(by_default[claim.id]).measured,
            }
            for claim in found.under_fit
        },
        "nowhere": {name: near(found.space, robust) for name, robust in found.nowhere.items()},
        "apart": [list(pair) for pair in found.apart],
    }


def _axes(data: Mapping[str, Any]) -> Table:
    rows = [
        (axis["axis"], axis["default"], axis["fit"], axis["text"])
        for axis in data["axes"]
        if axis["fit"] != axis["default"]
    ]
    title = f"One setting for all results: {data['headline']} It differs from the default in"
    return Table(title, ("axis", "default", "fit", "statement of the text"), rows)


def _claims(found: Fit) -> Table:
    def outcomes_of(claim: Claim) -> tuple[str, str]:
        return claim.verdict, outcome(claim).measured

    rows = [
        (own.id, own.kind, *outcomes_of(own), *outcomes_of(other))
        for own, other in zip(found.under_fit, found.under_default, strict=True)
    ]
    headings = ("claim", "kind", "under the fit", "decided by", "under the default", "decided by ")
    return Table(f"The claims under it, on {found.runs} further runs", headings, rows)


def _nowhere(data: Mapping[str, Any]) -> Table:
    rows = [(name, of["line"], of["measured"]) for name, of in data["nowhere"].items()]
    headings = ("claim", "nearest setting", "measured there")
    return Table("Results that hold under no setting tried", headings, rows)


def claims_table(data: Mapping[str, Any]) -> Table:
    """The results of a fit on record, with the headline as its title."""
    rows = [
        (name, of["default"], of["verdict"], of["measured"])
        for name, of in data["claims"].items()
        if of["kind"] == "result"
    ]
    title = f"One setting for all results. {data['headline']}"
    return Table(title, ("claim", "under the default", "under this setting", "decided by"), rows)


def _apart(data: Mapping[str, Any]) -> Table:
    rows = [(one, other) for one, other in data["apart"]]
    return Table("Results that hold, but under no setting tried together", ("claim", "and"), rows)
