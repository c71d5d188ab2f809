"""`roamlab anonymise`."""

from __future__ import annotations

from pathlib import Path

import click

from roamlab.base.screen import say, shown
from roamlab.commands.options import JSON, out
from roamlab.commands.output import print_json


@click.command("anonymise")
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@out("out/anonymous", "Folder for the captures.")
@JSON
def command(captures: tuple[Path, ...], out: Path, *, as_json: bool) -> None:
    """Write captures that may be given away: without addresses, payloads and comments.

    CAPTURE is a packet capture in pcap or pcapng, plain or packed with gzip or zstd. The result is in pcapng. Name both
    captures of a pair in one call: an address is replaced by the same one in all of them. Networks stay networks: two
    addresses with a common prefix have one of the same length. `roamlab why` explains the result as it explains
    CAPTURE.
    """
    from roamlab.captures import anonymous

    written = anonymous.anonymise(captures, out)
    if as_json:
        print_json({"result": shown(out), "files": written})
        return
    say("\n".join(anonymous.line(shown(out / name), each) for name, each in written.items()))
