"""`roamlab reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from roamlab.base.screen import console, say, shown
from roamlab.commands import completion
from roamlab.commands.options import FOLDER, JSON, STORE, THREADS, no_file
from roamlab.commands.output import print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.papers import Session
    from roamlab.showing.report import Report
    from roamlab.statistics.claims import Claim


@click.command("reproduce")
@click.argument("paper", shell_complete=completion.papers)
@click.option("--out", type=FOLDER, callback=no_file, help="Folder for the report.  [default: out/PAPER]")
@STORE
@click.option("--runs", type=click.IntRange(1), help="Repetitions.  [default: the paper's]")
@THREADS
@click.option(
    "--claim",
    "only",
    multiple=True,
    metavar="ID",
    help="This claim alone; may be repeated. Only the experiments that it needs are run.",
)
@click.option(
    "--figure",
    metavar="N",
    help="This figure alone, by its number in the paper or its name, with the claims and tables of its runs.",
)
@click.option(
    "--explore",
    is_flag=True,
    help="Instead, search the space of what the paper leaves open: where does each claim come out, and under which "
    "one setting do most results hold?",
)
@click.option(
    "--settings",
    type=click.IntRange(10),
    help="How many settings of the space to try.  [default: the paper's]",
)
@click.option(
    "--blocks",
    type=click.IntRange(2),
    help="Instead, decide the claims in this number of disjoint blocks of runs: which verdicts turn?",
)
@JSON
def command(
    paper: str,
    out: Path | None,
    store: Path,
    runs: int | None,
    threads: int | None,
    settings: int | None,
    blocks: int | None,
    figure: str | None,
    *,
    only: tuple[str, ...],
    explore: bool,
    as_json: bool,
) -> None:
    """Measure a paper's claims and write the report. Interrupted, it continues where it stopped when called again.

    PAPER is one of those that `roamlab list` shows, or `all`: every paper, with an index of all claims.
    """
    import json

    from roamlab import papers
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.papers import part as parts
    from roamlab.papers import reproducing, robustness
    from roamlab.running.ensemble import processors
    from roamlab.showing import report

    if paper == "all":
        _check_all(explore, settings, blocks, only, figure)
        _all(out or Path("out/all"), store, runs, threads or processors(), as_json)
        return
    parts.check_paper(paper, "all")
    part = parts.part(paper, only, figure or "")
    apart = part is not None or (runs is not None and not blocks)
    mode = _mode(paper, (explore, blocks), settings, apart=apart)
    out = out or Path("out") / (f"{paper}-{mode}" if mode != "claims" else parts.folder_name(paper, part))
    refuse_foreign(out, store)
    runs = runs or papers.paper(paper).RUNS
    with whole_folder(out) as draft:
        threads = threads or processors()
        session = papers.Session(draft / "figures", draft / "tables", store, runs, threads, part)
        if mode == "claims":
            found = reproducing.write(paper, session, draft)
        else:
            found, written, summary = _searched(paper, mode, session, settings, blocks)
            for name, data in written.items():
                (draft / f"{name}.json").write_text(robustness.text(data), encoding="utf-8")
                if mode == "explored":
                    robustness.keep(paper, name, data, store)
            report.write(found, draft / "report.html")
    page = shown(out / "report.html")
    if as_json:
        names = ("explored", "fit") if mode == "explored" else (mode,)
        texts = {name: (out / f"{name}.json").read_text(encoding="utf-8") for name in names}
        print_json({"report": page} | {name: json.loads(text) for name, text in texts.items()})
        return
    if mode == "claims":
        _tell(found.claims)
        _name_figures(out if figure else None)
    else:
        say(summary)
    say(f"report: {page}")


def _tell(found: Sequence[Claim]) -> None:
    """The claims on the terminal, if there are any."""
    from roamlab.statistics import claims

    if not found:
        return
    console().print(*claims.terminal_tables(found))
    if remarks := claims.remarks(found):
        say(remarks)
    say(f"{claims.tally(found)}.")
    say("Under which other interpretations of the paper each claim holds: see the report.")


def _name_figures(out: Path | None) -> None:
    """The files of a figure that was asked for."""
    for drawn in (out / "figures").glob("*.svg") if out else ():
        say(f"figure: {shown(drawn)}")


def _check_all(
    explore: bool,
    settings: int | None,
    blocks: int | None,
    only: tuple[str, ...],
    figure: str | None,
) -> None:
    """Raises `BadInput` for an option that needs the name of one paper."""
    from roamlab import papers
    from roamlab.base.errors import BadInput

    if only or figure:
        option, what, value = ("--claim", "claim", "ID") if only else ("--figure", "figure", "N")
        raise BadInput(
            option,
            f"a {what} is one of a paper",
            expected="with it the paper's name",
            remedy=f"`roamlab reproduce {papers.names()[0]} {option} {value}`",
        )
    if not (explore or settings is not None or blocks is not None):
        return
    raise BadInput(
        "--blocks" if blocks is not None else "--explore",
        "one paper is searched at a time",
        expected="with it a paper's name",
        remedy=f"`roamlab reproduce {papers.names()[0]} --explore`, or `roamlab reproduce all` alone",
    )


def _mode(
    paper: str, given: tuple[bool, int | None], settings: int | None, *, apart: bool
) -> Literal["claims", "explored", "blocks"]:
    """Requested data. Raises `BadInput` for options that do not go together; `apart`: one of the claims' own."""
    from roamlab.base.errors import BadInput

    explore, _ = given
    asked = [option for option, is_given in zip(("--explore", "--blocks"), given, strict=True) if is_given]
    if len(asked) > 1 or (asked and apart) or (settings is not None and not explore):
        raise BadInput(
            asked[0] if asked else "--settings",
            "these options do not go together",
            expected="one of --explore and --blocks; --settings with the first; --runs with --blocks, or without any "
            "of them; --claim or --figure without any of them",
            remedy=f"`roamlab reproduce {paper} --explore --settings 200`",
        )
    if not asked:
        return "claims"
    return "explored" if explore else "blocks"


def _searched(
    paper: str, mode: str, session: Session, settings: int | None, blocks: int | None
) -> tuple[Report, dict[str, dict[str, Any]], str]:
    """The page of a search, its data by the names of their files, and the same for the terminal."""
    from roamlab import papers
    from roamlab.papers import blocks as in_blocks
    from roamlab.papers import exploring, fitting

    space = papers.space(paper)
    if mode == "explored":
        found, data, fit = exploring.report(space, session, settings or space.settings)
        lines = [f"{name}: {of['robustness']}" for name, of in data["claims"].items()]
        return found, {"explored": data, "fit": fit}, "\n".join([*lines, fitting.summary(fit)])
    found, data = in_blocks.report(space, session, blocks or in_blocks.BLOCKS)
    return found, {"blocks": data}, in_blocks.summary(data)


def _all(out: Path, store: Path, runs: int | None, threads: int, as_json: bool) -> None:
    """All papers, into folders of their own below `out`, and an index of their claims."""
    from roamlab.papers import index

    chapters, data = index.reproduce(out, store, runs, threads)
    every = [claim for chapter in chapters for claim in chapter.claims]
    page = shown(out / "index.html")
    if as_json:
        print_json({"report": page, **data})
        return
    _tell(every)
    say(f"all schemes on one network: {index.STUDY}")
    say(f"report: {page}")
