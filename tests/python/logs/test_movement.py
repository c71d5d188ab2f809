"""Movement of other programs becomes the trajectory of a host."""

from __future__ import annotations

import math
import re
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tomli
from click.testing import CliRunner

import roamlab as rl
from conftest import COMMAND, ROOT
from roamlab.cli import cli
from roamlab.imports.movement import Track, trajectory
from roamlab.imports.places import plane

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def made(log: Path, *words: str) -> Result:
    command = ["schedule", str(log), "--as", "trajectory", *words]
    return CliRunner().invoke(cli, command, standalone_mode=False)


def way(log: Path, *words: str) -> dict[str, Any]:
    done = made(log, *words)
    assert done.exception is None, done.exception
    found: dict[str, Any] = tomli.loads(done.stdout)["trajectory"]
    return found


FCD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- a car that waits until 2 s, goes east, and turns north at 4 s -->
<fcd-export xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
    <timestep time="0.00"/>
    <timestep time="1.00">
        <vehicle id="car" x="5.00" y="0.00" angle="90.00" type="t" speed="0.00" pos="5.10" lane="1_0" slope="0.00"/>
        <person id="anna" x="7.00" y="1.00" angle="0.00" speed="0.00" pos="7.00" edge="1" slope="0.00"/>
    </timestep>
    <timestep time="2.00"><vehicle id="car" x="5.00" y="0.00" speed="0.00"/></timestep>
    <timestep time="3.00"><vehicle id="car" x="15.00" y="0.00" speed="10.00"/></timestep>
    <timestep time="4.00"><vehicle id="car" x="25.00" y="0.00" speed="10.00"/></timestep>
    <timestep time="5.00"><vehicle id="car" x="25.00" y="10.00" speed="10.00"/></timestep>
</fcd-export>
"""
CAR = {
    "waypoints_m": [[5.0, 0.0], [5.0, 0.0], [25.0, 0.0], [25.0, 10.0]],
    "times": ["0 s", "1 s", "3 s", "4 s"],
}

CSV = """timestep_time;vehicle_id;vehicle_x;vehicle_y;vehicle_speed;person_id;person_x;person_y
1.00;car;5.00;0.00;0.00;;;
1.00;;;;;anna;7.00;1.00
2.00;car;5.00;0.00;0.00;;;
3.00;car;15.00;0.00;10.00;;;
4.00;car;25.00;0.00;10.00;;;
5.00;car;25.00;10.00;10.00;;;
"""


def test_a_vehicle_of_sumo_is_a_trajectory(tmp_path: Path) -> None:
    log = tmp_path / "fcd.xml"
    log.write_text(FCD)
    done = made(log, "--host", "car")
    assert tomli.loads(done.stdout) == {"trajectory": CAR}
    assert "car: 5 positions in 4 s; a way of 4 points and 30 m" in done.stderr
    assert way(log, "--host", "anna") == {"waypoints_m": [[7.0, 1.0]]}
    for written in ("﻿" + FCD, FCD.replace("\n", "\r\n")):
        log.write_text(written, newline="")
        assert way(log, "--host", "car") == CAR


def test_the_csv_of_sumo_has_the_same_trajectory(tmp_path: Path) -> None:
    log = tmp_path / "fcd.csv"
    lines = CSV.splitlines()
    plain = CSV.replace("timestep_", "").replace("vehicle_", "")
    for written in (
        CSV,
        "﻿" + CSV,
        CSV.replace("\n", "\r\n"),
        CSV.replace(".00", ",00"),
        plain,
        "\n".join([lines[0], *reversed(lines[1:]), ""]),
        "\n".join([*lines, lines[-1], ""]),
    ):
        log.write_text(written, newline="")
        assert way(log, "--host", "car") == CAR
    assert "were not in the order of time" in made_of(log, "\n".join([lines[0], *reversed(lines[1:])]))
    assert "1 record of the same time and position" in made_of(log, "\n".join([*lines, lines[-1]]))


def made_of(log: Path, text: str) -> str:
    log.write_text(text)
    return made(log, "--host", "car").stderr


def test_a_part_of_a_way_begins_at_zero(tmp_path: Path) -> None:
    log = tmp_path / "fcd.xml"
    log.write_text(FCD)
    part = way(log, "--host", "car", "--begin", "2.5", "--end", "4")
    assert part == {"waypoints_m": [[10.0, 0.0], [25.0, 0.0]], "times": ["0 s", "1.5 s"]}
    assert "car' is in fcd.xml from 1 to 5 s" in str(made(log, "--host", "car", "--begin", "6").exception)


SETDEST = """#
# nodes: 2, pause: 1.00, max speed: 20.00
$node_(0) set X_ 10.0
$node_(0) set Y_ 20.0
$node_(0) set Z_ 0.0
$god_ set-dist 0 1 1
$ns_ at 2.000000000000 "$node_(0) setdest 50.0 20.0 4.0"
$ns_ at 4.0 "$god_ set-dist 0 1 2"
$ns_ at 12.0 "$node_(0) setdest 50.0 60.0 4.0"
$ns_ at 3.0 "$node_(1) setdest 9.0 0.0 3.0"
$node_(1) set X_ 0.0
$node_(1) set Y_ 0.0
"""


def test_a_node_of_ns2_is_a_trajectory(tmp_path: Path) -> None:
    """It goes 40 m at 4 m/s until 12 s, and then 40 m more. Places may be at the end of the file."""
    log = tmp_path / "scen.tcl"
    for written in (SETDEST, "﻿" + SETDEST, SETDEST.replace("\n", "\r\n")):
        log.write_text(written, newline="")
        found = way(log, "--host", "0")
        assert found["waypoints_m"] == [[10.0, 20.0], [10.0, 20.0], [50.0, 20.0], [50.0, 60.0]]
        assert found["times"] == ["0 s", "2 s", "12 s", "22 s"]
    assert way(log, "--host", "1") == {
        "waypoints_m": [[0.0, 0.0], [0.0, 0.0], [9.0, 0.0]],
        "times": ["0 s", "3 s", "6 s"],
    }


def test_a_way_that_is_broken_off_ends_where_the_next_begins(tmp_path: Path) -> None:
    """At 2 s it is at 20 m and turns back. Without a speed it stays."""
    log = tmp_path / "scen.tcl"
    head = "$n(a) set X_ 0\n$n(a) set Y_ 0\n$ns at 0 {$n(a) setdest 100 0 10}\n"
    log.write_text(head + '$ns at 2.0 "$n(a) setdest 0 0 10"\n')
    assert way(log) == {"waypoints_m": [[0.0, 0.0], [20.0, 0.0], [0.0, 0.0]], "times": ["0 s", "2 s", "4 s"]}
    log.write_text(head + '$ns at 2.0 "$n(a) setdest 0 0 0"\n')
    assert way(log) == {"waypoints_m": [[0.0, 0.0], [20.0, 0.0]], "times": ["0 s", "2 s"]}


def test_changes_of_speed_and_stops_stay(tmp_path: Path) -> None:
    """10 m in 1 s, 10 m in 4 s, and 5 s at a light. The scenario takes it."""
    log = tmp_path / "log.csv"
    log.write_text("time_s,host,x_m,y_m\n0,a,0,0\n1,a,10,0\n5,a,20,0\n7,a,20.3,0\n10,a,20,0\n12,a,40,0\n")
    done = made(log)
    assert tomli.loads(done.stdout)["trajectory"] == {
        "waypoints_m": [[0.0, 0.0], [10.0, 0.0], [20.0, 0.0], [20.0, 0.0], [40.0, 0.0]],
        "times": ["0 s", "1 s", "5 s", "10 s", "12 s"],
    }
    assert "a way of 5 points and 40 m, up to 0.3 m from the log, at 7 s (--tolerance-m)" in done.stderr
    street = (ROOT / "examples/gallery/street.toml").read_text(encoding="utf-8")
    driven = re.sub(r"(?m)^trajectory = .*$", done.stdout.strip(), street)
    assert driven != street
    (tmp_path / "street.toml").write_text(driven, encoding="utf-8")
    assert rl.load(tmp_path / "street.toml").parameters["hosts"][0]["trajectory"]["times"][2] == "5 s"


def test_degrees_are_metres_from_the_origin(tmp_path: Path) -> None:
    log = tmp_path / "fcd.xml"
    log.write_text(
        '<fcd-export><timestep time="0"><vehicle id="a" x="16.37" y="48.2" speed="0"/></timestep>\n'
        '<timestep time="10"><vehicle id="a" x="16.37" y="48.201" speed="11.1"/></timestep></fcd-export>\n'
    )
    assert "write --geo" in str(made(log).exception)
    done = made(log, "--geo")
    (_, (x, y)) = tomli.loads(done.stdout)["trajectory"]["waypoints_m"]
    assert (x, y) == (0.0, 111.19)
    assert "(0, 0) m is latitude 48.2, longitude 16.37" in done.stderr
    ((_, south), _) = way(log, "--geo", "--origin", "48.201,16.37")["waypoints_m"]
    assert south == -111.19
    gps = tmp_path / "gps.csv"
    gps.write_text("t,lat,lon\n0,48.2,16.37\n10,48.201,16.37\n")
    named = [f"--column={each}" for each in ("time_s=t", "latitude=lat", "longitude=lon")]
    assert way(gps, *named)["waypoints_m"] == [[0.0, 0.0], [0.0, 111.19]]
    gps.write_text("t,lat,lon\n0,48.2,16.37\n10,148.201,16.37\n")
    assert f"{gps}:3: longitude 16.37 and latitude 148.201 are no place" in str(made(gps, *named).exception)


def test_the_plane_keeps_distances() -> None:
    """A degree of longitude is pi/180 of the parallel: N cos(latitude), N the radius of curvature across (WGS 84)."""
    radius = 6_378_137 / math.sqrt(1 - 0.00669437999014 * math.sin(math.radians(60)) ** 2)
    ((x, y),) = plane(np.array([60.0]), np.array([10.01]), (60.0, 10.0))
    assert x == pytest.approx(math.radians(0.01) * radius * math.cos(math.radians(60)), rel=1e-6)
    assert abs(y) < 0.1
    (east, north) = plane(np.array([0.0, 0.001]), np.array([0.001, 0.0]), (0.0, 0.0))
    assert east == pytest.approx([math.radians(0.001) * 6_378_137, 0.0], abs=1e-3)
    assert north == pytest.approx([0.0, math.radians(0.001) * 6_335_439.3], abs=1e-3)


def test_points_that_make_no_difference_are_left_out() -> None:
    """A quarter of a circle with 1,000 points, with a tolerance of 1 m, and a node that trembles before it goes."""
    angles = np.linspace(0, math.pi / 2, 1000)
    arc = np.column_stack([1000 * np.cos(angles), 1000 * np.sin(angles)])
    found = trajectory(Track("a", np.linspace(0, 100, 1000), arc), 1.0)
    assert 10 < len(found.waypoints_m) < 40
    assert found.off_m.max() < 1.1
    assert found.length_m() == pytest.approx(1000 * math.pi / 2, rel=1e-3)
    waits = np.array([[0, 0], [0.1, 0], [0, 0], [0.1, 0.1], [0, 0], [50, 0], [100, 0.0]])
    found = trajectory(Track("a", np.arange(7.0), waits), 1.0)
    assert found.waypoints_m.tolist() == [[0, 0], [0, 0], [100, 0]]
    assert found.times_s.tolist() == [0, 4, 6]


@pytest.mark.parametrize(
    ("name", "log", "words", "said"),
    [
        ("a.xml", FCD, [], "it has 2 nodes"),
        ("a.xml", FCD, ["--host", "cat"], "write --host car"),
        ("a.xml", FCD, ["--column", "x_m=x"], "--column: this is XML, which has no columns"),
        ("a.xml", FCD[:-30], ["--host", "car"], "a.xml:12:27: this is no XML: unclosed token"),
        ("a.xml", FCD.replace("/></timestep>", "</timestep>"), [], "a.xml:9:75: this is no XML"),
        ("a.xml", FCD.replace('x="15.00"', 'x="15,00"'), ["--host", "car"], "a.xml:10: x is '15,00'"),
        ("a.xml", FCD.replace('time="3.00"', 'time="soon"'), ["--host", "car"], "a.xml:10: time is 'soon'"),
        (
            "a.xml",
            FCD.replace('x="15.00"', ""),
            ["--host", "car"],
            "a.xml:10: <vehicle> has no attribute 'x'",
        ),
        ("a.xml", FCD.replace("fcd-export", "routes"), [], "a.xml:3: the first element is <routes>"),
        (
            "a.xml",
            '<fcd-export><vehicle id="a" x="1" y="1"/></fcd-export>',
            [],
            "a.xml:1: <vehicle> is in no time",
        ),
        ("a.xml", "<fcd-export></fcd-export>", [], "it has no node"),
        (
            "a.xml",
            FCD.replace('4.00"><v', '3.00"><v'),
            ["--host", "car"],
            "a.xml:11: 'car' has two positions at 3 s",
        ),
        ("a.csv", CSV.replace("15.00", "far"), ["--host", "car"], "a.csv:5: vehicle_x is 'far'"),
        (
            "a.csv",
            CSV.replace("3.00;", "2026-05-01;"),
            ["--host", "car"],
            "a.csv:5: timestep_time is '2026-05-01'",
        ),
        (
            "a.csv",
            CSV.replace("vehicle_x", "x_of_it"),
            ["--host", "car"],
            "a.csv:1: the record has no field 'x_m'",
        ),
        ("a.csv", "1.0;car;5;0\n", [], "a.csv:1: the record has no field"),
        ("a.csv", CSV, ["--column", "speed=v"], "a trajectory is not made of such a column"),
        ("a.tcl", SETDEST, [], "it has 2 nodes"),
        ("a.tcl", SETDEST, ["--geo"], "--geo: this is a movement file of ns-2, which has no degrees"),
        ("a.tcl", SETDEST.replace("50.0 20.0 4.0", "$x 20.0 4.0"), [], "a.tcl:7: x of setdest is '$x'"),
        ("a.tcl", SETDEST.replace("20.0 4.0", "20.0"), [], "a.tcl:7: this statement has another form"),
        ("a.tcl", SETDEST.replace("20.0 4.0", "20.0 -4.0"), [], "a.tcl:7: the speed of setdest is '-4.0'"),
        (
            "a.tcl",
            SETDEST.replace("Y_ 20.0", "Q_ 1"),
            ["--host", "0"],
            "a.tcl:3: the node '0' has no Y_ at 0 s",
        ),
        (
            "a.tcl",
            SETDEST + '$ns_ at 9 "$node_(1) set X_ 99"\n',
            ["--host", "1"],
            "a.tcl:13: the node '1' jumps",
        ),
    ],
)
def test_a_fault_has_its_line(tmp_path: Path, name: str, log: str, words: list[str], said: str) -> None:
    (tmp_path / name).write_text(log)
    done = made(tmp_path / name, *words)
    assert isinstance(done.exception, rl.BadInput), done.output
    assert said in str(done.exception)
    assert done.stdout == ""


def test_entities_are_refused(tmp_path: Path) -> None:
    """Ten entities of ten entities each and so on would be gigabytes."""
    log = tmp_path / "bomb.xml"
    lines = [f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12)]
    log.write_text(
        "\n".join(
            ["<!DOCTYPE fcd-export [", '<!ENTITY a0 "ha">', *lines, "]>", "<fcd-export>&a11;</fcd-export>"]
        )
    )
    assert f"{log}:1: the file declares entities" in str(made(log).exception)
    log.write_text(f'<!DOCTYPE f SYSTEM "{tmp_path / "other"}">\n<f/>')
    assert "the file declares entities or has a document type" in str(made(log).exception)


def test_the_exit_code_of_a_fault_is_two(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(FCD[:-30])
    call = [COMMAND, "schedule", "a.xml", "--as", "trajectory", "--host", "car"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_host_follows_the_trajectory(tmp_path: Path) -> None:
    """The line is a part of the example `street`, whose car then has this way."""
    log = tmp_path / "fcd.xml"
    log.write_text(FCD)
    text = (ROOT / "examples/gallery/street.toml").read_text()
    line = made(log, "--host", "car").stdout.strip()
    (tmp_path / "street.toml").write_text(re.sub(r"^trajectory = .*$", line, text, flags=re.MULTILINE))
    (host,) = rl.load(tmp_path / "street.toml").to_dict()["hosts"]
    assert host["trajectory"] == CAR


def test_a_way_is_drawn(tmp_path: Path) -> None:
    log = tmp_path / "fcd.xml"
    log.write_text(FCD)
    assert made(log, "--host", "car", "--figure", str(tmp_path / "way.svg")).exception is None
    assert (tmp_path / "way.svg").read_text().startswith("<?xml")


def test_options_of_other_kinds_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "fcd.xml"
    log.write_text(FCD)
    done = CliRunner().invoke(cli, ["schedule", str(log), "--geo"], standalone_mode=False)
    assert "--geo: it changes nothing of moves" in str(done.exception)
    done = CliRunner().invoke(cli, ["schedule"], standalone_mode=False)
    assert "Missing argument 'LOG'" in str(getattr(done.exception, "format_message", str)())
