"""`roamlab export`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.base.screen import say, shown
from roamlab.commands.inputs import find_run
from roamlab.commands.options import JSON, RUN, out
from roamlab.commands.output import print_json

if TYPE_CHECKING:
    from pathlib import Path


@click.command("export")
@RUN
@click.option(
    "--format",
    "form",
    type=click.Choice(["pcapng", "ns2", "csv", "parquet", "arrow"]),
    required=True,
    help="Packets for Wireshark, ns-2's trace, or tables.",
)
@click.option(
    "--node", "nodes", multiple=True, metavar="NAME", help="(pcapng) What this node sends and gets."
)
@click.option("--link", "links", multiple=True, metavar="NAME", help="(pcapng) What goes over this link.")
@click.option("--payload", is_flag=True, help="(pcapng) Write the zeros that payloads are, too.")
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="(tables) Only this one.  [default: all]"
)
@out("out/export", "Folder for the files.")
@JSON
def command(
    run_folder: Path | None,
    form: str,
    nodes: tuple[str, ...],
    links: tuple[str, ...],
    tables: tuple[str, ...],
    out: Path,
    *,
    payload: bool,
    as_json: bool,
) -> None:
    """Write a run's packets or tables for other programs.

    RUN is a run folder; without one it is the newest in out/runs. Packets are those of the run made again from its
    manifest. --node, --link and --table may be given more than once.
    """
    from roamlab.exports import files

    request = files.Request(form, nodes, links, tables, payload)
    written = files.export(find_run(run_folder), request, out)
    if as_json:
        print_json({"result": shown(out), "files": written})
        return
    what = {"pcapng": "packets", "ns2": "lines"}.get(form, "rows")
    say("\n".join(f"{shown(out / name)}: {count} {what}" for name, count in written.items()))
