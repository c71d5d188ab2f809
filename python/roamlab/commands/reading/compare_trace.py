"""`roamlab compare-trace`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from roamlab.base.errors import BadInput
from roamlab.base.screen import say
from roamlab.commands import completion
from roamlab.commands.inputs import find_run
from roamlab.commands.options import ANY_PATH
from roamlab.commands.output import FAILED


@click.command("compare-trace")
@click.argument("ours", type=ANY_PATH, shell_complete=completion.runs)
@click.argument("theirs", type=ANY_PATH)
@click.option(
    "--flow",
    "flows",
    multiple=True,
    metavar="NAME[=NAME]",
    help="Compare this flow only; OURS=THEIRS if the names differ.",
)
@click.option(
    "--events", metavar="LIST", help="Letters and variables, by commas.  [default: all that both show]"
)
@click.option("--tolerance", default="1 us", show_default=True, help="Largest difference in time.")
@click.option("--from", "start", default="0 s", show_default=True, help="Compare from this time on.")
@click.option("--until", "end", help="Compare to this time.  [default: the end]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["golden", "ns2", "ns2-variables", "xgraph", "run"]),
    help="Format of both.  [default: what they look like]",
)
def command(
    ours: Path,
    theirs: Path,
    flows: tuple[str, ...],
    events: str | None,
    tolerance: str,
    start: str,
    end: str | None,
    form: str | None,
) -> None:
    """Compare two traces of senders and receivers, and print their first difference.

    Events are S sent, K acknowledged, A arrived, D lost, B acknowledgement lost, Q queued, M marked, and
    variables by name (cwnd, ssthresh); V is all of a sender's, R all of a RED queue's. Exit code 0: equal, 1:
    different, 2: bad input. The word `latest` is the newest run in out/runs.
    """
    from roamlab.traces import compare_traces, open_trace

    mine, other = (
        open_trace(find_run(path) if path == Path("latest") else path, form) for path in (ours, theirs)
    )
    span = (
        compare_traces.time_ns("--from", start),
        None if end is None else compare_traces.time_ns("--until", end),
    )
    if span[1] is not None and span[1] <= span[0]:
        raise BadInput(
            f"--from {start} --until {end}",
            "the comparison ends before it begins",
            expected="two times, the earlier first",
            remedy=f"write --from {end} --until {start}" if span[1] < span[0] else "write a later --until",
        )
    compare_traces.check_flows(mine, other, flows)
    left, right = compare_traces.sides(mine, other, compare_traces.choose(mine, other, events), flows, span)
    found = compare_traces.compare(left, right, compare_traces.time_ns("--tolerance", tolerance))
    say(compare_traces.report(found, left, right))
    if isinstance(found, compare_traces.Different):
        sys.exit(FAILED)
