"""`roamlab reproduce all`: the claims of all papers on one page and as data, with a link to each paper's report."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput
from roamlab.statistics.claims import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from roamlab.showing.report import Chapter
    from roamlab.statistics.claims import Claim


def robustness(explored: Path) -> dict[str, str]:
    """The line of each claim in the `explored.json` of a paper; empty if there is none. Raises `BadInput`."""
    if not explored.exists():
        return {}
    try:
        claims = json.loads(explored.read_text(encoding="utf-8"))["claims"]
        return {str(name): str(each["robustness"]) for name, each in claims.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            explored,
            f"it is not what a search writes: {type(error).__name__}: {error}",
            expected="`claims`, and for each of them `robustness`",
            remedy=f"search again with `roamlab reproduce PAPER --explore`, or move {explored.parent} away",
        ) from error


def counts(claims: Sequence[Claim]) -> dict[str, int]:
    """How many claims there are, and how many of each verdict."""
    of = Counter(claim.verdict for claim in claims)
    return {"claims": len(claims), **{verdict: of[verdict] for verdict in VERDICTS}}


def as_data(papers: Sequence[Chapter]) -> dict[str, Any]:
    """The index as data: counts, papers, and claims as in `claims.json` with paper, report and robustness."""
    return {
        "counts": counts([claim for paper in papers for claim in paper.claims]),
        "papers": [
            {
                "paper": paper.name,
                "title": paper.title,
                "report": paper.address,
                "counts": counts(paper.claims),
            }
            for paper in papers
        ],
        "claims": [
            {
                "paper": paper.name,
                "report": f"{paper.address}#{claim.id}",
                "robustness": paper.robustness.get(claim.id),
                **claim.as_dict(),
            }
            for paper in papers
            for claim in paper.claims
        ],
    }


def write_json(data: dict[str, Any], path: Path) -> None:
    """The index as a JSON file."""
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
