"""A paper's reproduction as `roamlab reproduce` shows it: its package's report, and the common parts of all papers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from roamlab import papers
from roamlab.causes.removal import recorded
from roamlab.explorer import explorer_page as explorer
from roamlab.papers import printed, robustness, sentences
from roamlab.papers.reporting import headline, write_csv
from roamlab.papers.runs import SEED
from roamlab.papers.texts import texts
from roamlab.running.run import simulate
from roamlab.showing.page import Table
from roamlab.showing.report import Link
from roamlab.statistics.claims import corrected

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from roamlab.papers import Session
    from roamlab.papers.robustness import Known
    from roamlab.showing.page import Row
    from roamlab.showing.report import Report
    from roamlab.statistics.claims import Claim


def reproduce(name: str, session: Session, only: Sequence[str] = ()) -> Report:
    """Reproduce a paper, one of `papers.names()`, and add what all papers have.

    These are its printed numbers and ours, all comparisons adjusted for their number, and where its claims
    hold. `only`: the claims to show, of `claim_ids`; none: all.
    """
    found = _whole(name, session)
    return _chosen(name, found, only) if only else found


def claim_ids(name: str) -> list[str]:
    """The IDs of a paper's claims."""
    return list(texts(name).claims)


def _chosen(name: str, found: Report, only: Sequence[str]) -> Report:
    """The report with these claims, and with their figures and tables."""
    claims = [claim for claim in found.claims if claim.id in only]
    shows = {claim: figures for claim, figures in found.shows.items() if claim in only}
    shown = {figure for figures in shows.values() for figure in figures}
    figures = [figure for figure in found.figures if figure.name in shown]
    titles = {number.ours.get("table") for number in printed.numbers(name) if number.claim in only}
    main = next((claim for claim in claims if claim.id == found.main), claims[0])
    own = [figure.name for figure in figures if figure.name in shows.get(main.id, ())]
    return replace(
        found,
        claims=claims,
        compared=found.claims,
        main=main.id,
        headline=found.headline if main.id == found.main else headline(main, f"The claim {main.id}"),
        lead=found.lead if found.lead in own else "".join(own[:1]),
        shows=shows,
        figures=figures,
        handovers=[each for each in found.handovers if each.chart.name in shown],
        tables=[table for table in found.tables if table.title in titles],
        numbers={claim: table for claim, table in found.numbers.items() if claim in only},
        matrix=found.matrix.of(only) if found.matrix else None,
        origin=[
            *found.origin,
            ("shown", f"{len(claims)} of {len(found.claims)} claims; all runs of the paper were made"),
        ],
    )


def _whole(name: str, session: Session) -> Report:
    """The whole report of a paper."""
    known = robustness.known(name, session.store)
    numbers = printed.numbers(name)
    found = papers.paper(name).reproduce(session)
    tables = {"holm": _holm(found.claims)}
    if text := sentences.of_paper(name):
        tables["sentences"] = sentences.table(text)
    if numbers:
        tables["printed"] = printed.table(numbers, found)
    if fit := robustness.fitted(name, session.store):
        tables["fit"] = fit
    for stem, table in tables.items():
        write_csv(table, session.tables / f"{stem}.csv")
    beside = {
        claim.id: printed.table(of, found)
        for claim in found.claims
        if (of := [number for number in numbers if number.claim == claim.id])
    }
    found = replace(
        found,
        tables=[*reversed(tables.values()), *found.tables],
        numbers=beside,
        explorer=explorer_page(name, session.figures.parent),
    )
    return found if known is None else _searched(name, session, found, known)


def _searched(name: str, session: Session, found: Report, known: Known) -> Report:
    """The report with what a search found on each claim, and with the final verdicts."""
    decided = known.decide(name, found.claims)
    if known.alone:
        write_csv(known.one_changed(name), session.tables / "one-changed.csv")
    return replace(
        found,
        claims=decided,
        headline=next((headline(claim) for claim in decided if claim.id == found.main), found.headline),
        figures=[*found.figures, known.draw_map(session.figures)],
        robustness={claim.id: line for claim in decided if (line := known.line(claim)) is not None},
        facts={claim.id: facts for claim in decided if (facts := known.facts(name, claim))},
        matrix=known.matrix(name, decided) if known.alone else None,
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
