"""`roamlab reproduce all`: the claims of all papers on one page and as data, with a link to each paper's report."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from roamlab import papers
from roamlab.base.errors import BadInput
from roamlab.base.output import refuse_foreign, whole_folder
from roamlab.showing import report
from roamlab.statistics.claims import VERDICTS, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from roamlab.showing.report import Chapter
    from roamlab.statistics.claims import Claim


def reproduce(
    out: Path, store: Path, runs: int | None, threads: int, *, thorough: bool
) -> tuple[list[Claim], dict[str, Any]]:
    """Reproduce every paper into a folder of its own below `out`, with an index; gives claims and index as data.

    `runs`: repetitions; None: each paper's. What searches found is read from the folders beside `out`.
    """
    refuse_foreign(out, store)
    explored = {
        name: robustness(out.parent / f"{name}-explored" / "explored.json") for name in papers.names()
    }
    with whole_folder(out) as draft:
        chapters = [
            _reproduce(name, lines, draft / name, (store, runs, threads, thorough))
            for name, lines in explored.items()
        ]
        report.write_index(chapters, draft / "index.html")
        data = as_data(chapters)
        content = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
        (draft / "index.json").write_text(content + "\n", encoding="utf-8")
    return [claim for chapter in chapters for claim in chapter.claims], data


def _reproduce(
    name: str, lines: dict[str, str], folder: Path, how: tuple[Path, int | None, int, bool]
) -> Chapter:
    print(f"paper: {name}", file=sys.stderr)
    source = papers.paper(name)
    store, runs, threads, thorough = how
    folder.mkdir()
    found = source.reproduce(
        papers.Session(folder / "figures", folder / "tables", store, runs or source.RUNS, threads, thorough)
    )
    write_json(found.claims, folder / "claims.json")
    report.write(found, folder / "report.html")
    return report.Chapter(name, found.title, found.paper, found.claims, lines)


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


def as_data(chapters: Sequence[Chapter]) -> dict[str, Any]:
    """The index as data: counts, papers, and claims as in `claims.json` with paper, report and robustness."""
    return {
        "counts": counts([claim for chapter in chapters for claim in chapter.claims]),
        "papers": [
            {
                "paper": chapter.name,
                "title": chapter.title,
                "report": chapter.address,
                "counts": counts(chapter.claims),
            }
            for chapter in chapters
        ],
        "claims": [
            {
                "paper": chapter.name,
                "report": f"{chapter.address}#{claim.id}",
                "robustness": chapter.robustness.get(claim.id),
                **claim.as_dict(),
            }
            for chapter in chapters
            for claim in chapter.claims
        ],
    }
