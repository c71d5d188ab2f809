"""`roamlab theory`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import console, say
from roamlab.commands.inputs import find_run
from roamlab.commands.options import JSON, RUN, SET
from roamlab.commands.output import print_json

if TYPE_CHECKING:
    from pathlib import Path


@click.command("theory")
@RUN
@click.option(
    "--all", "everything", is_flag=True, help="Also the formulas that do not apply, each with the reason."
)
@SET
@JSON
def command(run_folder: Path | None, changes: tuple[str, ...], *, everything: bool, as_json: bool) -> None:
    """Print closed forms next to a run: expected and measured values, and whether they agree.

    RUN is a run folder, or the file of a scenario (.toml), which is simulated with seed 1; without one it is the newest
    in out/runs. With --set a run is made again with the change, from its seed. A run that lacks tables which formulas
    read is made again with them. Runs made for this purpose are not kept. A formula that is exact and violated, or is
    off by more than three times its accuracy, is flagged. docs/theory.md has all formulas.
    """
    from roamlab.base.errors import within
    from roamlab.causes import answers
    from roamlab.formulas import compare, printed
    from roamlab.scenarios.changes import assigned

    wanted = assigned(changes)
    folder = find_run(run_folder)
    with within(folder):
        entries = compare.theory(answers.meant(folder, wanted, compare.recorded))
    if as_json:
        print_json([each.data() for each in entries])
        return
    console().print(printed.table(entries))
    say("\n".join([*(printed.reasons(entries) if everything else ()), *printed.lines(entries)]))
