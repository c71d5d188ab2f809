"""Run folders: one per run, with Parquet for each table and a manifest, written completely or not at all.

A folder's name is the manifest's key, so a stored run is found, and a killed sweep continues where it
stopped. Files have their SHA-256 in the manifest: damage is reported, never shown, and repaired when the run
is requested again.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from roamlab.base.calls import BadCall, Hinted, Kind, called, no_attribute, public
from roamlab.base.errors import BadInput
from roamlab.base.inputs import home, open_regular, refuse_file
from roamlab.base.output import draft_folder, sync, write_durably
from roamlab.base.quantities import counted
from roamlab.base.screen import shown
from roamlab.records.manifest import MANIFEST, Manifest, broken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from roamlab.records.results import Results
    from roamlab.records.storage.pieces import Pieces

NOTE = "totals.json"
KEY = "key"
"""The field of a manifest with the key of its run. Runs of earlier versions have none."""


@dataclass(frozen=True)
class Begun:
    """A run under way, and what of it is written."""

    store: Store
    draft: Path
    pieces: Pieces

    def keep(self, results: Results) -> Results:
        """Put the run in its folder: `results` has the tables of which no piece came.

        The run in that folder, with tables that are read when they are asked for.
        """
        digests = self.store._complete(results, self)
        return _in_folder(self.store.folder(results.manifest), results.manifest, digests)


_ROOT = Kind((str, Path), "the path of a folder", 'write roamlab.Store("out/runs")')


_KEPT = '[roamlab.open_run(path.parent) for path in store.root.glob("*/manifest.json")]'
_OF_STORES = (
    (
        ("save", "put", "add", "append", "keep", "dump", "insert"),
        "a run is kept by .write(results), which returns its folder",
    ),
    (
        ("delete", "remove", "clear", "clean", "prune", "drop"),
        "a run is deleted with its folder, store.root / key",
    ),
)
"""Methods of other stores, and what to write here."""


@public("write another roamlab.Store(path)", root=_ROOT)
@dataclass(frozen=True)
class Store(metaclass=Hinted):
    """A folder of run folders."""

    root: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", home(Path(self.root)))
        refuse_file(self.root, 'write roamlab.Store("out/runs"), for example')

    def __getattr__(self, name: str) -> NoReturn:
        hint = next(
            (text for words, text in _OF_STORES if name in words),
            f"a run is kept by .write(results); all are read by {_KEPT}",
        )
        raise no_attribute("Store", name, () if name in ("runs", "open") else dir(type(self)), hint)

    def __getitem__(self, key: object) -> NoReturn:
        raise BadCall(
            f"Store[{key!r}]",
            "a store has no items",
            expected="a run by its folder",
            remedy=f"write roamlab.open_run(store.root / {key!r})",
        )

    def __iter__(self) -> NoReturn:
        raise BadCall(
            "Store",
            "it is no list of runs",
            expected="the folders of runs in its `root`",
            remedy=f"write {_KEPT}",
        )

    def folder(self, manifest: Manifest) -> Path:
        """Place of the run, now or later."""
        return self.root / manifest.key

    def find(self, manifest: Manifest) -> Results | None:
        """The run, if it was made before and nothing of it is missing or damaged."""
        return open_run(self.folder(manifest)) if self._has(manifest) else None

    def _has(self, manifest: Manifest) -> bool:
        folder = self.folder(manifest)
        try:
            found, digests = _read_manifest(folder)
            for table, digest in digests.items():
                _check(folder / f"{table}.parquet", digest)
        except BadInput:
            return False
        return found.key == manifest.key

    def note(self, manifest: Manifest, totals: Mapping[str, Any]) -> None:
        """Keep totals of a run next to it, so that they are shown again without its tables."""
        text = json.dumps(totals, ensure_ascii=False).encode()
        with suppress(OSError):  # without it the tables are read
            write_durably(self.folder(manifest) / NOTE, [_digest_of(manifest, text), b"\n", text])

    def noted(self, manifest: Manifest) -> dict[str, Any] | None:
        """The totals of a run that `find` would find; None if none were kept, or they are damaged."""
        try:
            with open_regular(self.folder(manifest) / NOTE) as file:
                digest, _, text = file.read().partition(b"\n")
        except OSError:
            return None
        if digest != _digest_of(manifest, text) or not self._has(manifest):
            return None
        found: dict[str, Any] = json.loads(text)
        return found

    def write(self, results: Results) -> Path:
        """Put the run in its folder. Interrupted at any point, this leaves no folder of that name.

        A folder that is there already and is damaged is mended, file by file, the manifest last.
        """
        self._write(results)
        return self.folder(results.manifest)

    @contextmanager
    def begin(self) -> Iterator[Begun]:
        """A run whose long tables are written during it. A block that ends before `keep` leaves nothing."""
        from roamlab.records.storage.pieces import Pieces

        self.root.mkdir(parents=True, exist_ok=True)
        with draft_folder(self.root) as draft, Pieces(draft) as pieces:
            yield Begun(self, draft, pieces)

    def _write(self, results: Results) -> dict[str, str]:
        """Write the run's folder; the digests of its tables."""
        with self.begin() as begun:
            return self._complete(results, begun)

    def _complete(self, results: Results, begun: Begun) -> dict[str, str]:
        """Put a run's other tables next to those that are written, and all of it in its place; the tables' digests."""
        from roamlab.records.storage import parquet

        final, draft = self.folder(results.manifest), begun.draft
        digests: dict[str, str] = {}
        for table in begun.pieces.finish():
            sync(draft / f"{table}.parquet")
            digests[table] = _digest(draft / f"{table}.parquet")
        for table, load in results.loaders.items():
            content = parquet.content(load(table))  # not kept: those of a large run are large
            digests[table] = hashlib.sha256(content).hexdigest()
            write_durably(draft / f"{table}.parquet", [content])
        digests = dict(sorted(digests.items()))
        write_durably(draft / MANIFEST, _manifest(results.manifest, digests))
        sync(draft)
        try:
            draft.rename(final)
        except OSError:
            if not os.path.lexists(final):
                raise
            if final.is_symlink() or not final.is_dir():
                raise _in_place(final, "the run's folder", "a run folder or nothing") from None
            folder = os.open(final, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                # Another process made the same run meanwhile (equal origin, equal content), or it is damaged.
                if self.find(results.manifest) is None:
                    for name in (*(f"{table}.parquet" for table in digests), MANIFEST):
                        _mend(draft / name, final / name, folder)
                    os.fsync(folder)
            finally:
                os.close(folder)
        sync(self.root)
        return digests


def _digest_of(manifest: Manifest, text: bytes) -> bytes:
    """The digest of a note, which holds for one run and one version."""
    return hashlib.sha256(f"{manifest.version} {manifest.key} ".encode() + text).hexdigest().encode()


def _mend(file: Path, place: Path, folder: int) -> None:
    """Put a file in its place in an open folder, which stays the same one whatever comes in the place of its name."""
    try:
        os.replace(file, place.name, dst_dir_fd=folder)
    except IsADirectoryError:
        raise _in_place(place, "one of the run's files", "a file or nothing") from None


def _in_place(place: Path, of: str, expected: str) -> BadInput:
    """The error for another file where a run is to be written."""
    kind = "a symbolic link" if place.is_symlink() else "a folder" if place.is_dir() else "a file"
    return BadInput(
        place,
        f"{kind} is in the place of {of}",
        expected=expected,
        remedy="move it away, or name another folder with --out",
    )


_FOLDER = Kind((str, Path), "the path of a run folder", 'write roamlab.open_run("out/runs/NAME")')


@called(folder=_FOLDER)
def open_run(folder: str | Path) -> Results:
    """The run in a folder. Its tables are read when they are asked for."""
    folder = home(Path(folder))
    if folder.is_file():
        is_scenario = folder.suffix == ".toml"
        raise BadInput(
            folder,
            "this is a scenario, not a run" if is_scenario else "this is a file, not a run folder",
            expected="a run folder",
            remedy=f"simulate it first: `roamlab run {folder}` prints the folder it wrote"
            if is_scenario
            else "`roamlab run` prints the folder it wrote",
        )
    return _in_folder(folder, *_read_manifest(folder))


def _in_folder(folder: Path, manifest: Manifest, digests: dict[str, str]) -> Results:
    from roamlab.records.results import Results
    from roamlab.records.storage import parquet

    def read(table: str) -> pl.DataFrame:
        path = folder / f"{table}.parquet"
        _check(path, digests[table])
        return parquet.read(path, manifest)

    return Results(manifest, dict.fromkeys(digests, read))


def _manifest(manifest: Manifest, digests: dict[str, str]) -> Iterator[bytes]:
    """A manifest's file: a line for each field. To indent the tables of a large scenario takes seconds."""
    texts = manifest.texts() | {"tables": json.dumps(digests)}
    texts[KEY] = json.dumps(manifest.key)
    for at, (name, text) in enumerate(texts.items()):
        yield f"{',' if at else '{'}\n{_begin(name)}".encode()
        yield text.encode()
    yield b"\n}\n"


def _begin(field: str) -> str:
    """How the line of a field begins."""
    return f" {json.dumps(field)}: "


def _line(content: bytes, field: str) -> str:
    """The JSON object of a field in a manifest's file; empty if it has no separate line, as in one that was edited.

    Nor has it one in a file with an indent of one space, or with the field twice.
    """
    _, *found = content.split(f"\n{_begin(field)}".encode())
    line = found[0].partition(b"\n")[0].removesuffix(b",").decode() if len(found) == 1 else ""
    return line if line.startswith("{") and line.endswith("}") else ""


def _digest(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check(path: Path, digest: str) -> None:
    """Raise `BadInput` if the file is not there or damaged. A long one is not held in memory."""
    try:
        found = _digest(path)
    except OSError as error:
        raise broken(path, str(error.strerror)) from None
    if found != digest:
        raise broken(path, "the content is not what was written")


def _instead_of(folder: Path) -> str:
    """The remedy for a name of a folder that is no run folder."""
    inside = sorted(path.parent for path in islice(folder.glob(f"*/{MANIFEST}"), 1000))
    if inside:
        return f"name one of the {counted(len(inside), 'run')} in it, for example {shown(inside[0])}"
    if (folder / "report.html").is_file():
        return "this is the result of a sweep, a comparison or a report: open its report.html in a browser"
    return (
        "name one that `roamlab run` printed; if this is one that lost the file, move it away and run again"
    )


def manifest_of(folder: Path) -> Manifest:
    """The manifest of a run folder, without its tables. Raises `BadInput` if there is none that can be read."""
    return _read_manifest(folder)[0]


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
            remedy=_instead_of(folder),
        )
    try:
        with open_regular(path) as file:
            written = file.read()
        content: Any = json.loads(written)
    except OSError as error:
        raise broken(path, str(error.strerror)) from None
    except (ValueError, RecursionError) as error:
        raise broken(path, f"not JSON ({error})") from None
    try:
        parameters = _line(written, "parameters")
        manifest = Manifest.from_dict(content, parameters)
    except ValueError as error:
        raise broken(path, str(error)) from None
    digests = content.get("tables")
    if type(digests) is not dict:
        raise broken(path, "field 'tables' is missing or not dict")
    for table in digests:
        if not table.isidentifier():
            raise broken(path, f"field 'tables' has {table!r}, which is no table")
    # The key is of the text of the parameters: a file in another layout has another text.
    if parameters and content.get(KEY, manifest.key) != manifest.key:
        raise BadInput(
            path,
            "it was changed since it was written, and the tables are of the run that it described",
            expected="the manifest as it was written",
            remedy="for another seed or scenario make another run with `roamlab run`, which has a separate folder",
        )
    return manifest, digests
