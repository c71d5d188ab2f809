"""Captures that may be given away, as the engine writes them."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.base.errors import BadInput
from roamlab.base.output import refuse_foreign, whole_folder
from roamlab.base.quantities import counted
from roamlab.base.screen import shown
from roamlab.captures.explain import reading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_ENDINGS = (".gz", ".zst", ".pcapng", ".pcap", ".cap", ".dmp")


def anonymise(paths: Sequence[Path], out: Path) -> dict[str, dict[str, Any]]:
    """Write the captures without addresses and payloads into the folder `out`: their names, and what was written.

    An address is replaced by the same one in all of them, and by another one in the next call. Raises `BadInput` for a
    file that is no capture, and for two files of one name.
    """
    names: dict[str, Path] = {}
    for path in paths:
        name = _name(path)
        if name in names:
            raise BadInput(
                f"{shown(names[name])} and {shown(path)}",
                f"both would be written as {name}",
                expected="captures with different names",
                remedy="rename one of them",
            )
        names[name] = path
    refuse_foreign(out)
    with whole_folder(out) as draft, reading(paths) as tell:
        places = [draft / name for name in names]
        written = _roamlab.anonymise_captures(list(paths), places, secrets.token_bytes(32), tell)
    return dict(zip(names, json.loads(written), strict=True))


def _name(path: Path) -> str:
    name = path.name
    for ending in _ENDINGS:
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return f"{name or path.name}.pcapng"


def line(name: str, written: dict[str, Any]) -> str:
    """The result for one capture, as text."""
    parts = [f"{name}: {counted(written['packets'], 'packet')}"]
    if written["left_out"]:
        parts.append(f"{written['left_out']} without IP left out")
    if written["untimed"]:
        parts.append(f"{written['untimed']} without a time left out")
    if written["is_cut"]:
        parts.append("the file ends within a record")
    return "; ".join(parts)
