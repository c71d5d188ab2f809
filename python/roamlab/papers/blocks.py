"""`roamlab reproduce PAPER --blocks 20`: which verdicts turn when other blocks of runs are used.

A block has as many runs as the paper's reproduction, and no run is in two blocks. A verdict that is the same in at
least 19 of 20 blocks is steady. One that turns more often shows more about the sample than about the paper.
"""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.papers.reporting import search_report
from roamlab.papers.spaces import Decider, outcome
from roamlab.papers.stored import code
from roamlab.showing.page import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roamlab.papers import Session
    from roamlab.papers.spaces import Space
    from roamlab.showing.report import Report

BLOCKS = 20
STEADY = 0.95
"""A verdict is steady if this share of the blocks has it: 19 of 20."""
RECORD = "blocks.json"
"""In a paper's package: what `BLOCKS` blocks gave."""


def report(space: Space[Any], session: Session, blocks: int) -> tuple[Report, dict[str, Any]]:
    """Decide all claims of the space under the default in disjoint blocks of `session.runs` runs each."""
    decider = Decider(space, session.store, session.threads, session.runs)
    found: dict[str, list[tuple[str, str]]] = {}
    for block in range(blocks):
        numbers = range(block * session.runs, (block + 1) * session.runs)
        for claim in decider.whole(numbers):
            found.setdefault(claim.id, []).append((claim.verdict, outcome(claim).measured))
    data = {
        "engine": _roamlab.build_hash(),
        "code": code(space.ask.__module__),
        "blocks": blocks,
        "runs": session.runs,
        "claims": {name: _claim(of) for name, of in found.items()},
    }
    page = search_report(
        space,
        session,
        f"the verdicts in {blocks} blocks of runs",
        "Each block decides all claims under the default interpretation from runs that no other block has.",
        summary(data).splitlines()[0],
        {"blocks": _table(data), "each": _each(found)},
        {"blocks": blocks, "runs in a block": session.runs},
    )
    return page, data


def record(paper: str) -> dict[str, Any] | None:
    """Recorded results of a paper's package, or `None`."""
    kept = files("roamlab.papers") / paper / RECORD
    return json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else None


def unsteady(data: Mapping[str, Any]) -> list[str]:
    """The claims whose most frequent verdict fewer than `STEADY` of the blocks have."""
    return [name for name, of in data["claims"].items() if of["same"] < STEADY * data["blocks"]]


def summary(data: Mapping[str, Any]) -> str:
    """Result, for the terminal."""
    turning = unsteady(data)
    steady = len(data["claims"]) - len(turning)
    least = f"at least {STEADY:.0%} of {data['blocks']} blocks of {data['runs']} runs"
    first = f"{steady} of {len(data['claims'])} verdicts are the same in {least}."
    return "\n".join([first, *(f"{name}: {_verdicts(data['claims'][name])}" for name in data["claims"])])


def _claim(of: list[tuple[str, str]]) -> dict[str, Any]:
    verdicts = Counter(verdict for verdict, _ in of)
    verdict, same = verdicts.most_common(1)[0]
    return {"verdict": verdict, "same": same, "verdicts": dict(verdicts)}


def _verdicts(of: Mapping[str, Any]) -> str:
    return ", ".join(f"{verdict} in {count}" for verdict, count in of["verdicts"].items())


def _table(data: Mapping[str, Any]) -> Table:
    turning = unsteady(data)
    rows = [
        (name, of["verdict"], str(of["same"]), "no" if name in turning else "yes", _verdicts(of))
        for name, of in data["claims"].items()
    ]
    headings = ("claim", "most frequent verdict", "blocks that have it", "steady", "all")
    return Table("How steady the verdicts are", headings, rows)


def _each(found: Mapping[str, list[tuple[str, str]]]) -> Table:
    rows = [
        (name, str(block), verdict, measured)
        for name, of in found.items()
        for block, (verdict, measured) in enumerate(of)
    ]
    return Table("Each block", ("claim", "block", "verdict", "decided by"), rows)
