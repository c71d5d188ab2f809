"""`roamlab reproduce PAPER --fit`: the one setting for all claims under which most of a paper's results hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.papers import sentences
from roamlab.papers.exploring import Decider, everywhere, near, outcome, outcomes, search
from roamlab.papers.reporting import search_report
from roamlab.papers.stored import code
from roamlab.showing.page import Table
from roamlab.statistics.fit import climb, ranked
from roamlab.statistics.space import changes, judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roamlab.papers import Session
    from roamlab.papers.spaces import Space
    from roamlab.showing.report import Report
    from roamlab.statistics.axes import Outcome, Setting, Tried
    from roamlab.statistics.claims import Claim
    from roamlab.statistics.space import Robustness

FURTHER = 0.5
"""Settings tried for the joint fit, as a part of those that the exploration before it tries."""
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


def fit(space: Space[Any], session: Session, budget: int) -> Fit:
    """Explore the space, continue where most results hold together, and examine the best setting with fresh runs.

    The exploration is that of `--explore`, and its runs are found again. The setting is chosen from the runs of the
    search and of the closer look. What is reported of it comes from runs that neither had.
    """
    decider = Decider(space, session)
    runs, closer, fresh = decider.blocks
    default = (0,) * len(space.axes)
    explored = everywhere(decider, search(space, session, budget)[0])
    (at_default,) = decider.every([default], runs)
    results = [claim.id for claim in at_default if claim.kind == "result"]

    def evaluate(settings: Sequence[Setting]) -> list[dict[str, Outcome]]:
        return [outcomes(claims) for claims in decider.every(settings, runs)]

    further = round(budget * FURTHER)
    tried = climb(space.axes, evaluate, explored.tried, results, further, decider.progress("fitted", further))
    best = list(dict.fromkeys([*ranked(tried, results)[:_LOOKED], default]))
    again: Tried = dict(zip(best, map(outcomes, decider.every(best, closer)), strict=True))
    chosen = ranked(again, results)[0]
    under_fit, under_default = decider.every([chosen, default], fresh)
    robust = judge(space.axes, tried | again, explored.drawn)
    held = {name for name in results if any(of[name].verdict == "holds" for of in (tried | again).values())}
    held |= {
        claim.id for claims in (under_fit, under_default) for claim in claims if claim.verdict == "holds"
    }
    nowhere = {name: robust[name] for name in results if name not in held}
    return Fit(space, len(tried), chosen, under_fit, under_default, len(fresh), nowhere)


def report(space: Space[Any], session: Session, budget: int) -> tuple[Report, dict[str, Any]]:
    """Fit, and write the result: as a page, and as data."""
    found = fit(space, session, budget)
    of = sentences.of_paper(space.paper)
    data = _data(found, of)
    nowhere = {
        name: f"holds under none of the {found.tried} settings tried; closest with {robust.nearest_text(space.axes)}"
        for name, robust in found.nowhere.items()
    }
    page = search_report(
        space,
        session,
        "one setting for all claims",
        "The setting under which most of the paper's results hold together, from a search over what the paper "
        "leaves open. The cards show the claims under it, on runs that the search did not use.",
        found.headline,
        {"axes": _axes(data), "claims": _claims(found), "nowhere": _nowhere(data)},
        {
            "settings tried": found.tried,
            "runs of each experiment under a setting": space.runs,
            "further runs of each experiment": found.runs,
        },
        claims=found.under_fit,
        robustness=nowhere,
    )
    return page, data


def summary(data: Mapping[str, Any]) -> str:
    """Result, for the terminal."""
    lines = [data["headline"]]
    lines += [
        f"{axis['axis']}: {axis['fit']}, default {axis['default']}"
        f"{'; the text rules this out' if axis['excluded'] else ''}"
        for axis in data["axes"]
        if axis["fit"] != axis["default"]
    ]
    lines += [
        f"{name}: {claim['verdict']}, under the default {claim['default']}"
        for name, claim in data["claims"].items()
    ]
    lines += [f"{name}: never holds; nearest: {near['line']}" for name, near in data["nowhere"].items()]
    return "\n".join(lines)


def _data(found: Fit, of: Sequence[sentences.Sentence]) -> dict[str, Any]:
    axes = found.space.axes
    by_default = {claim.id: claim for claim in found.under_default}
    return {
        "engine": _roamlab.build_hash(),
        "code": code(found.space.ask.__module__),
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
                "excluded": sentences.excluded(of, axis, at),
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
    }


def _axes(data: Mapping[str, Any]) -> Table:
    rows = [
        (axis["axis"], axis["default"], axis["fit"], "yes" if axis["excluded"] else "no", axis["text"])
        for axis in data["axes"]
    ]
    headings = ("axis", "default", "fit", "the text rules the fit out", "statement of the text")
    return Table("The setting, the default and the statement of the text", headings, rows)


def _claims(found: Fit) -> Table:
    def outcomes_of(claim: Claim) -> tuple[str, str]:
        return claim.verdict, outcome(claim).measured

    rows = [
        (own.id, own.kind, *outcomes_of(own), *outcomes_of(other))
        for own, other in zip(found.under_fit, found.under_default, strict=True)
    ]
    headings = ("claim", "kind", "under the fit", "decided by", "under the default", "decided by ")
    return Table(f"The claims on {found.runs} further runs", headings, rows)


def _nowhere(data: Mapping[str, Any]) -> Table:
    rows = [(name, of["line"], of["measured"]) for name, of in data["nowhere"].items()]
    headings = ("claim", "nearest setting", "measured there")
    return Table("Results that hold under no setting tried", headings, rows)
