"""The output of `roamlab export`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roamlab.base.errors import BadInput, within
from roamlab.base.output import disk_errors, refuse_foreign, whole_folder
from roamlab.exports import ns2_trace, pcapng
from roamlab.records.columns import not_recorded
from roamlab.records.storage.store import open_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from roamlab.records.results import Results

FORMATS = ("pcapng", "ns2", "csv", "parquet", "arrow")
"""The formats: packets of nodes or links, packets of all links, and tables three ways."""


@dataclass(frozen=True)
class Request:
    """Requested data."""

    form: str
    nodes: Sequence[str]
    links: Sequence[str]
    tables: Sequence[str]
    payload: bool

    def check(self) -> None:
        """Refuse options that the format has no use for."""
        packets = self.form == "pcapng"
        wrong = {
            "--node": bool(self.nodes) and not packets,
            "--link": bool(self.links) and not packets,
            "--payload": self.payload and not packets,
            "--table": bool(self.tables) and self.form in {"pcapng", "ns2"},
        }
        for option in (name for name, is_wrong in wrong.items() if is_wrong):
            raise BadInput(
                option,
                f"it has no format {self.form}",
                expected="--node, --link and --payload with pcapng, --table with csv, parquet and arrow",
                remedy=f"leave out {option}, or write another --format",
            )


def export(folder: Path, request: Request, out: Path) -> dict[str, int]:
    """Write the run's files into the folder `out`: their names, and the packets, lines or rows that each holds."""
    request.check()
    refuse_foreign(out)
    with within(folder):
        results = open_run(folder)
        with whole_folder(out) as draft:
            return _write(results, request, draft)


def _write(results: Results, request: Request, draft: Path) -> dict[str, int]:
    if request.form == "pcapng":
        captures = pcapng.write(results, request.nodes, request.links, payload=request.payload)
        for name, (content, _) in captures.items():
            (draft / name).write_bytes(content)
        return {name: packets for name, (_, packets) in captures.items()}
    if request.form == "ns2":
        files = ns2_trace.write(results)
        for name, text in files.items():
            (draft / name).write_text(text, encoding="utf-8")
        return {name: text.count("\n") for name, text in files.items()}
    written = {}
    for name in dict.fromkeys(request.tables or results.loaders):
        table = results.table(name)
        if name in request.tables and table.is_empty():
            _check_recorded(results, name)
        file = draft / f"{name}.{request.form}"
        with disk_errors():
            _write_table(table, file, request.form)
        written[file.name] = table.height
    return written


def _check_recorded(results: Results, name: str) -> None:
    """Refuse to write a table without rows that the run did not record."""
    record = results.manifest.parameters.get("record", {})
    if name in _RECORDED and not record.get(name, False):
        raise not_recorded(name, f"--table {name}")


_RECORDED = ("deliveries", "tcp", "packets", "variables")
"""Tables that a scenario's `[record]` turns on and off."""


def _write_table(table: pl.DataFrame, file: Path, form: str) -> None:
    if form == "csv":
        table.write_csv(file)
    elif form == "parquet":
        table.write_parquet(file)
    else:
        table.write_ipc(file)
