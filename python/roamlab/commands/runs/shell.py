"""`roamlab shell`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from roamlab.base.screen import console, say, shown
from roamlab.commands.inputs import load
from roamlab.commands.options import REPETITION, SCENARIO, SET, out, seed
from roamlab.commands.output import print_warnings

if TYPE_CHECKING:
    from pathlib import Path


@click.command("shell")
@SCENARIO
@click.option("--node", metavar="NODE", required=True, help="The host or node at which COMMAND runs.")
@click.option(
    "--peer",
    metavar="NODE",
    default="",
    help="The node that COMMAND can reach.  [default: the other end of the first flow of --node]",
)
@click.option(
    "--serve",
    multiple=True,
    metavar="COMMAND",
    help="Run this server at the peer, as in --serve 'iperf3 -s'; may be given more than once.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@seed()
@REPETITION
@SET
@out("out/runs", "Folder of run folders.")
def command(
    scenario: Path,
    node: str,
    peer: str,
    serve: tuple[str, ...],
    command: tuple[str, ...],
    seed: int,
    repetition: int,
    changes: tuple[str, ...],
    out: Path,
) -> None:
    """Run a program at a host of a scenario, in real time.

    COMMAND, by default a shell, runs in a separate network. What it sends to the peer goes through the
    scenario, handovers included, and no other address can be reached. The run ends with COMMAND, or at
    `run.duration`, and is kept like any other. The exit code is that of COMMAND.
    """
    from roamlab.base.output import sweep_drafts
    from roamlab.records.storage.store import Store
    from roamlab.records.totals import Totals
    from roamlab.shell.session import Session, perform
    from roamlab.showing import terminal

    loaded = load(scenario, changes)

    def began(line: str) -> None:
        say(f"{line}, at most {loaded.parameters['run']['duration']}", err=True)

    outcome = perform(Session(loaded, node, peer, command, serve, seed, repetition, began))
    store = Store(out)
    sweep_drafts(store.root)
    folder = store.write(outcome.results)
    print_warnings(outcome.results.warnings)
    screen = console()
    totals = Totals.of(outcome.results, terminal.NEEDED)
    for part in (*terminal.tables(totals, folder), terminal.live_table(outcome.results)):
        screen.print(part)
    if outcome.status is None:
        say("the run has ended, and with it the program: lengthen `run.duration` for more", err=True)
    say(f"result: {shown(folder)}")
    # A program that a signal has ended has the status that a shell gives it.
    status = outcome.status or 0
    sys.exit(status if status >= 0 else 128 - status)
