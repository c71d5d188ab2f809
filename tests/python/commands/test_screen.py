"""Nothing of an input reaches a terminal or a page as a control character."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import unicodedata
from typing import TYPE_CHECKING

import polars as pl
import pytest

import roamlab as rl
from conftest import COMMAND, ROOT, handover, of_today
from roamlab.base import screen
from roamlab.base.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVIL = "\x1b[2J\x9b31m\u202eevil\u2066\x07"
"""Clears a screen, colours it, and turns the direction of text."""

SHORT = handover("1 s")


def controls(text: str) -> set[str]:
    """The characters of a text that should not be in it."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\n"}


def call(*arguments: str | Path, folder: Path, **environment: str) -> tuple[int, str]:
    """The exit code of a command, and all that it printed."""
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout.decode("utf-8")


def test_what_controls_a_terminal_is_an_escape() -> None:
    assert screen.shown(EVIL) == r"\u{1b}[2J\u{9b}31m\u{202e}evil\u{2066}\u{7}"
    assert screen.shown("a\nb\t\udcff\ud800") == r"a\u{a}b\u{9}\xff\u{d800}"
    assert screen.shown("セル µs \xa0 e\u0301") == "セル µs \xa0 e\u0301"
    assert screen.shown_lines("a\r\nb") == "a\\u{d}\nb"
    assert screen.escape(f"<{EVIL}>\n") == r"&lt;\u{1b}[2J\u{9b}31m\u{202e}evil\u{2066}\u{7}&gt;" "\n"
    assert not controls(str(BadInput(EVIL, EVIL, expected=EVIL, remedy=EVIL)))


def test_the_engine_escapes_what_it_quotes(tmp_path: Path) -> None:
    """Every character that Unicode counts among controls and formats, in a text of a scenario that is wrong."""
    found = {c for c in map(chr, range(0x110000)) if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
    every = "".join(sorted(found - {"\n", "\r"}))
    text = SHORT.replace("kind = ", f'kind = "x" # {every}\nkind = ', 1)
    with pytest.raises(rl.ScenarioError) as caught:
        rl.Scenario(text, f"a{every}b").resolved  # noqa: B018
    assert not controls(str(caught.value))
    quoted = SHORT.replace('name = "mh"', f'name = "mh{json.dumps(EVIL)[1:-1]}"')
    (tmp_path / "lab.toml").write_text(quoted, encoding="utf-8")
    with pytest.raises(rl.ScenarioError, match=r"u\{202e\}evil.* is not a name") as caught:
        rl.load(tmp_path / "lab.toml")
    assert not controls(str(caught.value))
    assert "^" in str(caught.value)


@pytest.mark.parametrize("encoding", of_today(["utf-8", "ascii"], 2))
def test_commands_print_no_control_characters(tmp_path: Path, encoding: str) -> None:
    """Hostile file names, comments and contents of traces, in results, notes and errors."""
    good, bad, other = (tmp_path / f"{EVIL}{name}.toml" for name in ("good", "bad", "other"))
    good.write_text(SHORT, encoding="utf-8")
    other.write_text(SHORT.replace('limit = "64 pkt"', 'limit = "8 pkt"'), encoding="utf-8")
    bad.write_text(f"{SHORT}\nnonsense = 3 # {EVIL.replace(chr(7), '')}", encoding="utf-8")
    trace = tmp_path / f"{EVIL}.csv"
    trace.write_text(f"t_us,ev,flow,x,y\n1,S,{EVIL},{EVIL},1\n", encoding="utf-8")
    log = tmp_path / f"{EVIL}.jsonl"
    log.write_text(json.dumps({"time_s": 1, "host": EVIL, "from": "a", "to": "b"}), encoding="utf-8")
    calls: dict[tuple[str | Path, ...], int] = {
        ("run", good): 0,
        ("run", good, "--json"): 0,
        ("check", good): 0,
        ("run", bad): 2,
        ("run", tmp_path / f"{EVIL}none.toml"): 2,
        ("why", tmp_path / EVIL): 2,
        ("compare", good, other, "--runs", "2", "--metric", "flows.*.goodput_bps"): 0,
        ("draw", good, "-o", f"{EVIL}.svg"): 0,
        ("compare-trace", trace, trace): 2,
        ("schedule", log): 2,
        ("schedule", log, f"--{EVIL}"): 2,
        (EVIL,): 2,
        ("list", "profile", EVIL): 2,
    }
    for arguments, expected in calls.items():
        code, printed = call(*arguments, folder=tmp_path, PYTHONIOENCODING=encoding)
        assert (code, controls(printed)) == (expected, set()), (arguments, printed)
        assert "Traceback" not in printed
        if "--json" in arguments:
            json.loads(printed[printed.index("{\n") :])
    written = [
        path for path in tmp_path.rglob("*") if path.suffix in (".html", ".svg", ".json") and path.is_file()
    ]
    assert any(path.suffix == ".html" for path in written)
    for path in written:
        assert not controls(path.read_text(encoding="utf-8")), path


def test_tables_of_rich_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.table import Table
    from rich.text import Text

    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    table = Table("name")
    table.add_row(Text(EVIL))
    screen.console().print(table, EVIL, markup=False)
    assert not controls(out.getvalue())
    assert r"\u{202e}evil" in out.getvalue()


def _printers() -> Iterator[str]:
    for path in (ROOT / "python/roamlab").rglob("*.py"):
        name = path.relative_to(ROOT / "python/roamlab").as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in {"print", "click.echo", "click.secho", "Console"}:
                yield f"{name}: {called}"


def test_a_long_name_is_whole_in_a_narrow_table() -> None:
    from rich.console import Console

    from roamlab.sweeps.compare import tables

    name = "a-scenario-with-a-name-that-is-wide.toml"
    row = {"metric": "flows.download.goodput_bps", "unit": "bit/s", "name": name, "runs": 5, "p_holm": 5.9e-8}
    row |= {"reference": 2.353e6, "difference": 4.252e5, "low": 4.154e5, "high": 4.351e5}
    out = io.StringIO()
    for table in tables(pl.DataFrame([row])):
        Console(file=out, width=80).print(table)
    cells = [line.split("│")[1].strip() for line in out.getvalue().splitlines() if "│" in line]
    assert "".join(cells) == name


def test_there_is_one_printer() -> None:
    assert set(_printers()) == {"base/screen.py: click.echo"}
