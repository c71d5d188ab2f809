"""Large scenarios: generated ones, and files with a table for each flow. Memory is bounded, time is not measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import roamlab as rl
from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

FLOWS = 20_000
ROAMLAB = str(Path(sys.executable).with_name("roamlab"))
_FILE = 'transport = { kind = "tcp" }\napp = { kind = "ftp" }\n'
_RUN = '[run]\nduration = "1 ms"\n[record]\ndeliveries = false\ntcp = false\nqueues = []\n'
_LINK = 'link = { rate = "1 Gbit/s", delay = "1 ms" }\n'


def star(name: str, leaves: int) -> str:
    """A tree of depth 1."""
    return f'[[topology]]\nkind = "tree"\nname = "{name}"\ndepth = 1\nfan_out = {leaves}\n{_LINK}'


def by_rule(flows: int) -> str:
    """A dumbbell, each flow between its own two nodes."""
    middle = '[[links]]\nbetween = ["s-0-0", "d-0-0"]\nrate = "1 Gbit/s"\ndelay = "10 ms"\n'
    group = f'[[flows]]\nname = "f"\ncount = {flows}\npath = ["s-1-*", "d-1-*"]\n{_FILE}'
    return _RUN + middle + star("s", flows) + star("d", flows) + group


def written_out(flows: int) -> str:
    """The same with a table for each link and flow."""
    link = '[[links]]\nbetween = ["{}", "{}"]\nrate = "1 Gbit/s"\ndelay = "{} ms"\n'.format
    parts = [_RUN, link("s-0-0", "d-0-0", 10)]
    parts += [link(f"{side}-0-0", f"{side}-1-{at}", 1) for side in "sd" for at in range(flows)]
    flow = (
        '[[flows]]\nname = "f-{0}"\npath = ["s-1-{0}", "d-1-{0}"]\n'
        + _FILE.replace("{", "{{").replace("}", "}}")
    ).format
    return "".join([*parts, *map(flow, range(flows))])


def hosts(count: int) -> str:
    """Hosts without moves in a hundred cells."""
    cells = (
        'cells = { rate = "100 Mbit/s", delay = "1 ms", queue = { kind = "droptail" }, '
        'backhaul = { rate = "1 Gbit/s", delay = "1 ms" } }\n'
    )
    group = f'[[hosts]]\nname = "mh"\ncount = {count}\nhome = "an-0-0"\nplan = {{ kind = "stay" }}\n'
    return f'{_RUN}[mobility]\nkind = "mobile-ip"\n{star("an", 100)}{cells}{group}'


_PEAK = """
import os, sys
pid = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(pid, 0)
print(used.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Runs a command; the last word on standard error is its peak of memory, in kB."""


# Resident memory of Python and its libraries is some 160 MB of it. With a fixed threshold the allocator returns what is
# freed; otherwise its state adds or removes 40 MB where the program has the same memory in use.
@pytest.mark.parametrize(
    ("text", "most_mb"),
    [(by_rule, 335), (written_out, 335), (hosts, 260)],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_the_memory_of_a_large_run_is_bounded(
    text: Callable[[int], str], most_mb: int, tmp_path: Path
) -> None:
    """`roamlab run`, from the file to the summary."""
    path = tmp_path / "large.toml"
    path.write_text(text(FLOWS))
    # A process counts the memory of its parent at the fork: between the tests and the run is a small one.
    command = [sys.executable, "-S", "-c", _PEAK, ROAMLAB, "run", str(path), "--out", str(tmp_path / "runs")]
    allocator = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=allocator)
    assert "result:" in done.stdout
    assert int(done.stderr.split()[-1]) / 1024 < most_mb


_REFUSED = """
import resource, sys
import roamlab as rl
try:
    rl.run(sys.argv[1], memory=int(sys.argv[2]))
except rl.ScenarioError as error:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, error)
"""
"""Its peak of memory, in MB, and the report."""


def test_a_network_beyond_the_limit_is_refused_before_it_is_generated(tmp_path: Path) -> None:
    peaks = []
    for count, limit in ((4, 10_000), (400_000, 100_000_000)):
        path = tmp_path / f"{count}.toml"
        path.write_text(hosts(count))
        command = [sys.executable, "-c", _REFUSED, str(path), str(limit)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peak, report = done.stdout.split(maxsplit=1)
        assert report.startswith(f"{path}:"), report
        assert f"for {count} hosts" in report or count == 4
        assert "or let the run take more memory" in report
        peaks.append(int(peak))
    assert peaks[1] < peaks[0] + 10


def test_flows_by_rule_and_written_out_are_the_same() -> None:
    one, other = (rl.run(rl.Scenario(text(300), "large")) for text in (by_rule, written_out))
    for table in one.loaders:
        if table not in ("census",):
            assert one.table(table).equals(other.table(table)), table


def test_a_large_scenario_is_read_in_pieces_like_a_small_one(tmp_path: Path) -> None:
    """An error far down in a long file has its line and its field."""
    text = written_out(6_000)
    assert len(text) > 1_000_000
    wrong = text.replace('name = "f-5999"', 'name = "f 5999"')
    path = tmp_path / "large.toml"
    path.write_text(wrong)
    done = subprocess.run([ROAMLAB, "check", str(path)], capture_output=True, text=True, check=False)
    line = wrong[: wrong.index("f 5999")].count("\n") + 1
    assert (done.returncode, done.stdout) == (2, "")
    assert f"large.toml:{line}:8: field `flows[5999].name`" in done.stderr


def test_the_echo_of_a_group_is_a_group() -> None:
    scenario = rl.load(ROOT / "examples/access-network.toml")
    assert [host["name"] for host in scenario.parameters["hosts"]] == ["walker", "home"]
    network = scenario.expanded()
    assert len(network["hosts"]) == 21
    assert len(network["cells"]) == 21
    assert len({end for link in network["links"] for end in link["between"]}) == 12
    assert network["hosts"][3]["visits"] == [{"cell": "an-bs-2", "at": "0 ns"}]
    walked = [visit["cell"] for visit in network["hosts"][0]["visits"]]
    assert walked == [f"an-bs-{cell}" for cell in range(10)]
    longer = scenario.set("flows.call.count", 40)
    assert len(longer.expanded()["flows"]) == 41
    assert json.loads(longer.resolved) == longer.parameters


def test_a_random_walk_is_another_in_each_run() -> None:
    plan = {"kind": "random-neighbour", "dwell": "1 s", "neighbours": "links"}
    scenario = rl.load(ROOT / "examples/access-network.toml").set("hosts.walker.plan", plan)

    first, second = (scenario.run(seed=1, run=run) for run in (0, 1))
    planned = [visit["cell"] for visit in first.manifest.network["hosts"][0]["visits"]]
    assert len(planned) == 10
    assert planned != [visit["cell"] for visit in second.manifest.network["hosts"][0]["visits"]]
    # The host's uplink carries packets in the cells that it visits, and in no other.
    carried = first.links.filter(
        pl.col("link").cast(pl.String).str.starts_with("walker->"), pl.col("busy_ns") > 0
    )
    assert {str(link).removeprefix("walker->") for link in carried["link"]} == set(planned)


def test_a_network_is_drawn(tmp_path: Path) -> None:
    out = tmp_path / "network.svg"
    command = [ROAMLAB, "draw", str(ROOT / "examples/access-network.toml"), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    drawn = out.read_text()
    for part in (
        "node-ch",
        "node-an-2-6",
        "cell-an-bs-20",
        "link-an-0-0-an-1-2",
        "way-an-bs-0-an-bs-1",
        "hosts-an-bs-3",
        "legend",
    ):
        assert f'id="{part}"' in drawn, part
    anchors = tmp_path / "anchors.svg"
    bcmp = [ROAMLAB, "draw", str(ROOT / "examples/bcmp.toml"), "-o", str(anchors)]
    assert subprocess.run(bcmp, check=False, capture_output=True).returncode == 0
    assert 'id="role-an-1-0"' in anchors.read_text()
    assert 'id="role-' not in drawn
    large = tmp_path / "large.toml"
    large.write_text(by_rule(500))
    done = subprocess.run(
        [ROAMLAB, "draw", str(large), "-o", str(out)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "cannot be drawn" in done.stderr
    assert out.read_text() == drawn
