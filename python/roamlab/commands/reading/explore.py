"""`roamlab explore`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from roamlab.base.screen import say, shown
from roamlab.commands import completion
from roamlab.commands.inputs import find_run
from roamlab.commands.options import ANY_PATH, SECONDS, out

if TYPE_CHECKING:
    from pathlib import Path


@click.command("explore")
@click.argument(
    "runs", metavar="[RUN] [RUN] | CAPTURE [CAPTURE]", type=ANY_PATH, nargs=-1, shell_complete=completion.runs
)
@out("out/explore.html", "The page to write.", ANY_PATH)
@click.option(
    "--from", "begin_s", type=SECONDS, default=0.0, help="Only from this time on, in s.  [default: 0]"
)
@click.option(
    "--to", "end_s", type=SECONDS, default=math.inf, help="Only to this time, in s.  [default: the end]"
)
def command(runs: tuple[Path, ...], out: Path, begin_s: float, end_s: float) -> None:
    """Write a page to explore a run, or two side by side: every packet, window, queue, message and stall over time.

    RUN may also be a packet capture, and two captures those of the same flows at both ends.

    The page is one file that opens in a browser without a network. RUN is a run folder; without one it is the newest in
    out/runs. A run that lacks the tables for stalls is made again with them from its manifest.
    """
    from roamlab.base.errors import BadInput
    from roamlab.captures import explored, printed
    from roamlab.explorer import files

    if len(runs) > 2:
        raise BadInput(
            f"explore {' '.join(map(str, runs))}",
            f"these are {len(runs)} runs",
            expected="one run, or two to compare side by side",
            remedy="name one or two run folders",
        )
    if captures := printed.captures([str(run) for run in runs]):
        explored.write(captures, out, whole=begin_s == 0 and math.isinf(end_s))
        return
    files.write([find_run(run) for run in runs or (None,)], out, begin_s, end_s)
    say(f"page: {shown(out)}")
