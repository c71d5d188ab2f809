"""Run folders: one per run, Parquet for each table and a manifest, written whole or not at all.

A folder's name is the manifest's key, so a run that was made before is found, and a sweep that was killed
goes on where it stopped. Files carry their SHA-256 in the manifest: damage is reported, never shown, and mended when
the run is asked for again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from roamlab.base.errors import BadInput
from roamlab.base.output import draft_folder, sync, write_durably, write_whole
from roamlab.records.manifest import Manifest
from roamlab.records.results import Results, once

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Store:
    """A folder of run folders."""

    root: Path

    def folder(self, manifest: Manifest) -> Path:
        """Where the run stands, or would stand."""
        return self.root / manifest.key

    def find(self, manifest: Manifest) -> Results | None:
        """The run, if it was made before and nothing of it is missing or damaged."""
        folder = self.folder(manifest)
        try:
            found, digests = _read_manifest(folder)
            for table, digest in digests.items():
                _read(folder / f"{table}.parquet", digest)
        except BadInput:
            return None
        return open_run(folder) if found.key == manifest.key else None

    def write(self, results: Results) -> Path:
        """Put the run in its folder. Interrupted at any point, this leaves no folder of that name.

        A folder that is there already and is damaged is mended, file by file, the manifest last.
        """
        self._write(results)
        return self.folder(results.manifest)

    def keep(self, results: Results) -> Results:
        """Put the run in its folder; the run as it stands there, with tables that are read when they are asked for."""
        return _in_folder(self.folder(results.manifest), results.manifest, self._write(results))

    def _write(self, results: Results) -> dict[str, str]:
        """Write the run's folder; the digests of its tables."""
        final = self.folder(results.manifest)
        self.root.mkdir(parents=True, exist_ok=True)
        contents = {f"{table}.parquet": _parquet(results.table(table)) for table in sorted(results.loaders)}
        digests = {
            name.removesuffix(".parquet"): hashlib.sha256(content).hexdigest()
            for name, content in contents.items()
        }
        contents[MANIFEST] = _manifest(results.manifest, digests).encode()
        with draft_folder(self.root) as draft:
            for name, content in contents.items():
                write_durably(draft / name, content)
            sync(draft)
            try:
                draft.rename(final)
            except OSError:
                if not final.is_dir():
                    raise
                # Another process made the same run meanwhile (equal origin, equal content), or it is damaged.
                if self.find(results.manifest) is None:
                    for name, content in contents.items():
                        write_whole(final / name, content)
        sync(self.root)
        return digests


def open_run(folder: str | Path) -> Results:
    """The run in a folder. Its tables are read when they are asked for."""
    folder = Path(folder)
    return _in_folder(folder, *_read_manifest(folder))


def _in_folder(folder: Path, manifest: Manifest, digests: dict[str, str]) -> Results:
    def read(table: str) -> pl.DataFrame:
        path = folder / f"{table}.parquet"
        try:
            return pl.read_parquet(BytesIO(_read(path, digests[table])))
        except pl.exceptions.PolarsError as error:
            raise _broken(path, f"not a Parquet file ({error})") from None

    return Results(manifest, {table: once(read, table) for table in digests})


def _manifest(manifest: Manifest, digests: dict[str, str]) -> str:
    """A manifest's file: a line for each field. To indent the tables of a large scenario takes seconds."""
    content = manifest.as_dict() | {"tables": digests}
    texts = {
        name: json.dumps(value, ensure_ascii=False) for name, value in content.items() if name != "parameters"
    }
    texts["parameters"] = manifest.parameters_text
    return "{\n" + ",\n".join(f" {json.dumps(name)}: {text}" for name, text in texts.items()) + "\n}\n"


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _read(path: Path, digest: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _broken(path, str(error.strerror)) from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise _broken(path, "the content is not what was written")
    return content


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
    try:
        manifest = Manifest.from_dict(content)
    except ValueError as error:
        raise _broken(path, str(error)) from None
    digests = content.get("tables")
    if type(digests) is not dict:
        raise _broken(path, "field 'tables' is missing or not dict")
    for table in digests:
        if not table.isidentifier():
            raise _broken(path, f"field 'tables' has {table!r}, which is no table")
    return manifest, digests


def _broken(path: Path, problem: str) -> BadInput:
    return BadInput(
        path,
        problem,
        expected="a run folder as it was written",
        remedy=f"move {path.parent} away and run again: the same scenario and seed give the same run",
    )
