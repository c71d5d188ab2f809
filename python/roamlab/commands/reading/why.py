"""`roamlab why`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import say
from roamlab.commands import completion
from roamlab.commands.inputs import find_run
from roamlab.commands.options import ANY_PATH, JSON, SET
from roamlab.commands.output import print_json

if TYPE_CHECKING:
    from pathlib import Path


@click.command("why")
@click.argument(
    "words",
    metavar="[TABLE ROW] [RUN] | CAPTURE [CAPTURE]",
    nargs=-1,
    type=click.Path(),
    shell_complete=completion.runs,
)
@click.option(
    "--flow", metavar="NAME", help="Only the stalls of this flow; of a capture those with this address."
)
@click.option("--stall", type=click.IntRange(1), help="Only this one; 1: the longest.")
@click.option(
    "--moves",
    metavar="FILE",
    type=ANY_PATH,
    help="A log of moves or of radio events for CAPTURE: which stalls begin at one?",
)
@click.option(
    "--check",
    is_flag=True,
    help="Run again without each suspect: does the stall go away? Of a capture: on its twin.",
)
@SET
@JSON
def command(
    words: tuple[str, ...],
    flow: str | None,
    stall: int | None,
    moves: Path | None,
    changes: tuple[str, ...],
    *,
    check: bool,
    as_json: bool,
) -> None:
    """Print why flows stalled, or what led to a row of a table, step by step to the root.

    Without TABLE and ROW: every stall of the run, longest first, with its chain of causes. A run that lacks the tables
    for that is made again with them from its manifest. TABLE is drops, tcp, packets, handovers, releases, signalling or
    causes; ROW its number from 0. RUN is a run folder, or the file of a scenario (.toml), which is simulated with
    seed 1; without one it is the newest in out/runs. With --set a run is made again with the change, from its seed.
    Runs made for this purpose are not kept.

    CAPTURE is a packet capture in pcap or pcapng, plain or packed with gzip or zstd: the stalls of its TCP flows, those
    with the longest stall first. Two captures are those of the same flows at both ends. It may also be a qlog, the log
    of `ping -D` or `iperf3 -J`, or samples of `ss -ti`. The log of --moves has columns time_s, from and to, or time_s,
    event and cell. Its times are those of the capture's clock, or from its first packet. docs/captures.md has the
    rules. With --check the path of the flow with most data becomes a scenario (`roamlab twin`), and what would have
    helped is tried on it.
    """
    from roamlab.captures import path, printed, remedies
    from roamlab.causes import answers
    from roamlab.scenarios.changes import assigned

    wanted = assigned(changes)
    if captures := printed.captures(words):
        printed.refuse(changes=bool(wanted))
        answer: printed.Chosen
        helped = None
        if check:
            path.refuse_logs(captures)
            answer = found = printed.flows(captures, flow, stall, moves, path_of=flow or "")
            helped = remedies.check(path.chosen_path(found.all, captures, flow))
        else:
            answer = printed.answer(captures, flow, stall, moves)
        if as_json:
            print_json(answer.data() | ({"check": helped.data()} if helped else {}))
        else:
            say("\n".join([*answer.lines(), *(helped.lines() if helped else [])]))
        return
    if moves is not None:
        printed.refuse_moves()
    table, folder = answers.parse(words, stalls=flow is not None or stall is not None or check)
    told = answers.explain(find_run(folder), wanted, table, flow, stall, check=check, as_json=as_json)
    if as_json:
        print_json(told)
    else:
        say("\n".join(told))
