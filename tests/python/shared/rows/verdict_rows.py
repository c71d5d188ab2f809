"""The table of verdicts on a paper's page, written from the `claims.json` of a reproduction.

    python tests/python/shared/rows/verdict_rows.py PAPER out/PAPER/claims.json

puts it between the marks on the page. Needs the package.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import marked
from roamlab import papers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARK = "claims.json"
HEADINGS = (
    "claim",
    "verdict by default",
    "the measure that decides",
    "measured, with its 95 % interval",
    "claimed",
    "runs",
)


def rows(claims: Sequence[Mapping[str, Any]]) -> str:
    """The table as Markdown: one line for each claim, with the measure that settles its verdict."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *map(_row, claims)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _row(claim: Mapping[str, Any]) -> tuple[str, ...]:
    held = [measure["verdict"] for measure in claim["measures"]].count("holds")
    of = f", {held} of {len(claim['measures'])} measures hold" if len(claim["measures"]) > 1 else ""
    verdict = f"**{claim['verdict_default']}**{of}" + (" (inventory)" if claim["kind"] == "inventory" else "")
    low, high = claim["interval"]
    interval = "" if low is None or high is None else f" ({low:.3g} … {high:.3g})"
    unit = "" if claim["unit"] == "1" else f" {claim['unit']}"
    corrected = claim["p_corrected"]
    if claim["verdict_default"] == "undecided" and corrected is not None:
        unit += f", p {corrected:.2g} after correction"
    value = f"{claim['effect']:.3g}{interval}{unit}"
    if claim["same_in_every_run"]:
        value = f"{claim['effect']:.3g}{unit}, the same in every run"
    name = str(claim["id"]).partition(".")[2]
    return (
        name,
        verdict,
        str(claim["what"]),
        value,
        str(claim["claimed"]),
        str(claim["runs"]),
    )


def page_of(paper: str) -> Path:
    """The page of a paper."""
    return Path(papers.__path__[0]) / paper / "README.md"


def between(page: Path) -> str:
    """The table on a page. Raises `LookupError` without marks."""
    return marked.between(page, MARK)


if __name__ == "__main__":
    DATA = Path(sys.argv[2])
    marked.put(page_of(sys.argv[1]), MARK, rows(json.loads(DATA.read_text(encoding="utf-8"))))
