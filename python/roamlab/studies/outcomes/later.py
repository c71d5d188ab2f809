"""`roamlab study later`: main results over all that the papers leave open, and under other conditions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab, papers
from roamlab.base.figures import BLUE, GREEN, ORANGE, VERMILION, new_figure, save
from roamlab.base.quantities import counted
from roamlab.papers.reporting import write_csv
from roamlab.papers.robustness import known
from roamlab.papers.runs import SEED
from roamlab.showing.page import Table
from roamlab.showing.report import Assumption, Finding, Parameter, Report
from roamlab.statistics.claims import FINAL_VERDICTS, final
from roamlab.studies.outcomes.cases import DURATIONS, PRINTED, SENDERS, results
from roamlab.studies.outcomes.study import measure

if TYPE_CHECKING:
    from rich.table import Table as Printed

    from roamlab.base.figures import SavedFigure
    from roamlab.statistics.claims import FinalVerdict, Verdict
    from roamlab.statistics.stats import Interval

OVER_ALL = "over all settings"
_COLOURS = {"holds": GREEN, "depends": ORANGE, "contradicted": VERMILION, "undecided": BLUE}


@dataclass(frozen=True)
class Wanted:
    """Future work of a paper."""

    quote: str
    where: str
    answer: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper's conclusion and its future work, in its own words."""

    paper: str
    concluded: str
    where: str
    wanted: tuple[Wanted, ...] = field(default=())


@cache
def listed() -> tuple[Paper, ...]:
    """The papers, in the order of later.toml."""
    import tomli

    read = tomli.loads(Path(__file__).with_name("later.toml").read_text(encoding="utf-8"))
    return tuple(
        Paper(
            each["paper"],
            each["concluded"],
            each["where"],
            tuple(
                Wanted(one["quote"], one["where"], one.get("answer", "")) for one in each.get("wanted", [])
            ),
        )
        for each in read["papers"]
    )


@dataclass(frozen=True)
class Worth:
    """A main result: its verdict over all that the text leaves open, and under each condition."""

    paper: str
    claim: str
    over_all: FinalVerdict
    turn: str
    """The changes on which it depends; empty: on none."""
    share: Interval | None
    """Part of the settings, drawn by weight, in which it holds; None: it was not searched."""
    under: dict[str, Verdict]
    """`PRINTED` has the paper's own condition, in as many runs as the others."""


def worths(runs: int, store: Path, threads: int) -> list[Worth]:
    """All main results. Those that compare senders have no verdict under other senders."""
    under: dict[str, dict[str, Verdict]] = {}
    for question in (DURATIONS, SENDERS):
        for condition, claims in measure(question, question.results(), runs, store, threads).items():
            for name, claim in claims.items():
                under.setdefault(name, {}).setdefault(condition, claim.verdict)
    found = []
    for of in results():
        searched = known(of.paper, store)
        for name in of.claims:
            record = searched.found.get(name) if searched else None
            default: Any = searched.defaults[name] if searched and record else under[name][PRINTED]
            verdict = final(default, record)
            turn = record.changes if record and verdict == "depends" else ""
            found.append(Worth(of.paper, name, verdict, turn, record.share if record else None, under[name]))
    return found


def study(runs: int, store: Path, threads: int, draft: Path) -> tuple[Report, dict[str, Any]]:
    """Make the runs and draw; gives the page, and what is found as data."""
    found = worths(runs, store, threads)
    table, wanted = _table(found), _wanted()
    write_csv(table, draft / "results.csv")
    sentences = [headline(found), *(sentence(of, found) for of in listed())]
    page = Report(
        title="Twenty years later",
        paper="Main results of the five papers of 2001 to 2014: over all settings that their texts permit, from the "
        "shipped searches, and with measured durations of handovers and current senders, from "
        f"{counted(runs, 'run', 'runs')} of each experiment.",
        headline=sentences[0],
        claims=(),
        figures=[_draw(found, draft / "figures")],
        tables=[table, wanted],
        findings=[
            Finding(papers.texts(of.paper).title, [f'"{of.concluded}" ({of.where}).', said])
            for of, said in zip(listed(), sentences[1:], strict=True)
        ],
        parameters=(
            Parameter("over all settings", "the verdict of the shipped search", "each paper's page"),
            Parameter(
                "conditions", "of `roamlab study durations` and `study senders`", "the page on studies"
            ),
        ),
        assumptions=(
            Assumption(
                "conditions",
                "each is tried with the default setting of a paper",
                "a search over all settings takes half an hour for each paper and condition",
            ),
        ),
        origin=(
            ("engine build", _roamlab.build_hash()),
            ("seed", str(SEED)),
            ("runs of each experiment", str(runs)),
        ),
    )
    return page, {
        "sentences": sentences,
        "results": [
            {
                "paper": each.paper,
                "claim": each.claim,
                "over_all": each.over_all,
                "depends_on": each.turn,
                "share": [each.share.effect, each.share.low, each.share.high] if each.share else None,
                "under": each.under,
            }
            for each in found
        ],
    }


def headline(found: list[Worth]) -> str:
    """The verdicts over all settings."""
    return f"Of {len(found)} main results {_counts(found)}."


def _counts(found: list[Worth]) -> str:
    counts = Counter(each.over_all for each in found)
    return _joined([f"{counts[verdict]} {_DO[verdict]}" for verdict in FINAL_VERDICTS if counts[verdict]])


_DO = {
    "holds": "hold under each setting tried",
    "depends": "depend on what the text leaves open",
    "contradicted": "are contradicted under each setting tried",
    "undecided": "are undecided",
}


def sentence(of: Paper, found: list[Worth]) -> str:
    """The main results of a paper: over all settings, and the conditions under which they have another verdict."""
    own = [each for each in found if each.paper == of.paper]
    said = f"Of its {len(own)} main results {_counts(own)}."
    for name in _conditions():
        turned = [
            f"{each.claim} ({each.under[PRINTED]}, then {each.under[name]})"
            for each in own
            if name in each.under
            and "undecided" not in (each.under[PRINTED], each.under[name])
            and each.under[name] != each.under[PRINTED]
        ]
        if turned:
            said += f" With {name}: {_joined(turned)}."
    return said


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _conditions() -> list[str]:
    return [PRINTED, *(name for each in (DURATIONS, SENDERS) for name in each.names if name != PRINTED)]


def _table(found: list[Worth]) -> Table:
    def share(of: Interval | None) -> str:
        return f"{100 * of.effect:.0f} ({100 * of.low:.0f} … {100 * of.high:.0f})" if of else ""

    rows = [
        (
            each.claim,
            each.over_all,
            each.turn,
            share(each.share),
            *(each.under.get(name, "") for name in _conditions()),
        )
        for each in found
    ]
    headings = ("claim", OVER_ALL, "depends on", "holds in [% of settings]", *_conditions())
    return Table("Main results, and what changes their verdict", headings, rows)


def _wanted() -> Table:
    rows = [
        (of.paper, f'"{each.quote}" ({each.where})', each.answer or "not built")
        for of in listed()
        for each in of.wanted
    ]
    return Table("Future work of the papers", ("paper", "in its words", "here"), rows)


def _draw(found: list[Worth], folder: Path) -> SavedFigure:
    """A field for each result and condition, in the colour of its verdict."""
    names = [OVER_ALL, *_conditions()]
    with new_figure(row_inches=0.32 * len(found) + 1.4) as (figure, (axes,)):
        for row, each in enumerate(found):
            verdicts = [each.over_all, *(each.under.get(name) for name in _conditions())]
            for column, verdict in enumerate(verdicts):
                if verdict is None:
                    continue
                axes.barh(row, 0.96, left=column - 0.48, height=0.9, color=_COLOURS[verdict], alpha=0.35)
                axes.text(column, row, verdict, ha="center", va="center", fontsize=6.5)
        axes.set_xticks(range(len(names)), names, rotation=20, ha="right")
        axes.set_yticks(range(len(found)), [each.claim for each in found])
        axes.invert_yaxis()
        axes.grid(visible=False)
        axes.set_xlabel("condition")
        axes.set_ylabel("main result")
        axes.set_title(
            "Verdicts over all settings that the texts permit, and under other conditions", fontsize=9
        )
        caption = (
            "Verdicts of the papers' main results: over all settings, from the shipped searches, and under each "
            "condition with the default setting. Empty: the result compares senders."
        )
        return save(figure, folder, "later", caption)


def terminal_table(data: dict[str, Any]) -> Printed:
    """The verdicts for the terminal; the page and the CSV have all."""
    from rich.table import Table as Printed

    table = Printed(title="Verdicts of the main results")
    names = list(dict.fromkeys(name for row in data["results"] for name in row["under"]))
    for heading in ("claim", OVER_ALL, *names):
        table.add_column(heading)
    for row in data["results"]:
        table.add_row(row["claim"], row["over_all"], *(row["under"].get(name, "") for name in names))
    return table
