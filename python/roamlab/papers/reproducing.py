"""A paper's reproduction as `roamlab reproduce` shows it: its package's report, and the common parts of all papers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from roamlab import papers
from roamlab.causes.removal import recorded
from roamlab.explorer import explorer_page as explorer
from roamlab.papers import printed, robustness, sentences, texts
from roamlab.papers.reporting import headline, write_csv
from roamlab.papers.runs import SEED
from roamlab.running.run import simulate
from roamlab.showing import report
from roamlab.showing.page import Table
from roamlab.showing.report import Link
from roamlab.statistics.claims import corrected, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from roamlab.papers import Session
    from roamlab.papers.printed import Printed
    from roamlab.papers.robustness import Known
    from roamlab.showing.page import Row
    from roamlab.showing.report import Report
    from roamlab.statistics.claims import Claim


def reproduce(name: str, session: Session) -> Report:
    """Reproduce a paper, one of `papers.names()`, or the part of it that the session asks for, and add what all have.

    These are its printed numbers and ours, where its claims hold and, of the whole paper, all comparisons adjusted for
    their number. A part has the same numbers. A search is of the default: with another setting its result is left out.
    """
    known = None if session.setting else robustness.known(name, session.store)
    found = papers.paper(name).reproduce(session)
    numbers = printed.numbers(name)
    if session.part is not None:
        numbers = printed.within(numbers, found)
    beside = {
        claim.id: printed.table(of, found)
        for claim in found.claims
        if (of := [number for number in numbers if number.claim == claim.id])
    }
    found = replace(found, numbers=beside)
    if session.part is None:
        found = _whole(name, session, found, numbers)
    if session.setting:
        found = replace(found, headline=f"With {session.named}: {found.headline}")
    return found if known is None else _searched(name, session, found, known)


def write(name: str, session: Session, folder: Path) -> Report:
    """Reproduce a paper, or a part of it, and write the report and the claims into a folder."""
    found = reproduce(name, session)
    write_json(found.claims, folder / "claims.json", found.robustness)
    report.write(found, folder / "report.html")
    return found


def claim_ids(name: str) -> list[str]:
    """The IDs of a paper's claims."""
    return list(texts(name).claims)


def _whole(name: str, session: Session, found: Report, numbers: Sequence[Printed]) -> Report:
    """The report with what a part does not have."""
    tables = {"holm": _holm(found.claims)}
    if text := sentences.of_paper(name):
        tables["sentences"] = sentences.table(text)
    if numbers:
        tables["printed"] = printed.table(numbers, found)
    if fit := robustness.fitted(name, session.store):
        tables["fit"] = fit
    for stem, table in tables.items():
        write_csv(table, session.tables / f"{stem}.csv")
    return replace(
        found,
        tables=[*reversed(tables.values()), *found.tables],
        explorer=explorer_page(name, session.figures.parent),
    )


def _searched(name: str, session: Session, found: Report, known: Known) -> Report:
    """The report with what a search found on each claim, and with the final verdicts."""
    decided = known.decide(name, found.claims)
    main = [claim for claim in decided if claim.id in found.main]
    if known.alone and session.part is None:
        write_csv(known.one_changed(name), session.tables / "one-changed.csv")
    drawn = [known.draw_map(session.figures)] if session.part is None else []
    return replace(
        found,
        claims=decided,
        headline=headline(main, abstract=session.part is None) if main else found.headline,
        figures=[*found.figures, *drawn],
        robustness={claim.id: line for claim in decided if (line := known.line(claim)) is not None},
        facts={claim.id: facts for claim in decided if (facts := known.facts(name, claim))},
        matrix=known.matrix(name, decided) if known.alone and decided else None,
        searched=known.source(name),
    )


def explorer_page(name: str, folder: Path) -> Link:
    """Writes the page to explore the paper's example."""
    scenario = papers.paper(name).example()
    results = simulate(recorded(scenario), SEED)
    (folder / explorer.FILE).write_text(explorer.html([results]), encoding="utf-8")
    words = f"Explore one of the runs, packet by packet: {scenario.name}"
    return Link(words, explorer.FILE + explorer.first_move(results))


def _holm(claims: Sequence[Claim]) -> Table:
    rows: list[Row] = [
        (
            each.claim,
            each.measure.what,
            each.measure.verdict,
            f"{each.p:.2g}",
            f"{each.adjusted:.2g}",
            each.verdict,
        )
        for each in corrected(claims)
    ]
    headings = ("claim", "comparison", "verdict", "p", "p, Holm", "verdict after the correction")
    return Table("All comparisons of random runs, adjusted for their number by Holm's method", headings, rows)
