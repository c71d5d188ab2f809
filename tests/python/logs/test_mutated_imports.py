"""A damaged file of another program is read or refused with its place, and never ends with an internal error."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

import roamlab as rl
from conftest import DEEP
from roamlab.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "drive.xml": (
        '<fcd-export><timestep time="0"><vehicle id="a" x="0" y="0" speed="0"/></timestep>\n'
        '<timestep time="1"><vehicle id="a" x="9" y="1" speed="9"/></timestep></fcd-export>\n',
        ["--as", "trajectory", "--host", "a"],
    ),
    "drive.csv": ("time_s;host;x_m;y_m\n0;a;0;0\n1;a;9;1\n2;a;9;7\n", ["--as", "trajectory"]),
    "drive.tcl": (
        '$n(0) set X_ 1\n$n(0) set Y_ 2\n$ns_ at 1.0 "$n(0) setdest 5 6 2"\n$ns_ at 2 "$n(0) setdest 9 9 0"\n',
        ["--as", "trajectory"],
    ),
    "net.graphml": (
        '<graphml><key id="r" for="edge" attr.name="LinkSpeedRaw"/><key id="d" for="edge" attr.name="delay_ms"/>\n'
        '<graph edgedefault="directed"><node id="a"/><node id="b"/>\n<edge source="a" target="b">'
        '<data key="r">1e9</data><data key="d">2.5</data></edge></graph></graphml>\n',
        ["--as", "links"],
    ),
    "run.vec": (
        "version 3\nvector 0 N.ue servingCell:vector ETV\n0\t1\t0\t1\n0\t2\t1.5\t2\n0\t3\t2\t0\n",
        ["--column", "cell=cell", "--column", "host=module"],
    ),
    "iss.tle": (
        "ISS (ZARYA)\n1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927\n"
        "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537\n",
        ["--at", "48,16", "--hours", "8", "--step", "60", "--min-elevation", "-5"],
    ),
}
PIECES = (
    b"nan",
    b"inf",
    b"-1",
    b"1e400",
    b"9" * 50,
    b"\x00",
    b"<",
    b'"',
    b"&x;",
    b"\r",
    b"1e308",
    b"\xff",
    b"{",
)


def damaged(text: str, dice: random.Random) -> bytes:
    """A text with a byte changed, a piece put in, a part left out or repeated, or a line moved."""
    content = bytearray(text.encode())
    for _ in range(dice.choice([1, 1, 2, 4])):
        first = dice.randrange(len(content))
        last = min(len(content), first + dice.randrange(1, 40))
        how = dice.randrange(5)
        if how == 0:
            content[first] = dice.randrange(256)
        elif how == 1:
            content[first:first] = dice.choice(PIECES)
        elif how == 2:
            content[first:last] = b""
        elif how == 3:
            content[first:first] = content[first:last]
        else:
            lines = bytes(content).split(b"\n")
            lines.insert(dice.randrange(len(lines)), lines.pop(dice.randrange(len(lines))))
            content = bytearray(b"\n".join(lines))
        content = content or bytearray(b"x")
    return bytes(content)


@pytest.mark.parametrize("name", list(FILES))
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, name: str) -> None:
    text, words = FILES[name]
    log = tmp_path / name
    call = ["schedule", *(["--tle"] if name.endswith(".tle") else []), str(log), *words]
    log.write_text(text)
    assert CliRunner().invoke(cli, call, standalone_mode=False).exception is None
    dice = random.Random(name)
    for _ in range(1000 if DEEP else 40):
        log.write_bytes(damaged(text, dice))
        done = CliRunner().invoke(cli, call, standalone_mode=False)
        refused = isinstance(done.exception, rl.BadInput | click.ClickException)
        assert done.exception is None or refused, (log.read_bytes(), done.exception)
        assert not refused or done.stdout == ""
