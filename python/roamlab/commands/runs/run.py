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
    from collections.abc import Callable
    from pathlib import Path

    from roamlab.records.results import Results
    from roamlab.records.storage.store import Store
    from roamlab.records.totals import Totals
    from roamlab.running.ensemble import Job


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
    loaded = load(scenario, changes)
    from roamlab.records.manifest import describe
    from roamlab.records.storage.store import Store
    from roamlab.records.totals import Totals
    from roamlab.running.ensemble import SMALL_FLOWS, Job
    from roamlab.showing import terminal

    store, manifest = Store(out), describe(loaded, seed, repetition)
    folder, screen = store.folder(manifest), console()
    told: list[Totals] = []

    def tell(totals: Totals) -> None:
        told.append(totals)
        for part in () if as_json else terminal.tables(totals, folder):
            screen.print(part)

    print_estimate(loaded, err=as_json)
    if note := store.noted(manifest):
        tell(Totals(note["flows"], note["drops"]))
        warnings = note["warnings"]
    else:
        results = _made(Job(loaded, seed, repetition), store, tell)
        is_small = loaded.outline.flows <= SMALL_FLOWS
        if not told:
            tell(Totals.of(results, None if is_small or as_json else terminal.NEEDED))
        warnings = results.warnings
        if is_small:
            store.note(manifest, told[0]._asdict() | {"warnings": warnings})
    # The newest run is the one that was asked for last, though it may have been made before.
    os.utime(folder)
    print_warnings(warnings)
    if as_json:
        print_json(terminal.as_data(manifest, folder, told[0], warnings))
        return
    say(f"result: {shown(folder)}")


def _made(job: Job, store: Store, tell: Callable[[Totals], None]) -> Results:
    """The run, made or found. Of a small one `tell` gets the totals before Polars is loaded, to write it."""
    from roamlab.running.ensemble import is_small, run_all

    def ended(totals: Totals) -> None:
        tell(totals)
        _load_polars()

    if not is_small(job):
        _load_polars()
    (results,) = run_all([job], store, threads=1, ended=ended)
    return results


def _load_polars() -> None:
    """Load Polars, which takes interrupts too, and would give up its files with a panic on the screen.

    Afterwards the interpreter takes them alone.
    """
    import polars  # noqa: F401

    signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
