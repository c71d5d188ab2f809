"""`roamlab optimise`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import console, say, shown
from roamlab.commands.inputs import load
from roamlab.commands.options import (
    AMOUNT,
    JSON,
    SCENARIO,
    SET,
    STORE,
    THREADS,
    out,
    read_with,
    seed,
    unread_with,
)
from roamlab.commands.output import print_json, print_warnings

if TYPE_CHECKING:
    from pathlib import Path


@click.command("optimise")
@SCENARIO
@click.option(
    "--over",
    multiple=True,
    required=True,
    metavar="PATH=[VALUES]",
    help='A field and its values, the cheapest first: \'mobility.buffer.limit=["4 pkt", "8 pkt"]\'; may be given more '
    "than once.",
)
@click.option(
    "--for",
    "objective",
    required=True,
    metavar="OBJECTIVE",
    help='What to look for: "max METRIC" or "min METRIC".',
)
@click.option("--where", metavar="CONDITION", help='Of runs, such as "flows.moving.timeouts == 0".')
@click.option(
    "--share",
    type=AMOUNT,
    default=0.95,
    show_default=True,
    help="Share of runs that must meet the condition.",
)
@click.option(
    "--tolerance",
    type=AMOUNT,
    default=0.02,
    show_default=True,
    help="Stop when all that are left are this close to the best, as a share of it.",
)
@click.option(
    "--budget", type=click.IntRange(8), default=64, show_default=True, help="Runs of each setting, at most."
)
@click.option(
    "--coarse",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Begin with every such value of each field, and continue around the best mean; 1: try all.",
)
@seed()
@out("out/optimise", "Folder for figure and data.")
@STORE
@THREADS
@click.option("--cluster", metavar="ADDRESS", help="Address of a Dask scheduler, to run there.")
@SET
@JSON
@read_with("--share", "--where")
@unread_with("--threads", "--cluster")
def command(
    scenario: Path,
    over: tuple[str, ...],
    objective: str,
    where: str | None,
    share: float,
    tolerance: float,
    budget: int,
    coarse: int,
    seed: int,
    out: Path,
    store: Path,
    threads: int | None,
    cluster: str | None,
    changes: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Best setting of fields: which can be the best, how far each can be from it, and the cheapest of them.

    Run n of all settings draws from the same random streams. Interrupted, it continues when it is called again.
    """
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.running.executor import DaskCluster, LocalPool
    from roamlab.scenarios.changes import assigned
    from roamlab.sweeps import optimum_page
    from roamlab.sweeps.optimise import optimise

    base = load(scenario, changes)
    fields = assigned(over, "--over")
    refuse_foreign(out, store)
    found = optimise(
        base,
        fields,
        objective=objective,
        where=where,
        share=share,
        tolerance=tolerance,
        budget=budget,
        coarse=coarse,
        seed=seed,
        store=store,
        executor=DaskCluster(cluster) if cluster else LocalPool(threads),
    )
    print_warnings(found.runs.warnings)
    with whole_folder(out) as draft:
        optimum_page.write(found, draft)
    if as_json:
        print_json({"result": shown(out), **optimum_page.as_json(found), "warnings": found.runs.warnings})
        return
    screen = console()
    screen.print(optimum_page.table(found))
    say(f"{found.sentence}.")
    say(f"result: {shown(out)}")
