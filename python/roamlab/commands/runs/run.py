"""`roamlab run`."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import click

from roamlab.base.screen import console, say, shown
from roamlab.commands.inputs import load
from roamlab.commands.options import JSON, REPETITION, SCENARIO, SET, out, seed
from roamlab.commands.output import print_estimate, print_json, print_warnings

if TYPE_CHECKING:
    from pathlib import Path


@click.command("run")
@SCENARIO
@seed()
@REPETITION
@SET
@out("out/runs", "Folder of run folders.")
@JSON
def command(
    scenario: Path, seed: int, repetition: int, changes: tuple[str, ...], out: Path, *, as_json: bool
) -> None:
    """Simulate a scenario and keep the result."""
    # First: an error in it is reported without waiting for Polars.
    loaded = load(scenario, changes)
    from roamlab.records.storage.store import Store
    from roamlab.running.ensemble import Job, run_all
    from roamlab.showing import terminal

    # Polars, loaded by now, takes interrupts too, and gives up the files that it writes with a panic on the screen: the
    # interpreter takes them alone.
    signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
    store = Store(out)
    print_estimate(loaded, err=as_json)
    (results,) = run_all([Job(loaded, seed, repetition)], store, threads=1)
    folder = store.folder(results.manifest)
    # The newest run is the one that was asked for last, though it may have been made before.
    os.utime(folder)
    print_warnings(results.warnings)
    if as_json:
        print_json(terminal.as_data(results, folder))
        return
    screen = console()
    for part in terminal.tables(results, folder):
        screen.print(part)
    say(f"result: {shown(folder)}")
