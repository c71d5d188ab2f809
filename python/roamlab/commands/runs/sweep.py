"""`roamlab sweep`."""

from __future__ import annotations

from pathlib import Path

import click

from roamlab.base.screen import console, say, shown
from roamlab.commands.options import (
    ANY_PATH,
    FOLDER,
    JSON,
    SET,
    STORE,
    THREADS,
    no_file,
    read_with,
    unread_with,
)
from roamlab.commands.output import print_json, print_warnings


@click.command("sweep")
@click.argument("sweep_file", metavar="SWEEP", type=ANY_PATH)
@click.option(
    "--out", type=FOLDER, callback=no_file, help="Folder for the result.  [default: out/sweeps/SWEEP's name]"
)
@STORE
@THREADS
@click.option("--cluster", metavar="ADDRESS", help="Address of a Dask scheduler, to run there.")
@click.option(
    "--patience",
    type=click.FloatRange(1),
    default=300.0,
    show_default=True,
    help="Seconds to wait for a worker of a cluster that has none.",
)
@SET
@JSON
@read_with("--patience", "--cluster")
@unread_with("--threads", "--cluster")
def command(
    sweep_file: Path,
    out: Path | None,
    store: Path,
    threads: int | None,
    cluster: str | None,
    patience: float,
    changes: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Run a scenario at many points. Interrupted, it continues where it stopped when it is called again."""
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.running.executor import DaskCluster, LocalPool
    from roamlab.scenarios.changes import assigned
    from roamlab.showing import terminal
    from roamlab.sweeps import compare, sweepresult
    from roamlab.sweeps.sweep import execute
    from roamlab.sweeps.sweepfile import load_sweep

    source = load_sweep(sweep_file, assigned(changes))
    out = out or Path("out/sweeps") / sweep_file.stem
    refuse_foreign(out, store)
    executor = DaskCluster(cluster, patience_s=patience) if cluster else LocalPool(threads)
    runs = execute(source.plan, store, executor)
    with whole_folder(out) as draft:
        differences = sweepresult.write(source, runs, draft)
    print_warnings(runs.warnings)
    if as_json:
        found = {"result": shown(out), "means": terminal.rows(runs.means()), "warnings": runs.warnings}
        if differences is not None:
            found["differences"] = terminal.rows(differences)
        print_json(found)
        return
    screen = console()
    screen.print(*sweepresult.tables(runs))
    if differences is not None:
        screen.print(
            f"\nDifferences to {source.baseline}",
            *compare.tables(differences, "point"),
            markup=False,
            sep="\n",
        )
    say(f"result: {shown(out)}")
