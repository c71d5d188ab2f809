"""`roamlab twin`."""

from __future__ import annotations

from pathlib import Path

import click

from roamlab.base.screen import say, shown
from roamlab.commands.options import AMOUNT, ANY_PATH, JSON, out
from roamlab.commands.output import print_json


@click.command("twin")
@click.argument(
    "captures", metavar="CAPTURE [CAPTURE]", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--flow", metavar="TEXT", help="The flow with this text in its ends; by default the one with most data."
)
@click.option(
    "--rate-at-most",
    metavar="MBIT/S",
    type=AMOUNT,
    help="The largest rate that the path may have, for a flow that never filled it.",
)
@out("out/twin.toml", "File for the scenario. Its figure is next to it and ends in .svg.", ANY_PATH, ("-o",))
@JSON
def command(
    captures: tuple[Path, ...], flow: str | None, rate_at_most: float | None, out: Path, *, as_json: bool
) -> None:
    """Write a scenario that behaves like the path of a captured flow, and print how near it is.

    CAPTURE is a packet capture in pcap or pcapng, plain or packed with gzip or zstd. Two captures are those of the same
    flow at both ends. The scenario has base delay, rate, queue, losses and silences of the path, and the sender whose
    bytes over time are nearest. What the capture cannot tell is a range. Twins drawn
    from all ranges give the intervals of answers. `roamlab why CAPTURE --check` tests changes on these twins.
    """
    from roamlab.captures import fitting, path, twin_report

    twin_report.refuse(out)
    bound = None if rate_at_most is None else rate_at_most * 1e6
    found = fitting.fit(path.read(captures, flow), bound)
    twin_report.write(found, out)
    if as_json:
        print_json({"result": shown(out), **twin_report.data(found)})
        return
    say("\n".join([*twin_report.lines(found), f"twin: {shown(out)}"]))
