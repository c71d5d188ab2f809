"""`roamlab study`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from roamlab.base.screen import console, say, shown
from roamlab.commands.options import JSON, STORE, THREADS, out
from roamlab.commands.output import print_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.table import Table

    from roamlab.showing.report import Report
    from roamlab.studies.outcomes.cases import Question

    Study = Callable[[int, Path, int, Path], tuple[Report, dict[str, Any]]]


@click.group("study")
def command() -> None:
    """Compare schemes, queues, procedures, predictions, durations and senders beyond any one paper."""


def _runs(default: int, of: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option("--runs", type=click.IntRange(1), default=default, show_default=True, help=of)


@command.command("schemes")
@out("out/schemes", "Folder for page and CSV.")
@STORE
@_runs(20, "Of each scheme with each application.")
@THREADS
@JSON
def _schemes(out: Path, store: Path, runs: int, threads: int | None, *, as_json: bool) -> None:
    """All mobility schemes on one network and one move: what a download, a call and a video feel, and the cost.

    Interrupted, it continues where it stopped when called again.
    """
    from roamlab.studies import schemes

    _conduct(schemes.study, schemes.terminal_table, (out, store, runs, threads), as_json=as_json)


@command.command("queues")
@out("out/queues", "Folder for page and CSV.")
@STORE
@_runs(20, "Of each queue with each congestion control and each way of forwarding.")
@THREADS
@JSON
def _queues(out: Path, store: Path, runs: int, threads: int | None, *, as_json: bool) -> None:
    """All queues at the base stations of one move, and whether to spare forwarded packets is still worth it.

    Interrupted, it continues where it stopped when called again.
    """
    from roamlab.studies.queues import study

    _conduct(study.study, study.terminal_table, (out, store, runs, threads), as_json=as_json)


@command.command("procedures")
@out("out/procedures", "Folder for page and CSV.")
@STORE
@_runs(20, "Of each procedure with each application and each law of its duration.")
@THREADS
@JSON
def _procedures(out: Path, store: Path, runs: int, threads: int | None, *, as_json: bool) -> None:
    """Handovers of LTE and 5G by each procedure: what downloads, a call and pages feel, and what each costs.

    Interrupted, it continues where it stopped when called again.
    """
    from roamlab.studies.procedures import study

    _conduct(study.study, study.terminal_table, (out, store, runs, threads), as_json=as_json)


@command.command("durations")
@out("out/durations", "Folder for page and CSV.")
@STORE
@_runs(6, "Of each experiment of the papers, under each law of the gap.")
@THREADS
@JSON
def _durations(out: Path, store: Path, runs: int, threads: int | None, *, as_json: bool) -> None:
    """Main results of the papers under their own gaps, and under durations of handovers that were measured.

    Interrupted, it continues where it stopped when called again.
    """
    from roamlab.studies.outcomes.cases import DURATIONS

    _outcomes(DURATIONS, (out, store, runs, threads), as_json=as_json)


@command.command("senders")
@out("out/senders", "Folder for page and CSV.")
@STORE
@_runs(6, "Of each experiment of the papers, with each sender.")
@THREADS
@JSON
def _senders(out: Path, store: Path, runs: int, threads: int | None, *, as_json: bool) -> None:
    """Main results of the papers with their own senders, and with current CUBIC, BBR and QUIC.

    Interrupted, it continues where it stopped when called again.
    """
    from roamlab.studies.outcomes.cases import SENDERS

    _outcomes(SENDERS, (out, store, runs, threads), as_json=as_json)


@command.command("later")
@out("out/later", "Folder for page and CSV.")
@STORE
@_runs(6, "Of each experiment of the papers, under each condition.")
@THREADS
@JSON
def _later(out: Path, store: Path, runs: int, threads: int | None, *, as_json: bool) -> None:
    """Main results of the papers twenty years later: over all open settings, measured durations, current senders.

    Interrupted, it continues where it stopped when called again.
    """
    from roamlab.studies.outcomes import later

    _conduct(later.study, later.terminal_table, (out, store, runs, threads), as_json=as_json)


def _outcomes(question: Question, options: tuple[Path, Path, int, int | None], *, as_json: bool) -> None:
    from functools import partial

    from roamlab.studies.outcomes import study

    _conduct(partial(study.study, question), study.terminal_table, options, as_json=as_json)


@command.command("prediction")
@out("out/prediction", "Folder for page and CSV.")
@STORE
@_runs(20, "Of each prediction with each queue.")
@THREADS
@JSON
def _prediction(out: Path, store: Path, runs: int, threads: int | None, *, as_json: bool) -> None:
    """Predicted LTE handovers behind each queue, with ECN and without: the joint effect, and the best buffer.

    Interrupted, it continues where it stopped when called again.
    """
    from roamlab.studies.prediction import study

    _conduct(study.study, study.terminal_table, (out, store, runs, threads), as_json=as_json)


def _conduct(
    study: Study,
    table: Callable[[dict[str, Any]], Table],
    options: tuple[Path, Path, int, int | None],
    *,
    as_json: bool,
) -> None:
    """Make a study's runs and write its page; print what it found."""
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.running.ensemble import processors
    from roamlab.showing import report

    out, store, runs, threads = options
    refuse_foreign(out, store)
    with whole_folder(out) as draft:
        found, data = study(runs, store, threads or processors(), draft)
        report.write(found, draft / "report.html")
    page = shown(out / "report.html")
    if as_json:
        print_json({"report": page, **data})
        return
    console().print(table(data))
    for sentence in data.get("sentences", ()):
        say(sentence)
    say(f"report: {page}")
