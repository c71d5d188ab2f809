"""`roamlab study durations` as page, figures, CSV and data."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab, papers
from roamlab.base.quantities import counted, with_unit
from roamlab.papers.reporting import write_csv
from roamlab.papers.runs import SEED, Batch
from roamlab.showing.page import Row, Table
from roamlab.showing.report import Assumption, Parameter, Report
from roamlab.statistics.claims import interval_text
from roamlab.studies.durations import figures
from roamlab.studies.durations.cases import LAWS, PRINTED, results, under
from roamlab.studies.means import interval_data

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.table import Table as Printed

    from roamlab.statistics.claims import Claim
    from roamlab.studies.durations.cases import Results

    Found = dict[str, dict[str, Claim]]
    """The claims by law of the gap and name."""


def measure(asked: Sequence[Results], runs: int, store: Path, threads: int) -> Found:
    """The claims of the papers under each law, from this number of runs of each experiment."""
    found: Found = {}
    for law, table in LAWS.items():
        batch = Batch(None if table is None else partial(under, table=table))
        made = [papers.space(of.paper).ask_whole(batch, range(runs)) for of in asked]
        batch.make(store, threads)
        claims = {claim.id: claim for each in made for claim in each()}
        found[law] = {name: claims[name] for of in asked for name in of.claims}
    return found


def study(runs: int, store: Path, threads: int, draft: Path) -> tuple[Report, dict[str, Any]]:
    """Make the runs and draw; gives the page, and what is measured as data."""
    asked = results()
    found = measure(asked, runs, store, threads)
    table = _verdicts(asked, found)
    measures = _measures(asked, found)
    for stem, each in (("verdicts", table), ("measures", measures)):
        write_csv(each, draft / f"{stem}.csv")
    sentences = sentences_of(found)
    page = Report(
        title="Durations",
        paper="Main results of the five papers under the gaps that they print, under the durations of handovers that "
        "were measured by signalling, and under the silences that a driving host was measured to have. "
        f"{counted(runs, 'run', 'runs')} of each experiment, with 95 % intervals.",
        headline=sentences[0],
        claims=(),
        figures=figures.draw(asked, found, draft / "figures"),
        tables=[table, measures],
        parameters=_PARAMETERS,
        assumptions=_ASSUMPTIONS,
        origin=(
            ("engine build", _roamlab.build_hash()),
            ("seed", str(SEED)),
            ("runs of each experiment", str(runs)),
        ),
    )
    return page, {
        "sentences": sentences,
        "claims": [
            {
                "claim": name,
                "law": law,
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
            for law, claims in found.items()
            for name, claim in claims.items()
        ],
    }


def sentences_of(found: Found) -> list[str]:
    """The results that keep their verdict under each law, and those that do not."""
    printed = found[PRINTED]
    decided = [name for name, claim in printed.items() if claim.verdict != "undecided"]
    said = []
    for law in LAWS:
        if law == PRINTED:
            continue
        verdict = {name: found[law][name].verdict for name in decided}
        same = [name for name in decided if verdict[name] == printed[name].verdict]
        other = [name for name in decided if verdict[name] not in (printed[name].verdict, "undecided")]
        undecided = [name for name in decided if verdict[name] == "undecided"]
        parts = [f"{len(same)} of {len(decided)} results keep their verdict"]
        for names, what in ((other, "have the other one"), (undecided, "are undecided")):
            if names:
                parts.append(f"{len(names)} {what} ({', '.join(names)})")
        said.append(f"With the law of {_LAW[law]}, {'; '.join(parts)}.")
    left = [name for name, claim in printed.items() if claim.verdict == "undecided"]
    if left:
        said.append(f"Undecided with the gaps of the papers, in as many runs: {', '.join(left)}.")
    return said


_LAW = {"signalling": "signalling", "user plane": "the user plane"}


def _verdicts(asked: Sequence[Results], found: Found) -> Table:
    rows: list[Row] = [
        (of.what, name, *(found[law][name].verdict for law in LAWS)) for of in asked for name in of.claims
    ]
    return Table("Verdicts by law of the gap", ("result", "claim", *LAWS), rows)


def _measures(asked: Sequence[Results], found: Found) -> Table:
    rows: list[Row] = []
    for of in asked:
        for name in of.claims:
            for at, first in enumerate(found[PRINTED][name].measures):
                values = [found[law][name].measures[at].measured for law in LAWS]
                texts = [with_unit(interval_text(value), first.unit) for value in values]
                rows.append((name, first.what, *texts, str(first.claimed)))
    return Table("Measures by law of the gap", ("claim", "measure", *LAWS, "claimed"), rows)


def terminal_table(data: dict[str, Any]) -> Printed:
    """The verdicts for the terminal; the page and the CSV have all."""
    from rich.table import Table as Printed

    verdict = {(row["claim"], row["law"]): row["verdict"] for row in data["claims"]}
    table = Printed(title="Verdicts by law of the gap")
    for heading in ("claim", *LAWS):
        table.add_column(heading, no_wrap=True)
    for claim in dict.fromkeys(name for name, _ in verdict):
        table.add_row(claim, *(verdict[claim, law] for law in LAWS))
    return table


_PARAMETERS = (
    Parameter("experiments", "those of the papers' reproductions, under their defaults", "the papers' pages"),
    Parameter(
        "signalling", f"{LAWS['signalling']}: 34 ms in the median, 94 ms in 99 of 100", "measured durations"
    ),
    Parameter("user plane", f"{LAWS['user plane']}: silences from 0.1 to 3.2 s", "measured durations"),
)

_ASSUMPTIONS = (
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
)
