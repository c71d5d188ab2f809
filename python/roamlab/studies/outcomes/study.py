"""`roamlab study durations` and `roamlab study senders` as page, figures, CSV and data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roamlab import _roamlab, papers
from roamlab.base.quantities import counted, with_unit
from roamlab.papers.reporting import write_csv
from roamlab.papers.runs import SEED, Batch
from roamlab.showing.page import Row, Table
from roamlab.showing.report import Assumption, Parameter, Report
from roamlab.statistics.claims import interval_text
from roamlab.studies.means import interval_data
from roamlab.studies.outcomes import figures
from roamlab.studies.outcomes.cases import DURATIONS, PRINTED, SENDERS, SIGNALLING, USER_PLANE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.table import Table as Printed

    from roamlab.statistics.claims import Claim
    from roamlab.studies.outcomes.cases import Question, Results

    Found = dict[str, dict[str, Claim]]
    """The claims by condition and name."""


def measure(question: Question, asked: Sequence[Results], runs: int, store: Path, threads: int) -> Found:
    """The claims of the papers under each condition, from this number of runs of each experiment."""
    found: Found = {}
    changes = {PRINTED: None, **{each.name: each.change for each in question.conditions}}
    for condition, change in changes.items():
        batch = Batch(change)
        made = [papers.space(of.paper).ask_whole(batch, range(runs)) for of in asked]
        batch.make(store, threads)
        claims = {claim.id: claim for each in made for claim in each()}
        found[condition] = {name: claims[name] for of in asked for name in of.claims}
    return found


def study(
    question: Question, runs: int, store: Path, threads: int, draft: Path
) -> tuple[Report, dict[str, Any]]:
    """Make the runs and draw; gives the page, and what is measured as data."""
    found = measure(question, question.results(), runs, store, threads)
    table = _verdicts(question, found)
    measures = _measures(question, found)
    for stem, each in (("verdicts", table), ("measures", measures)):
        write_csv(each, draft / f"{stem}.csv")
    sentences = sentences_of(question, found)
    page = Report(
        title=question.title,
        paper=f"{question.about} {counted(runs, 'run', 'runs')} of each experiment, with 95 % intervals.",
        headline=sentences[0],
        claims=(),
        figures=figures.draw(question, found, draft / "figures"),
        tables=[table, measures],
        parameters=_PARAMETERS[question.title],
        assumptions=_ASSUMPTIONS[question.title],
        origin=(
            ("engine build", _roamlab.build_hash()),
            ("seed", str(SEED)),
            ("runs of each experiment", str(runs)),
        ),
    )
    return page, {
        "axis": question.axis,
        "sentences": sentences,
        "claims": [
            {
                "claim": name,
                "condition": condition,
                "verdict": claim.verdict,
                "measures": [
                    {
                        "what": each.what,
                        "unit": each.unit,
                        "claimed": str(each.claimed),
                        "verdict": each.verdict,
                        **interval_data("effect", each.measured),
                    }
                    for each in claim.measures
                ],
            }
            for condition, claims in found.items()
            for name, claim in claims.items()
        ],
    }


def sentences_of(question: Question, found: Found) -> list[str]:
    """The results that keep their verdict under each condition, and those that do not."""
    printed = found[PRINTED]
    decided = [name for name, claim in printed.items() if claim.verdict != "undecided"]
    said = []
    for condition in question.conditions:
        verdict = {name: found[condition.name][name].verdict for name in decided}
        same = [name for name in decided if verdict[name] == printed[name].verdict]
        other = [name for name in decided if verdict[name] not in (printed[name].verdict, "undecided")]
        undecided = [name for name in decided if verdict[name] == "undecided"]
        parts = [f"{len(same)} of {len(decided)} results keep their verdict"]
        for names, what in ((other, "have the other one"), (undecided, "are undecided")):
            if names:
                parts.append(f"{len(names)} {what} ({', '.join(names)})")
        said.append(f"With {condition.said}, {'; '.join(parts)}.")
    left = [name for name, claim in printed.items() if claim.verdict == "undecided"]
    if left:
        said.append(f"Undecided with {question.printed}, in as many runs: {', '.join(left)}.")
    return said


def _verdicts(question: Question, found: Found) -> Table:
    rows: list[Row] = [
        (of.what, name, *(found[condition][name].verdict for condition in question.names))
        for of in question.results()
        for name in of.claims
    ]
    return Table(f"Verdicts by {question.axis}", ("result", "claim", *question.names), rows)


def _measures(question: Question, found: Found) -> Table:
    rows: list[Row] = []
    for of in question.results():
        for name in of.claims:
            for at, first in enumerate(found[PRINTED][name].measures):
                values = [found[condition][name].measures[at].measured for condition in question.names]
                texts = [with_unit(interval_text(value), first.unit) for value in values]
                rows.append((name, first.what, *texts, str(first.claimed)))
    return Table(f"Measures by {question.axis}", ("claim", "measure", *question.names, "claimed"), rows)


def terminal_table(data: dict[str, Any]) -> Printed:
    """The verdicts for the terminal; the page and the CSV have all."""
    from rich.table import Table as Printed

    verdict = {(row["claim"], row["condition"]): row["verdict"] for row in data["claims"]}
    names = dict.fromkeys(condition for _, condition in verdict)
    table = Printed(title=f"Verdicts by {data['axis']}")
    for heading in ("claim", *names):
        table.add_column(heading, no_wrap=True)
    for claim in dict.fromkeys(name for name, _ in verdict):
        table.add_row(claim, *(verdict[claim, condition] for condition in names))
    return table


_EXPERIMENTS = Parameter(
    "experiments", "those of the papers' reproductions, under their defaults", "the papers' pages"
)
_PARAMETERS = {
    DURATIONS.title: (
        _EXPERIMENTS,
        Parameter(
            "signalling", f"{SIGNALLING}: 34 ms in the median, 94 ms in 99 of 100", "measured durations"
        ),
        Parameter("user plane", f"{USER_PLANE}: silences from 0.1 to 3.2 s", "measured durations"),
    ),
    SENDERS.title: (
        _EXPERIMENTS,
        Parameter("CUBIC, BBR", "TCP of Linux 6, with its windows and timers", "the page on TCP"),
        Parameter("QUIC", "NewReno of RFC 9002, packets of 1200 B", "the page on QUIC"),
    ),
}

_ASSUMPTIONS = {
    DURATIONS.title: (
        Assumption(
            "silence at a move",
            "a silence of the user plane is the gap of a change of cell",
            "the record has silences of any cause above 0.1 s, and does not tell those of changes of cell",
        ),
        Assumption(
            "two cells at a time",
            "under a law a host has none while it changes, also where a paper has both cells for a time",
            "a gap is asked for",
        ),
        Assumption(
            "late for a visit",
            "a host whose gap lasts until its next visit leaves that one out",
            "as in the page on laws of durations",
        ),
    ),
    SENDERS.title: (
        Assumption(
            "all senders",
            "each TCP of an experiment is replaced, also that of cross traffic",
            "all hosts are current ones",
        ),
        Assumption(
            "windows",
            "a sender has its default windows, not the 20 to 64 segments of the papers",
            "no current host has a window this small",
        ),
        Assumption(
            "sizes of packets",
            "TCP keeps the segments of the paper; QUIC has packets of 1200 B, since no path may be asked for less",
            "RFC 9000, section 14",
        ),
    ),
}
