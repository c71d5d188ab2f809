"""`roamlab reproduce all`: the claims of all papers on one page and as data, with a link to each paper's report."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from roamlab import papers
from roamlab.base.output import refuse_foreign, whole_folder
from roamlab.base.screen import say
from roamlab.papers import reproducing
from roamlab.papers.robustness import known
from roamlab.showing import report
from roamlab.statistics.claims import VERDICTS, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from roamlab.showing.report import Chapter
    from roamlab.statistics.claims import Claim

STUDY = "`roamlab study schemes`"
"""What compares all schemes beyond any one paper."""


def reproduce(
    out: Path, store: Path, runs: int | None, threads: int, *, thorough: bool
) -> tuple[list[Chapter], dict[str, Any]]:
    """Reproduce every paper into a folder of its own below `out`, with an index; gives it, and the same as data.

    `runs`: repetitions; None: each paper's. The study of all schemes is linked if it stands beside `out`.
    """
    refuse_foreign(out, store)
    for name in papers.names():
        known(name, store)
    schemes = out.parent / "schemes" / "report.html"
    with whole_folder(out) as draft:
        how = (store, runs, threads, thorough)
        chapters = [_reproduce(name, draft / name, how) for name in papers.names()]
        report.write_index(
            chapters,
            draft / "index.html",
            (
                f"All mobility schemes on one network: {STUDY}",
                "../schemes/report.html" if schemes.exists() else "",
            ),
        )
        data = as_data(chapters)
        content = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
        (draft / "index.json").write_text(content + "\n", encoding="utf-8")
    return chapters, data


def _reproduce(name: str, folder: Path, how: tuple[Path, int | None, int, bool]) -> Chapter:
    say(f"paper: {name}", err=True)
    store, runs, threads, thorough = how
    folder.mkdir()
    session = papers.Session(
        folder / "figures", folder / "tables", store, runs or papers.paper(name).RUNS, threads, thorough
    )
    found = reproducing.reproduce(name, session)
    write_json(found.claims, folder / "claims.json", found.robustness)
    report.write(found, folder / "report.html")
    return report.Chapter(
        name, found.title, found.paper, found.headline, found.claims, found.robustness, found.searched
    )


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
                "searched": chapter.searched,
            }
            for chapter in chapters
        ],
        "claims": [
            {
                "paper": chapter.name,
                "report": f"{chapter.address}#{claim.id}",
                **claim.as_dict(),
                "robustness": chapter.robustness.get(claim.id),
            }
            for chapter in chapters
            for claim in chapter.claims
        ],
    }
