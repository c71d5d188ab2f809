"""Satellites from two-line elements: closed forms of circular orbits, faults of elements, and what serves when."""

from __future__ import annotations

import csv
import io
import math
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner

import roamlab as rl
from roamlab.cli import cli
from roamlab.imports import orbits, serving, tle
from roamlab.imports.orbits import Pass, Station

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


MU = 398_600.8
"""The gravitational parameter of WGS 72, which SGP4 has, in km^3/s^2."""
EQUATOR_KM = 6378.135


def mean_motion(altitude_km: float) -> float:
    """Turns a day on a circular orbit, by Kepler's third law."""
    return math.sqrt(MU / (EQUATOR_KM + altitude_km) ** 3) * 86_400 / (2 * math.pi)


def signed(line: str) -> str:
    """A line with its checksum behind it."""
    return line + str(sum(int(each) if each.isdigit() else each == "-" for each in line) % 10)


def satellite(
    number: int,
    *,
    inclination: float = 53.0,
    node: float = 0.0,
    anomaly: float = 0.0,
    altitude_km: float = 550.0,
    day: float = 121.5,
    name: str = "",
) -> str:
    """The lines of a satellite whose epoch is a day of 2026 (121.5: noon of the first of May)."""
    one = f"1 {number:05d}U 26001A   26{day:012.8f}  .00000000  00000-0  00000-0 0  999"
    angles = f"{inclination:8.4f} {node % 360:8.4f} 0000001   0.0000 {anomaly % 360:8.4f}"
    two = f"2 {number:05d} {angles} {mean_motion(altitude_km):11.8f}{1:5d}"
    return "\n".join([*([name] if name else []), signed(one), signed(two), ""])


def shell(planes: int, each: int, inclination: float, altitude_km: float, name: str = "SAT") -> str:
    """A Walker constellation: satellites in equal distances on planes in equal distances."""
    return "".join(
        satellite(
            plane * each + place + 1,
            inclination=inclination,
            node=plane * 360 / planes,
            anomaly=place * 360 / each + plane * 360 / (planes * each),
            altitude_km=altitude_km,
            name=f"{name} {plane}-{place}",
        )
        for plane in range(planes)
        for place in range(each)
    )


def made(file: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["schedule", "--tle", str(file), *words], standalone_mode=False)


def rows(file: Path, *words: str) -> list[dict[str, str]]:
    done = made(file, *words)
    assert done.exception is None, done.exception
    return list(csv.DictReader(io.StringIO(done.stdout)))


EARTH_KM, TURN_S = 6378.137, 86_164.0905
"""The equator of WGS 84, and a sidereal day."""
EQUATOR = ["--at", "0,0", "--min-elevation", "10"]


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """A satellite 550 km above the equator."""
    file = tmp_path / "one.tle"
    file.write_text(satellite(7, inclination=0.0, altitude_km=550, name="ONE 7"))
    return file


def test_a_pass_over_the_station_has_the_range_and_the_length_of_closed_forms(one: Path) -> None:
    """Overhead the range is the altitude.

    The window is twice the angle arccos(R/a cos e) - e of the earth's centre, at the rate of the orbit less that of the
    earth. The flattening of the earth changes the orbit by some 0.2 %.
    """
    found = rows(one, *EQUATOR, "--hours", "8", "--as", "passes")
    assert {each["cell"] for each in found} == {"ONE-7"}
    whole = [each for each in found if float(each["rise_s"]) > 0 and float(each["exit_s"]) < 8 * 3600]
    assert len(whole) >= 3
    least = math.radians(10)
    angle = math.acos(EARTH_KM / (EARTH_KM + 550) * math.cos(least)) - least
    rate = 2 * math.pi * (mean_motion(550) / 86_400 - 1 / TURN_S)
    for each in whole:
        assert float(each["highest_elevation_deg"]) > 89
        assert float(each["least_delay_ms"]) * 299.792458 == pytest.approx(550, abs=6)
        assert float(each["exit_s"]) - float(each["rise_s"]) == pytest.approx(2 * angle / rate, rel=0.01)
    rises = [float(each["rise_s"]) for each in whole]
    assert np.diff(rises) == pytest.approx(2 * math.pi / rate, rel=3e-3)


def test_the_range_overhead_is_the_radius_of_sgp4_less_that_of_the_earth(one: Path) -> None:
    from sgp4.api import Satrec

    above, _ = orbits.sky(one, Station(0, 0, least_elevation=10), None, 2.0, 1.0)
    highest = int(np.argmax(above.elevation))
    lines = one.read_text().splitlines()
    record = Satrec.twoline2rv(*lines[1:])
    _, place, _ = record.sgp4_tsince(float(above.times_s[above.step[highest]]) / 60)
    assert above.range_m[highest] / 1e3 == pytest.approx(math.hypot(*place) - EARTH_KM, abs=0.05)
    higher, _ = orbits.sky(one, Station(0, 0, altitude_m=8000, least_elevation=10), None, 2.0, 1.0)
    assert above.range_m.min() - higher.range_m.min() == pytest.approx(8000, abs=1)


def test_a_satellite_is_above_the_meridian_of_its_right_ascension(one: Path) -> None:
    """At the epoch it is in the direction of the equinox, at the longitude of minus the sidereal time.

    The sidereal time is 280.46061837 + 360.98564736629 degrees for each day since noon of the first of January 2000
    (Meeus, "Astronomical Algorithms", 12.4). The first of May 2026 is 9617 days later.
    """
    west = (280.46061837 + 360.98564736629 * 9617) % 360
    station = Station(0, (540 - west) % 360 - 180, least_elevation=89)
    above, begin = orbits.sky(one, station, None, 0.1, 1.0)
    assert begin.isoformat() == "2026-05-01T12:00:00+00:00"
    assert above.elevation[above.step == 0] == pytest.approx([90], abs=0.2)


def test_the_times_of_a_pass_do_not_depend_on_steps_or_pieces(
    one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fine = rows(one, *EQUATOR, "--hours", "4", "--as", "passes")
    coarse = rows(one, *EQUATOR, "--hours", "4", "--step", "5", "--as", "passes")
    monkeypatch.setattr(orbits, "_TOGETHER", 7)
    assert rows(one, *EQUATOR, "--hours", "4", "--as", "passes") == fine
    for one_pass, other in zip(fine, coarse, strict=True):
        for key in ("rise_s", "exit_s"):
            assert float(one_pass[key]) == pytest.approx(float(other[key]), abs=0.05)


def test_a_pass_is_followed_beyond_the_end(one: Path) -> None:
    """Its exit is that of a longer time; a geostationary satellite has none within 12 h."""
    (first, *_) = rows(one, "--at", "0,160", "--min-elevation", "10", "--hours", "8", "--as", "passes")
    end = (float(first["rise_s"]) + 30) / 3600
    (short,) = rows(one, "--at", "0,160", "--min-elevation", "10", "--hours", f"{end}", "--as", "passes")
    assert float(short["exit_s"]) == pytest.approx(float(first["exit_s"]), abs=0.01)
    one.write_text(satellite(9, inclination=0.0, altitude_km=35_786))
    found = []
    for east in range(-180, 180, 60):
        above, _ = orbits.sky(one, Station(0, east, least_elevation=30), None, 0.1, 20.0)
        found += [each.exit_s for each in orbits.passes(above)]
    assert found
    assert min(found) >= 43_200


def _passes() -> list[Pass]:
    """`low` from 0 to 9, `high` from 3 to 6, `late` from 8 to 14: steps of 1 s."""
    lines = {"low": (0, [30.0] * 10), "high": (3, [50.0] * 4), "late": (8, [40.0] * 7)}
    return [
        Pass(
            name,
            first,
            first + len(heights) - 0.5,
            first,
            np.array(heights),
            np.full(len(heights), first / 1e3 + 1e-3),
        )
        for name, (first, heights) in lines.items()
    ]


def test_the_highest_satellite_serves_or_the_one_that_stays_longest() -> None:
    def chosen(rule: str, every: int) -> list[tuple[str, int, int]]:
        return [
            (visit.one.name, visit.at, visit.until) for visit in serving.served(_passes(), 16, rule, every)
        ]

    assert chosen("highest", 1) == [("low", 0, 3), ("high", 3, 7), ("low", 7, 8), ("late", 8, 15)]
    assert chosen("highest", 5) == [("low", 0, 5), ("high", 5, 7), ("low", 7, 10), ("late", 10, 15)]
    assert chosen("longest", 1) == [("low", 0, 10), ("late", 10, 15)]


def test_visits_are_moves_delays_and_times_to_exit() -> None:
    """`low` sets at 9.5 s; `late` sets at 14.5 s without another one."""
    times = np.arange(16.0)
    visits = serving.served(_passes(), 16, "longest", 1)
    assert serving.moves(visits, times, "dish").splitlines() == [
        "time_s,host,from,to,gap_s",
        "0,dish,,low,",
        "9.5,dish,low,late,",
        "14.5,dish,late,,",
    ]
    assert serving.exits_table(visits, times).splitlines()[1:] == [
        "0,low,9.5,30.00,1.0000",
        "10,late,4.5,40.00,9.0000",
    ]
    series = serving.delays(visits, times)
    assert series.scaled().tolist() == [1.0] * 10 + [9.0] * 6
    assert "no satellite serves at 1 step of 16" in series.notes[0]


CELL = """router = "gw"
rate = "20 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail" }
backhaul = { rate = "100 Mbit/s", delay = "1 ms" }
"""


def test_the_moves_are_a_schedule_of_a_host(tmp_path: Path) -> None:
    """The schedule is the plan of a host, the delays those of a link."""
    file = tmp_path / "shell.tle"
    file.write_text(shell(6, 11, 86.4, 780))
    place = ["--at", "48.2,16.37", "--hours", "0.2", "--host", "dish"]
    moves = rows(file, *place, "--as", "moves")
    (tmp_path / "moves.csv").write_text(made(file, *place).stdout)
    (tmp_path / "delay.csv").write_text(made(file, *place[:4], "--as", "delay").stdout)
    cells = sorted({each["to"] for each in moves} - {""})
    text = [
        '[run]\nduration = "100 s"',
        '[[links]]\nbetween = ["server", "gw"]\nrate = "100 Mbit/s"\ndelay = { trace = "delay.csv" }',
        *(f"[cells.{cell}]\n{CELL}" for cell in cells),
        '[[hosts]]\nname = "dish"\nhome = "gw"\nplan = { kind = "schedule", file = "moves.csv" }',
        '[[flows]]\nname = "call"\npath = ["server", "dish"]\napp = { kind = "voip", codec = "g711" }',
    ]
    (tmp_path / "orbit.toml").write_text("\n".join(text))
    (host,) = rl.load(tmp_path / "orbit.toml").expanded()["hosts"]
    assert next(each["cell"] for each in host["visits"]) == moves[0]["to"]


ISS = (
    "ISS (ZARYA)\n"
    "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927\n"
    "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537\n"
)


def test_elements_are_read_in_all_their_forms(tmp_path: Path) -> None:
    file = tmp_path / "iss.tle"
    for written in (
        ISS,
        "﻿" + ISS,
        ISS.replace("\n", "\r\n"),
        ISS.replace("ISS", "0 ISS"),
        f"# today\n\n{ISS}",
    ):
        file.write_text(written, newline="")
        ((found,), said) = tle.read(file)
        assert (found.name, list(said)) == ("ISS-ZARYA", [])
    file.write_text("".join(ISS.splitlines(keepends=True)[1:]))
    assert tle.read(file)[0][0].name == "sat-25544"
    file.write_text(satellite(5, day=10) + satellite(5, day=12) + satellite(5, day=11))
    ((found,), said) = tle.read(file)
    assert found.one[20:23] == "012"
    assert said == ["2 older sets of elements left out"]
    file.write_text(satellite(5, name="A") + satellite(6, name="A"))
    assert [each.name for each in tle.read(file)[0]] == ["A-00005", "A-00006"]


LINES = ISS.splitlines()
OTHER = signed(LINES[2][:-1].replace("25544", "25545"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ISS.replace("51.6416", "51.6417"), "iss.tle:3:69: the checksum is 7, and that of the line is 8"),
        (
            ISS.replace("-.00002182", "+.00002182"),
            "iss.tle:2:69: the checksum is 7, and that of the line is 6",
        ),
        (ISS.replace("247.4627", "247,4627"), "iss.tle:3:18: columns 18 to 25 of line 2 are '247,4627'"),
        (ISS.replace("  51.6416", " 51.6416"), "iss.tle:3:9: columns 9 to 16 of line 2 are '51.6416 '"),
        (ISS.replace("0006703", "0.00067"), "iss.tle:3:27: columns 27 to 33"),
        (ISS.replace("2927", "292"), "iss.tle:2: line 1 has 68 columns, and no checksum in column 69"),
        (ISS.replace("2927", "292 "), "has 68 columns, and no checksum in column 69"),
        ("\n".join([*LINES[:2], OTHER]), "iss.tle:3: line 1 is of satellite 25544, and line 2 of 25545"),
        ("\n".join(LINES[:2]), "iss.tle:2: the last satellite has no line 2"),
        ("\n".join([LINES[0], LINES[2]]), "iss.tle:2: line 2 of a satellite has no line 1"),
        ("\n".join([*LINES[:2], LINES[1]]), "iss.tle:3: this is no line 2"),
        ("a\nb\n" + ISS, "iss.tle:2: this is no line of elements: 'b'"),
        ("OBJECT_NAME,OBJECT_ID\n", "fetch the elements in the format TLE"),
        ("# none\n", "it has no satellite"),
        (ISS + "more\n", "a name at the end"),
    ],
)
def test_a_fault_of_elements_has_its_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "iss.tle").write_text(text)
    done = made(tmp_path / "iss.tle", "--at", "48,16")
    assert isinstance(done.exception, rl.BadInput), done.output
    assert said in str(done.exception)
    assert done.stdout == ""


def test_the_checksum_counts_digits_and_minuses() -> None:
    for line in LINES[1:]:
        assert tle.checksum(line) == int(line[-1])
        assert signed(line[:-1]) == line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--at: there is no place"),
        (["--at", "91,0"], "--at 91,0: this is no place on the earth"),
        (["--at", "0,0", "--as", "rate"], "--as rate: satellites have none"),
        (["--at", "0,0", "--begin", "1"], "--begin: it changes nothing of satellites"),
        (["--at", "0,0", "--from", "noon"], "--from noon: this is no date and time"),
        (["--at", "0,0", "--hours", "0"], "--hours 0: write a number above 0"),
        (["--at", "0,0", "--hours", "nan"], "--hours nan: write a number above 0"),
        (["--at", "0,0", "--altitude", "nan"], "--altitude nan: write a number"),
        (["--at", "0,0", "--step", "1e9"], "--hours: 1 h have 1 steps"),
        (["--at", "-89,nan"], "--at -89,nan: this is no place on the earth"),
        (["--at", "-89,-180", "--min-elevation", "10"], "no satellite is above 10 degrees"),
        (["--at", "0,0", "--from", "9999-12-31"], "no satellite"),
        (["--at", "0,0", "--hours", "1e6"], "--hours: 1000000 h have"),
        (["--at", "89,0", "--min-elevation", "10"], "no satellite is above 10 degrees"),
    ],
)
def test_options_of_satellites_are_checked(one: Path, words: list[str], said: str) -> None:
    done = made(one, *words)
    assert said in str(getattr(done.exception, "format_message", lambda: str(done.exception))())


def test_old_elements_are_reported(one: Path) -> None:
    told = made(one, "--at", "0,0", "--from", "2026-06-15T00:00:00Z", "--hours", "3").stderr
    assert "from 2026-06-15T00:00:00Z on" in told
    assert "some elements are 44.5 days away" in told


def test_an_hour_of_1584_satellites_takes_less_than_a_minute(tmp_path: Path) -> None:
    """Every satellite of the first shell of Starlink, as a Walker constellation, and the figure."""
    file = tmp_path / "shell.tle"
    file.write_text(shell(72, 22, 53.0, 550))
    begun = time.monotonic()
    done = made(file, "--at", "48.2,16.37", "--serve", "longest", "--figure", str(tmp_path / "sky.svg"))
    assert done.exception is None
    assert time.monotonic() - begun < 60
    assert "100 % of the time" in done.stderr
    assert (tmp_path / "sky.svg").read_text().startswith("<?xml")
