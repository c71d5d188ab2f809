"""`roamlab reproduce all`: the claims of all papers on one page and as data, with a link to each paper's report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from roamlab import papers
from roamlab.base.output import refuse_foreign, whole_folder
from roamlab.base.screen import say
from roamlab.papers import reproducing
from roamlab.papers.robustness import known
from roamlab.showing import report
from roamlab.statistics.claims import counts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from roamlab.showing.report import Chapter

CALIBRATION = (
    "Calibration: in 166 of 166 recorded runs and 2,000 of 2,000 random scenarios the engine and ns-2.35 agree packet "
    "by packet, at times that the clock of ns-2 represents exactly. The card of a contradicted claim names the cause."
)
"""How far the engine agrees with ns-2, from `docs/models/tcp.md`."""
STUDY = "`roamlab study schemes`"
"""Comparison of all schemes beyond any one paper."""


def reproduce(out: Path, store: Path, runs: int | None, threads: int) -> tuple[list[Chapter], dict[str, Any]]:
    """Reproduce every paper into a folder of its own below `out`, with an index; gives it, and the same as data.

    `runs`: repetitions; None: each paper's. The study of all schemes is linked if it is next to `out`.
    """
    refuse_foreign(out, store)
    for name in papers.names():
        known(name, store)
    schemes = out.parent / "schemes" / "report.html"
    with whole_folder(out) as draft:
        chapters = [_reproduce(name, draft / name, store, runs, threads) for name in papers.names()]
        report.write_index(
            chapters,
            draft / "index.html",
            (
                f"All mobility schemes on one network: {STUDY}",
                "../schemes/report.html" if schemes.exists() else "",
            ),
            CALIBRATION,
        )
        data = as_data(chapters)
        content = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
        (draft / "index.json").write_text(content + "\n", encoding="utf-8")
    return chapters, data


def _reproduce(name: str, folder: Path, store: Path, runs: int | None, threads: int) -> Chapter:
    say(f"paper: {name}", err=True)
    folder.mkdir()
    session = papers.Session(
        folder / "figures", folder / "tables", store, runs or papers.paper(name).RUNS, threads
    )
    found = reproducing.write(name, session, folder)
    return report.Chapter(
        name,
        found.title,
        found.paper,
        found.headline,
        found.claims,
        found.robustness,
        found.searched,
        next((figure for figure in found.figures if figure.name == found.lead), None),
        found.matrix,
    )


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
