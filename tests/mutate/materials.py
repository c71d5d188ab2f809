"""Mutated files, and the mutations."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]

VALUES = (
    *('"0 s"', '"1 ns"', '"1.5 s"', '"-1 s"', '"10000 h"', '"1 fortnight"', '"99999999999999999999 s"'),
    *('"0 pkt"', '"1 pkt"', '"120 kB"', '"4294967295 pkt"', '"4294967296 pkt"', '"0.5 pkt"'),
    *('"1 bit/s"', '"0 Mbit/s"', '"18446744073709551615 bit/s"', '"10 Gbit/s"', '"1 B"', '"64 kB"'),
    *("0", "1", "-1", "255", "4294967295", "9223372036854775807", "-9223372036854775808", "1e400", "1e-9"),
    *("nan", "inf", "-inf", "0.5", "true", "false", "1979-05-27", "07:32:00"),
    *('""', '"bs2"', '"mh"', '"nobody"', '"セル"', '"a\\u0000b"', '"../x"', '"*"', "'''x'''"),
    *("[]", "[1, 2]", "{}", '{ kind = "red" }', '["a", 1]', "[[]]"),
)
"""Replacement of a value."""

_ALIKE: dict[str, tuple[str, ...]] = {
    "s": (
        "0 s",
        "1 ns",
        "3 us",
        "1 ms",
        "63 ms",
        "0.5 s",
        "3 s",
        "2 min",
        "584 h",
        "18446744073709551615 ns",
    ),
    "bit/s": ("1 bit/s", "9 kbit/s", "64 kbit/s", "1 Mbit/s", "54 Mbit/s", "400 Gbit/s"),
    "pkt": ("0 pkt", "1 pkt", "2 pkt", "7 pkt", "500 pkt", "65536 pkt", "4294967295 pkt"),
    "B": ("0 B", "1 B", "40 B", "1500 B", "64 kB", "9 GB", "18446744073709551615 B"),
}
"""Quantities of one kind: such a change is mostly accepted, and shows in the run."""

_NUMBERS = ("0", "1", "2", "3", "7", "100", "65535", "0.0", "0.001", "0.5", "1.0", "4294967295")

_TRACES = {
    "golden": "t_us,ev,flow,x,y\n" + "".join(f"{10 * n},{'SAKD'[n % 4]},0,{n // 4},0\n" for n in range(40)),
    "ns2": "".join(
        f"{'+-rd'[n % 4]} 0.{n:03} 0 1 tcp 1000 ------- 0 0.0 1.0 {n // 4} {n // 4}\n" for n in range(40)
    ),
    "ns2-variables": "".join(f"0.{n:02} 0 0 1 0 cwnd_ {n}.000\n" for n in range(40)),
    "xgraph": '"cwnd"\n' + "".join(f"0.{n:02} {n}\n" for n in range(40)),
}

_SWEEPS = (
    """scenario = "mutant.toml"
seed = "buffers"
replications = 2
metrics = ["flows.moving.goodput_bps", "flows.*.timeouts"]
baseline = "4 pkt"
[set]
"flows.moving.app.start_within" = "100 ms"
[grid]
"mobility.buffer.limit" = ["4 pkt", "16 pkt"]
""",
    """scenario = "mutant.toml"
replications = { metric = "flows.moving.goodput_bps", half_width = 1e6, minimum = 5, budget = 8 }
keep = "tables"
[[points]]
"cells.bs2.rate" = "1 Mbit/s"
"links.0.delay" = "5 ms"
[[points]]
"cells.bs2.rate" = "2 Mbit/s"
"links.0.delay" = "6 ms"
""",
    """scenario = "mutant.toml"
replications = 1
common_random_numbers = false
[random]
points = 3
"cells.bs2.queue" = [{ kind = "red", limit = "20 pkt" }, { kind = "droptail", limit = "9 pkt" }]
"links.0.delay" = { low = "1 ms", high = "20 ms", scale = "log" }
""",
)


_MORE = """
[[flows]]
name = "resident"
path = ["ch", "mh"]
app = { kind = "cbr", rate = "64 kbit/s", packet = "160 B", start = "0.2 s" }

[[flows]]
name = "wired"
path = ["ch", "ha"]
app = { kind = "ftp", start = "0.3 s", size = "200 kB" }
[flows.transport]
kind = "tcp"
profile = "own"
variant = "sack"
window = "20 pkt"
segment = "1460 B"
min_rto = "200 ms"

[tcp_profiles.own]
based_on = "rfc"
dupack_threshold = 3

[record]
packets = true
"""


@dataclass(frozen=True)
class Bases:
    """Inputs that are right."""

    scenarios: dict[str, str] = field(default_factory=dict)
    sweeps: tuple[str, ...] = _SWEEPS
    traces: dict[str, str] = field(default_factory=lambda: dict(_TRACES))
    run: Path = Path()
    other: Path = Path()
    """A run of another scenario."""


NONE = Bases()


def bases(folder: Path, call: Callable[..., tuple[int, str, str]]) -> Bases:
    """The examples, shortened to a moment of simulated time, and a run of one in `folder`."""
    handover, lte = ((ROOT / "examples" / f"{name}.toml").read_text() for name in ("handover", "lte"))
    handover = handover.replace('"40 s"', '"1.5 s"').replace('at = "10 s"', 'at = "0.8 s"')
    lte = lte.replace('duration = "5 s"', 'duration = "1 s"').replace('at = "2.3 s"', 'at = "0.5 s"')
    handover += _MORE
    folder.mkdir(exist_ok=True)
    (folder / "base.toml").write_text(handover)
    code, out, err = call("run", str(folder / "base.toml"), "--out", str(folder / "runs"), "--json")
    assert code == 0, err
    run = Path(json.loads(out)["result"])
    code, _, err = call("chart", str(run), "--text")
    assert code == 0, err
    (folder / "other.toml").write_text(lte)
    code, out, err = call("run", str(folder / "other.toml"), "--out", str(folder / "runs"), "--json")
    assert code == 0, err
    return Bases({"handover": handover, "lte": lte}, run=run, other=Path(json.loads(out)["result"]))


def mutated_text(rng: random.Random, text: str) -> bytes:
    """The text with one to four changes: of values, which leave most of it unchanged, or of anything."""
    raw = text.encode()
    weights = (1, 0, 0, 0, 0, 0) if rng.random() < 0.5 else (4, 3, 3, 2, 1, 3)
    for _ in range(rng.choice((1, 1, 2, 4))):
        raw = rng.choices((_value, _key, _lines, _bytes, _cut, _more), weights)[0](rng, raw)
    return raw


_HEADS = (
    "run",
    "network",
    "record",
    "mobility",
    "cells.bs3",
    "cells.bs2.queue",
    "[links]",
    "[hosts]",
    "[flows]",
    "x",
)


def _more(rng: random.Random, raw: bytes) -> bytes:
    """A field, a section or an entry more than there was."""
    lines = raw.splitlines(keepends=True)
    names = re.findall(rb"(?m)^([a-z_]+) *=", raw) or [b"x"]
    field = rng.choice((*names, b"extra", b'"\xc3\x9f"')) + b" = " + rng.choice(VALUES).encode() + b"\n"
    head = f"[{rng.choice(_HEADS)}]\n".encode()
    lines.insert(rng.randrange(len(lines) + 1), rng.choice((field, head, head + field)))
    return b"".join(lines)


def _value(rng: random.Random, raw: bytes) -> bytes:
    """Another value in the place of one."""
    places = list(re.finditer(rb'"[^"\n]*"|(?<=[ =\[,])-?\d[\d.e-]*|true|false', raw))
    if not places:
        return raw
    place = rng.choice(places)
    return (
        raw[: place.start()]
        + rng.choice(_pool(rng, place[0].decode(errors="replace"))).encode()
        + raw[place.end() :]
    )


def _pool(rng: random.Random, old: str) -> tuple[str, ...]:
    """Values to choose from in the place of one: mostly of its kind."""
    if rng.random() < 0.3:
        return VALUES
    unit = old.strip('"').partition(" ")[2]
    for base, alike in _ALIKE.items():
        if unit.endswith(base) or (base == "s" and unit in ("min", "h")):
            return tuple(f'"{value}"' for value in alike)
    if old in ("true", "false"):
        return ("true", "false")
    return VALUES if old.startswith('"') else _NUMBERS


def _key(rng: random.Random, raw: bytes) -> bytes:
    """A name with another letter, one fewer or one more."""
    places = list(re.finditer(rb"[A-Za-z_]{2,}", raw))
    if not places:
        return raw
    place = rng.choice(places)
    name = bytearray(place[0])
    at = rng.randrange(len(name))
    name[at : at + rng.randrange(2)] = rng.choice((b"", b"x", b"_", b".", "ß".encode(), b'"'))
    return raw[: place.start()] + bytes(name) + raw[place.end() :]


def _lines(rng: random.Random, raw: bytes) -> bytes:
    """A line removed, written twice, or moved."""
    lines = raw.splitlines(keepends=True)
    if len(lines) < 2:
        return raw
    line = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.randrange(3)):
        lines.insert(rng.randrange(len(lines) + 1), line)
    return b"".join(lines)


def _bytes(rng: random.Random, raw: bytes) -> bytes:
    """Some bytes in the place of others."""
    at = rng.randrange(len(raw) + 1)
    new = rng.choice((rng.randbytes(rng.randint(1, 4)), b"[" * 300, b"\x00", b"\r", b"\xef\xbb\xbf", b"{a="))
    return raw[:at] + new + raw[at + rng.randrange(4) :]


def _cut(rng: random.Random, raw: bytes) -> bytes:
    """The beginning only."""
    return raw[: rng.randrange(len(raw) + 1)]


_JSON: tuple[Any, ...] = (None, True, -1, 0, 2**64, 1e308, "", "x", [], {}, [1], {"a": 1}, "40 s", "bs2")


def mutate_run(rng: random.Random, folder: Path, other: Path) -> None:
    """Change the manifest's content, its bytes, or a table's file; forge a table, or add files.

    `other` is a run of another scenario, of which tables are taken.
    """
    manifest = folder / "manifest.json"
    if rng.random() < 0.4:
        rng.choice((_forge, _forge, _swap, _add_files))(rng, folder, other)
        return
    path = manifest if rng.random() < 0.7 else rng.choice(sorted(folder.glob("*.parquet")))
    how = rng.choice(
        ("content", "bytes", "missing", "folder") if path == manifest else ("bytes", "missing", "folder")
    )
    if how == "content":
        content = json.loads(manifest.read_text())
        for _ in range(rng.randint(1, 2)):
            _mutate_json(rng, content)
        manifest.write_text(json.dumps(content))
    elif how == "bytes":
        path.write_bytes(rng.choice((_bytes, _cut))(rng, path.read_bytes()))
    else:
        path.unlink()
        if how == "folder":
            path.mkdir()


def _sign(folder: Path, table: str) -> None:
    """Write the digest of a table's file into the manifest, as who forges a run does."""
    manifest = folder / "manifest.json"
    content = json.loads(manifest.read_text())
    content["tables"][table] = hashlib.sha256((folder / f"{table}.parquet").read_bytes()).hexdigest()
    manifest.write_text(json.dumps(content))


def _forge(rng: random.Random, folder: Path, _: Path) -> None:
    """Another column, or rows of another number or order, in a table."""
    path = rng.choice(sorted(folder.glob("*.parquet")))
    frame = pl.read_parquet(path)
    name, rows = rng.choice(frame.columns), frame.height
    column: pl.Series | None = rng.choice(
        (
            None,
            pl.Series(name, [None] * rows, frame.schema[name]),
            pl.Series(name, frame[name].cast(pl.String)),
            pl.Series(name, [rng.choice((math.nan, -1.5, math.inf, 1e308)) for _ in range(rows)], pl.Float64),
            pl.Series(name, [rng.choice((0, 1, 2**31, 2**63 - 1)) for _ in range(rows)], pl.Int64),
            pl.Series(name, [rng.choice((0, 1, 2**31, 2**64 - 1)) for _ in range(rows)], pl.UInt64),
            pl.Series(name, [rng.choice((0, 1, 2**32 - 1)) for _ in range(rows)], pl.UInt32),
            pl.Series(name, ["\x1b[31m"] * rows, pl.Enum(["\x1b[31m"])),
            pl.Series(name, [[1]] * rows, pl.List(pl.Int64)),
            pl.Series("extra", ["x"] * rows),
        )
    )
    if column is not None:
        frame = frame.with_columns(column)
    elif rng.random() < 0.3:
        frame = frame.drop(name)
    else:
        seed = rng.randrange(100)
        frame = rng.choice(
            (
                frame.clear(),
                pl.concat([frame, frame]),
                frame.reverse(),
                frame.sample(rows, with_replacement=True, shuffle=True, seed=seed) if rows else frame,
                frame.head(1),
            )
        )
    frame.write_parquet(path)
    _sign(folder, path.stem)


def _swap(rng: random.Random, folder: Path, other: Path) -> None:
    """A table of another run, signed."""
    path = rng.choice(sorted(other.glob("*.parquet")))
    shutil.copy(path, folder / path.name)
    _sign(folder, path.stem)


def _add_files(rng: random.Random, folder: Path, other: Path) -> None:
    """Files more than there were: of no table, of a table that is none, and what is no file."""
    (folder / "notes.txt").write_bytes(rng.randbytes(20))
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / ".roamlab-0123456789abcdef")
    shutil.copy(rng.choice(sorted(other.glob("*.parquet"))), folder / "extra.parquet")
    if rng.random() < 0.5:
        _sign(folder, "extra")


def _mutate_json(rng: random.Random, content: Any) -> None:
    """Another value, one more, or none, at any place inside."""
    while True:
        keys = list(content) if isinstance(content, dict) else list(range(len(content)))
        if not keys:
            return
        key = rng.choice(keys)
        inner = content[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
            content = inner
            continue
        if rng.random() < 0.2:
            added = deepcopy(rng.choice(_JSON))
            if isinstance(content, dict):
                content[rng.choice(("extra", "\x1b[31m", "kind", "name"))] = added
            else:
                content.insert(key, added)
        elif rng.random() < 0.3:
            del content[key]
        else:
            content[key] = deepcopy(rng.choice(_JSON))
        return
