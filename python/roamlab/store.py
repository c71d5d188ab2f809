"""Run folders: one per run, Parquet for each table and a manifest, written whole or not at all.

A folder's name is the manifest's key, so a run that was made before is found, and a sweep that was killed
goes on where it stopped. Files carry their SHA-256 in the manifest: damage is reported, never shown.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from roamlab.errors import BadInput
from roamlab.manifest import FORMAT, Manifest
from roamlab.results import Results, once

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Store:
    """A folder of run folders."""

    root: Path

    def folder(self, manifest: Manifest) -> Path:
        """Where the run stands, or would stand."""
        return self.root / manifest.key

    def find(self, manifest: Manifest) -> Results | None:
        """The run, if it was made before."""
        folder = self.folder(manifest)
        return open_run(folder) if folder.exists() else None

    def write(self, results: Results) -> Path:
        """Put the run in its folder. Interrupted at any point, this leaves no folder of that name."""
        final = self.folder(results.manifest)
        self.root.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=self.root))
        try:
            digests = {table: _write_table(results, table, unfinished) for table in sorted(results.loaders)}
            content = json.dumps(
                results.manifest.as_dict() | {"tables": digests}, indent=1, ensure_ascii=False
            )
            _write_durably(unfinished / MANIFEST, content.encode() + b"\n")
            unfinished.chmod(0o755)
            _sync(unfinished)
            try:
                unfinished.rename(final)
            except OSError:
                if not final.is_dir():
                    raise
                # Another process made the same run meanwhile: equal origin, equal content.
            _sync(self.root)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return final


def open_run(folder: str | Path) -> Results:
    """The run in a folder. Its tables are read when they are asked for."""
    folder = Path(folder)
    manifest, digests = _read_manifest(folder)

    def read(table: str) -> pl.DataFrame:
        return _read_table(folder / f"{table}.parquet", digests[table])

    return Results(manifest, {table: once(read, table) for table in digests})


def _write_table(results: Results, table: str, folder: Path) -> str:
    buffer = BytesIO()
    results.table(table).write_parquet(buffer)
    content = buffer.getvalue()
    _write_durably(folder / f"{table}.parquet", content)
    return hashlib.sha256(content).hexdigest()


def _read_table(path: Path, digest: str) -> pl.DataFrame:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _broken(path, str(error.strerror)) from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise _broken(path, "the content is not what was written")
    return pl.read_parquet(BytesIO(content))


def _read_manifest(folder: Path) -> tuple[Manifest, dict[str, str]]:
    path = folder / MANIFEST
    if not folder.is_dir():
        raise BadInput(
            folder,
            "no such folder",
            expected="a run folder",
            remedy="`roamlab run` prints the folder it wrote",
        )
    if not path.exists():
        raise BadInput(
            folder,
            f"not a run folder: there is no {MANIFEST} in it",
            expected=f"a folder that `roamlab run` wrote, with {MANIFEST} and a Parquet file for each table",
            remedy="name one that `roamlab run` printed; if this is one that lost the file, move it away and run again",
        )
    try:
        content: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise _broken(path, str(error.strerror)) from None
    except (ValueError, RecursionError) as error:
        raise _broken(path, f"not JSON ({error})") from None
    if not isinstance(content, dict):
        raise _broken(path, "not a JSON object")
    if content.get("format") != FORMAT:
        raise _broken(path, f"format {content.get('format')!r}, this version reads {FORMAT}")
    content.setdefault("warnings", [])  # runs of earlier versions have none
    for field, kind in {
        **{field.name: _KINDS[str(field.type)] for field in fields(Manifest)},
        "tables": dict,
    }.items():
        if type(content.get(field)) is not kind:
            raise _broken(path, f"field {field!r} is missing or not {kind.__name__}")
    digests = content.pop("tables")
    return Manifest(**{field.name: content[field.name] for field in fields(Manifest)}), digests


_KINDS: dict[str, type] = {"str": str, "int": int, "dict[str, Any]": dict, "list[str]": list}


def _broken(path: Path, problem: str) -> BadInput:
    return BadInput(
        path,
        problem,
        expected="a run folder as it was written",
        remedy=f"move {path.parent} away and run again: the same scenario and seed give the same run",
    )


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
