"""`roamlab optimise`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from roamlab.base.screen import console, say, shown
from roamlab.commands import completion
from roamlab.commands.inputs import load
from roamlab.commands.options import AMOUNT, ANY_PATH, JSON, SET, STORE, THREADS, out, read_with, seed
from roamlab.commands.output import print_json, print_warnings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_RANGE = re.compile(r"(.+?) to (.+?) by (.+)")


@click.command("optimise")
@click.argument("scenario", type=ANY_PATH)
@click.option(
    "--over",
    "fields",
    multiple=True,
    required=True,
    metavar="PATH=VALUES",
    shell_complete=completion.fields,
    help="A field and its values, a list of TOML or '4 pkt to 64 pkt by 4 pkt'; may be given more than once: all "
    "combinations are tried. Write cheap values first.",
)
@click.option(
    "--for",
    "objective",
    required=True,
    metavar="'max METRIC'",
    help="What is best: the largest (max) or the smallest (min) mean of a metric.",
)
@click.option(
    "--where",
    metavar="CONDITION",
    help="Only settings whose runs meet it, as 'flows.download.timeouts == 0'.",
)
@click.option(
    "--share", type=AMOUNT, default=0.95, show_default=True, help="In how many runs, as a part of them."
)
@click.option(
    "--within",
    type=AMOUNT,
    default=0.02,
    show_default=True,
    help="A difference that does not matter, as a part of it.",
)
@click.option(
    "--budget", type=click.IntRange(8), default=256, show_default=True, help="Runs of each setting at most."
)
@seed()
@out("out/optimise", "Folder for page, figure and data.")
@STORE
@THREADS
@SET
@JSON
@read_with("--share", "--where")
def command(
    scenario: Path,
    fields: tuple[str, ...],
    objective: str,
    where: str | None,
    share: float,
    within: float,
    budget: int,
    seed: int,
    out: Path,
    store: Path,
    threads: int | None,
    changes: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """The settings of SCENARIO over which a mean may be best, from as few runs as show it.

    Run n has the same random streams in all settings. After 8, 16, 32, … runs a setting leaves if another one is surely
    better. Interrupted, it continues where it stopped when called again.
    """
    from roamlab.base.output import refuse_foreign, whole_folder
    from roamlab.running.executor import LocalPool
    from roamlab.showing import report, terminal
    from roamlab.sweeps import drawing, optimise, sweep_page

    base = load(scenario, changes)
    refuse_foreign(out, store)
    found = optimise.optimise(
        base,
        values_of(fields),
        objective=objective,
        where=where,
        share=share,
        within=within,
        budget=budget,
        seed=seed,
        store=store,
        executor=LocalPool(threads),
    )
    print_warnings(found.first.warnings)
    with whole_folder(out) as draft:
        figures = [drawing.overview(found.first.means(), found.first.points, found.first.kept, draft)]
        report.write(sweep_page.optimum(found, base.name, seed, figures), draft / "report.html")
        found.tried.write_csv(draft / "settings.csv")
    if as_json:
        rows = terminal.rows(found.tried)
        print_json({"result": shown(out), "sentence": found.sentence, "settings": rows})
        return
    console().print(sweep_page.standing_table(found))
    say(found.sentence)
    say(f"result: {shown(out)}")


def values_of(fields: Sequence[str]) -> dict[str, list[Any]]:
    """The fields of `--over` with their values. Raises `BadInput`."""
    from roamlab.base.errors import BadInput
    from roamlab.scenarios.changes import assigned
    from roamlab.sweeps.threshold import quantity_of, values_between

    found: dict[str, list[Any]] = {}
    for path, value in assigned(fields, "--over").items():
        parts = _RANGE.fullmatch(value) if isinstance(value, str) else None
        if parts:
            ends = tuple(quantity_of("--over", part) for part in parts.groups())
            if ends[2][1] not in ("", ends[0][1]):
                raise BadInput(
                    f"--over {path}={value}",
                    "the step has another unit than the values",
                    expected="one unit",
                    remedy=f"write --over '{path}=4 pkt to 64 pkt by 4 pkt'",
                )
            low, high = (
                text if unit else number
                for text, (number, unit) in zip(parts.groups(), ends[:2], strict=False)
            )
            several = values_between((low, high), ends[2][0])
            found[path] = [several(at) for at in range(len(several))]
        elif isinstance(value, list):
            found[path] = value
        else:
            raise BadInput(
                f"--over {path}={value}",
                "this is one value",
                expected="a list of values, or a range",
                remedy=f"""write --over '{path}=["4 pkt", "8 pkt"]' or --over '{path}=4 pkt to 64 pkt by 4 pkt'""",
            )
    return found
