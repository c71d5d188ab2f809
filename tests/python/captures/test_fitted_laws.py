"""`roamlab fit`: laws that hold on data that they were not fitted to, the report on a sample, and what is refused.

`samples/handovers-2023.csv.gz` has 3,265 durations of handovers, Start to End, of one half of the CC0 data set
of a PAM 2025 paper.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import kstest

from capture_files import called
from conftest import ROOT
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario
from roamlab.statistics.durations import (
    bound,
    components,
    constant,
    distance,
    exponential,
    fitted,
    grouping,
    mixture,
    quantiles,
    uniform,
)

if TYPE_CHECKING:
    from capture_files import Done
    from roamlab.statistics.durations import Values

SAMPLE = ROOT / "tests/python/captures/samples/handovers-2023.csv.gz"
DRIVE = Path(os.environ.get("ROAMLAB_DATA", ""), "traces/handovers-2023/drive.csv.gz")


def fit(*arguments: object) -> Done:
    """`roamlab fit`."""
    return called("fit", *map(str, arguments))


def table(folder: Path, text: str, name: str = "sample.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def column(folder: Path, values: Values, name: str = "gap_s") -> Path:
    return table(folder, f"{name}\n" + "".join(f"{value:.9f}\n" for value in values))


def sample() -> dict[str, Values]:
    """The durations in s of each operator in the sample."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in csv.DictReader(gzip.decompress(SAMPLE.read_bytes()).decode().splitlines()):
        found[row["operator"]].append(float(row["duration_ms"]) / 1e3)
    return {operator: np.array(values) for operator, values in found.items()}


def drive() -> dict[str, Values]:
    """The same of all runs of the whole file: from each Start to the next End of its run and operator."""
    found: dict[str, list[float]] = defaultdict(list)
    begun: dict[tuple[str, str], float] = {}
    with gzip.open(DRIVE, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            of = (row["run"], row["operator"])
            if row["handover"] == "Start":
                begun[of] = float(row["time_s"])
            elif row["handover"] == "End" and of in begun:
                found[row["operator"]].append(float(row["time_s"]) - begun.pop(of))
    return {operator: np.array(values) for operator, values in found.items()}


def holds_on_the_other_half(by_operator: dict[str, Values]) -> None:
    """Laws of halves, judged on the other halves, are as near as their bound on average; of all operators mostly."""
    every = np.concatenate([*by_operator.values()])
    for values in [*by_operator.values(), every]:
        found = fitted(values)
        assert found.law.name == "quantiles"
        assert found.distances["quantiles"] <= max(0.05, bound(len(values) // 2))
        assert min(found.distances["exponential"], found.distances["uniform"]) > 0.15, "others are far"
    rng, near = np.random.default_rng(11), 0
    for _ in range(20):
        order = rng.permutation(len(every))
        one, other = every[order[::2]], every[order[1::2]]
        near += distance(quantiles(one), other) <= max(0.05, bound(len(other)))
    assert near >= 19


def test_a_law_of_half_of_the_handovers_holds_on_the_other_half() -> None:
    by_operator = sample()
    assert {*by_operator} == {"att", "verizon"}
    assert sum(map(len, by_operator.values())) == 3265
    holds_on_the_other_half(by_operator)


@pytest.mark.skipif(not DRIVE.is_file(), reason="needs the whole data set, which is not in the project")
def test_the_same_holds_in_the_whole_data_set() -> None:
    by_operator = drive()
    assert sum(map(len, by_operator.values())) > 3000
    holds_on_the_other_half(by_operator)


def test_the_command_prints_a_law_that_a_scenario_draws_by(tmp_path: Path) -> None:
    csv_file = table(tmp_path, gzip.decompress(SAMPLE.read_bytes()).decode())
    done = fit(csv_file, "--where", "operator=verizon")
    assert done.code == 0, done.err
    assert "KS distance" in done.err
    (line,) = done.out.splitlines()
    law = tomllib.loads(f"law = {line}")["law"]
    values = sample()["verizon"]
    assert law["kind"] == "quantiles"
    assert f"n = {len(values)}" in done.err
    lengths = outages_of(line)
    assert len(lengths) > 300
    assert kstest(lengths, values).statistic < 1.95 * np.sqrt(1 / len(lengths) + 1 / len(values))


def outages_of(law: str) -> Values:
    """Lengths in s of outages by a law, as packets each ms see them: those of 2 ms and more."""
    results = run(
        Scenario(f"""
run = {{ duration = "150 s" }}
[[links]]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "1 ms"
outages = {{ between = "300 ms", length = {law}, packets = "lost" }}
[[flows]]
name = "f"
path = ["a", "b"]
app = {{ kind = "cbr", rate = "0.8 Mbit/s", packet = "100 B" }}
""")
    )
    times = results.deliveries["time_ns"].to_numpy() / 1e9
    gaps = np.diff(times)
    return np.asarray(gaps[gaps > 0.0015] - 0.001)


@pytest.mark.parametrize(
    ("kind", "drawn"),
    [
        ("uniform", lambda rng: rng.uniform(1, 2, 400)),
        ("exponential", lambda rng: rng.exponential(2, 400)),
        (
            "mixture",
            lambda rng: np.where(rng.random(400) < 0.7, rng.exponential(0.5, 400), rng.exponential(20, 400)),
        ),
        ("quantiles", lambda rng: rng.lognormal(0, 0.4, 400)),
    ],
)
def test_the_simplest_law_that_fits_is_chosen(tmp_path: Path, kind: str, drawn: Any) -> None:
    values = drawn(np.random.default_rng(7))
    done = fit(column(tmp_path, values))
    law = tomllib.loads(f"law = {done.out}")["law"]
    assert law["kind"] == kind
    assert "<- this law" in done.err
    Scenario(
        f'run = {{ duration = "1 s" }}\nlinks = [{{ between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms", '
        f'outages = {{ between = {done.out.strip()}, length = "1 s", packets = "lost" }} }}]'
    )
    if kind == "mixture":
        shares = [each["weight"] for each in law["components"]]
        assert shares[0] == pytest.approx(0.7, abs=0.07)
        assert "perhaps a mixture: two exponential components" in done.err
    else:
        assert "perhaps a mixture" not in done.err


def test_distances_are_those_of_scipy() -> None:
    values = np.random.default_rng(1).exponential(2, 300)
    assert distance(exponential(values), values) == pytest.approx(
        kstest(values, "expon", args=(0, values.mean())).statistic
    )
    low, high = values.min(), values.max()
    assert distance(uniform(values), values) == pytest.approx(
        kstest(values, "uniform", args=(low, high - low)).statistic
    )
    assert distance(constant(np.array([1.0, 1.0])), np.array([1.0, 2.0])) == 0.5
    steps = np.repeat([1.0, 2.0], 50)
    assert distance(quantiles(steps), steps) <= 0.1, (
        "steps of a sample are steps of its law, between two of its points"
    )


def test_a_true_law_is_rarely_rejected_and_a_mixture_rarely_seen_where_none_is() -> None:
    rng = np.random.default_rng(3)
    laws = [fitted(rng.exponential(1, 200)).law.name for _ in range(40)]
    assert laws.count("exponential") >= 37
    alone = [each.clear for _ in range(40) for each in components(rng.lognormal(0, 0.5, 200))]
    assert sum(alone) <= 2
    humps = np.concatenate([rng.normal(10, 1, 150), rng.normal(50, 2, 150)])
    assert [each.what for each in components(humps) if each.clear] == ["log-normal"]
    (low, high) = mixture(np.concatenate([rng.exponential(1, 3000), rng.exponential(30, 1000)])).parts
    assert (low[1], high[1]) == (pytest.approx(1, rel=0.1), pytest.approx(30, rel=0.1))


def test_groups_are_told_from_a_poisson_process() -> None:
    rng = np.random.default_rng(4)
    verdicts = [grouping([np.cumsum(rng.exponential(1, 300))]).verdict for _ in range(100)]
    assert verdicts.count("as a Poisson process") >= 94
    short = rng.random(300) < 0.8
    gaps = np.where(short, rng.exponential(0.2, 300), rng.exponential(5, 300))
    assert grouping([np.cumsum(gaps)]).verdict == "grouped"
    assert grouping([np.arange(300.0)]).verdict == "regular"
    assert grouping([np.arange(20.0)]).verdict == "undecided"


def test_intervals_and_times_of_events_are_tested_for_groups(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    gaps = np.where(rng.random(300) < 0.8, rng.exponential(0.2, 300), rng.exponential(5, 300))
    assert "events come in groups" in fit(column(tmp_path, gaps), "--what", "interval").err
    assert "groups" not in fit(column(tmp_path, gaps)).err, "lengths have no times"
    rows = "".join(f"{at:.3f};{0.1:.1f}\n" for at in np.cumsum(gaps))
    timed = table(tmp_path, f"at_s;gap_s\n{rows}")
    done = fit(timed, "--column", "gap_s", "--time", "at_s")
    assert done.out == '"100 ms"\n'
    assert "events come in groups" in done.err


def pings(silences: list[tuple[int, int]]) -> str:
    """`ping -D -i 0.1` for 400 s, in which these requests (from, to) have no answer."""
    lost = {number for begin, end in silences for number in range(begin, end)}
    lines = ["PING example (192.0.2.1) 56(84) bytes of data."]
    for number in range(4000):
        if number not in lost:
            at = 1_700_000_000 + number / 10 + 0.02
            lines.append(f"[{at:.6f}] 64 bytes from 192.0.2.1: icmp_seq={number + 1} ttl=60 time=20.0 ms")
    return "\n".join(lines) + "\n"


def test_the_silences_of_a_ping_are_read_by_number(tmp_path: Path) -> None:
    silences = [(number * 100, number * 100 + 4 + number % 5) for number in range(1, 39)]
    log = table(tmp_path, pings(silences), "ping.txt")
    done = fit(log, "--above", "300 ms")
    assert done.code == 0, done.err
    assert "length of a silence: n = 38, median 700 ms" in done.err
    between = fit(log, "--what", "interval")
    assert "time from a silence to the next: n = 37, median 9.3" in between.err
    assert "more regular than random ones" in between.err or "undecided" in between.err
    none = fit(log, "--above", "5 s")
    assert none.code == 2
    assert "0 silences are longer than 5 s" in none.err


def test_a_schedule_has_gaps_and_intervals(tmp_path: Path) -> None:
    rows = "".join(f"{3 * number},h{number % 2},a{number},b{number},0.05\n" for number in range(80))
    schedule = table(tmp_path, f"time_s,host,from,to,gap_s\n{rows}")
    assert fit(schedule, "--what", "gap").out == '"50 ms"\n'
    done = fit(schedule, "--what", "interval")
    assert done.out == '"6 s"\n'
    assert "n = 78" in done.err


def test_a_small_sample_is_undecided(tmp_path: Path) -> None:
    done = fit(column(tmp_path, np.random.default_rng(1).exponential(1, 29)))
    assert done.code == 0
    assert "undecided: 29 durations are too few for a law, 30 are needed" in done.err
    assert fit(table(tmp_path, "gap_s\n0\n")).code == 0


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("gap_ms\r\n10\r\n10\r\n", "10 ms"),
        ("\ufeffgap_ms\n10\n10\n", "10 ms"),
        ("x;gap_ms\na;10,5\nb;10,5\n", "10.5 ms"),
        ("x\tgap_us\na\t10\nb\t10\n", "0.01 ms"),
        ("# a comment\n\ngap_s\n1e1\n10\n", "10 s"),
    ],
)
def test_tables_of_other_programs_are_read(tmp_path: Path, text: str, first: str) -> None:
    done = fit(table(tmp_path, text))
    assert json.loads(done.out) == first, done.err


@pytest.mark.parametrize(
    ("content", "options", "parts"),
    [
        ("", [], ["sample.csv", "the file is empty"]),
        ("gap_s\n", [], ["sample.csv", "there are no rows"]),
        ("gap_s\n1\nabc\n", [], ["sample.csv:3", "gap_s is 'abc'", "a number of s"]),
        ("gap_s\n1\n-2\n", [], ["sample.csv:3", "gap_s is '-2'"]),
        ("gap_s\n1\nNaN\n", [], ["sample.csv:3", "gap_s is 'NaN'"]),
        ("gap_s\ninf\n", [], ["sample.csv:2", "gap_s is 'inf'"]),
        ("gap_s\n1\n20 ms\n", [], ["sample.csv:3", "write the number alone, in s"]),
        ("gap_s,x\n1,2\n,3\n", [], ["sample.csv:3", "gap_s has no value"]),
        ("gap_s\n1,5\n", [], ["sample.csv:2", "decimal points, not commas"]),
        ('gap_s\n"1,5"\n', [], ["sample.csv:2", "write 1.5, with a decimal point"]),
        ("gap_s;x\n1.000,5;a\n", [], ["sample.csv:2", "gap_s is '1.000,5'"]),
        ("gap,x\n1,a\n", ["--column", "gap"], ["no unit", "--unit ms"]),
        (
            "gap_s,x\n1,a\n",
            ["--column", "gaps_s"],
            ["sample.csv:2", "no column 'gaps_s'", "did you mean 'gap_s'?"],
        ),
        ("gap_s\n1\n", ["--unit", "ms"], ["--unit ms", "in s, by its name"]),
        ("a_s,b_s\n1,2\n", [], ["2 of its columns", "--column b_s"]),
        ("gap_s,x\n1,a\n", ["--where", "x=b"], ["sample.csv", "--where"]),
        ("gap_s,x\n1,a\n", ["--where", "x"], ["--where x", "there is no `=`"]),
        ("gap_s\n1\n", ["--above", "1 s"], ["--above", "has no pings"]),
        ("gap_s\n1\n", ["--above", "soon"], ["--above soon", "0.3 s"]),
        ("gap_s\n1\n", ["--figure", "x.pdf"], ["--figure x.pdf", ".svg or .png"]),
        ("PING a\n", ["--column", "gap_s"], ["--column", "output of ping"]),
        ("PING a\n", [], ["0 answers with a time"]),
        ("\x00\x01\x02\n", [], ["sample.csv", "this is no text"]),
    ],
)
def test_what_is_no_sample_is_refused_with_its_place(
    tmp_path: Path, content: str, options: list[str], parts: list[str]
) -> None:
    done = fit(table(tmp_path, content), *options)
    assert done.code == 2, done.err
    assert done.out == ""
    assert all(part in done.err for part in parts), done.err
    assert "expected" in done.err


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_figure_is_written_and_no_other_file_replaced(tmp_path: Path, ending: str) -> None:
    values = column(tmp_path, np.random.default_rng(1).exponential(1, 50))
    picture = tmp_path / f"law.{ending}"
    assert fit(values, "--figure", picture).code == 0
    first = picture.read_bytes()
    assert first.startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    assert fit(values, "--figure", picture).code == 0
    assert picture.read_bytes() == first
    picture.write_bytes(b"mine")
    done = fit(values, "--figure", picture)
    assert done.code == 2
    assert "not ours to replace" in done.err
    assert picture.read_bytes() == b"mine"
