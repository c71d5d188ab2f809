"""Flows over a Linux kernel, and our model against it."""

from __future__ import annotations

import gzip
import json
import lzma
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

import kernel_repeats
import roamlab as rl
from conftest import COMMAND, ROOT
from roamlab.against import comparison, fates, phases, qdiscs, recordings
from roamlab.against.arrivals import PATTERNS
from roamlab.against.cases import cases
from roamlab.against.families import FAMILIES
from roamlab.against.handovers import PROTOCOLS, handovers
from roamlab.against.measures import Difference, Measures, difference
from roamlab.base.errors import BadInput
from roamlab.commands.about import check_against
from roamlab.kernel import build, cache
from roamlab.records.manifest import build_of, kernels_of

if TYPE_CHECKING:
    from collections.abc import Callable

needs_kernel = pytest.mark.skipif(
    cache.built(recordings.VERSION) is None, reason="no kernel: `roamlab kernel build` builds one"
)


def test_without_the_kernel_a_scenario_is_refused_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROAMLAB_KERNELS", str(tmp_path))
    (case,) = cases(1, "cubic")
    scenario = rl.Scenario.from_dict(case.scenario(kernel=True), name="case.toml")
    with pytest.raises(rl.ScenarioError, match=r"(?s)case\.toml:\d+.*flows\[0\]\.transport.*kernel build"):
        rl.run(scenario, 1)


def test_a_build_s_name_follows_all_that_it_depends_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = {
        cache.key("6.12", 1000, "a", "gcc 12"),
        cache.key("6.12", 250, "a", "gcc 12"),
        cache.key("6.12", 1000, "b", "gcc 12"),
        cache.key("6.12", 1000, "a", "gcc 13"),
    }
    for name in cache.SOURCES:
        (tmp_path / name).write_text((cache.HERE / name).read_text("utf-8"), "utf-8")
    monkeypatch.setattr(cache, "HERE", tmp_path)
    assert cache.key("6.12", 1000, "a", "gcc 12") in names
    (tmp_path / "agent.c").write_text("", "utf-8")
    names.add(cache.key("6.12", 1000, "a", "gcc 12"))
    assert len(names) == 5


def test_our_application_writes_as_much_in_a_call_as_the_process_in_the_kernel() -> None:
    ours = (ROOT / "crates/tcp/src/linux/send_buffer.rs").read_text("utf-8")
    theirs = (cache.HERE / "agent.c").read_text("utf-8")
    call = re.search(r"const CALL: u64 = ([\d_]+);", ours)
    zeros = re.search(r"char zeros\[(\d+)\]", theirs)
    assert call
    assert zeros
    assert int(call[1]) == int(zeros[1])


def test_a_run_s_origin_names_the_kernel_that_its_flows_are_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "6.12-1000-abc").mkdir()
    for name in cache.PROGRAMS:
        (tmp_path / "6.12-1000-abc" / name).touch()
    (tmp_path / "6.12").symlink_to("6.12-1000-abc")
    monkeypatch.setenv("ROAMLAB_KERNELS", str(tmp_path))
    (case,) = cases(1, "cubic")
    over, own = (rl.Scenario.from_dict(case.scenario(kernel=kernel), name="c") for kernel in (True, False))
    assert kernels_of(over.resolved) == ["6.12-1000-abc"]
    assert kernels_of(own.resolved) == []
    assert build_of(over.resolved) == f"{build_of(own.resolved)} 6.12-1000-abc"


def test_what_a_build_lacks_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build.shutil, "which", lambda tool: None if tool == "flex" else f"/usr/bin/{tool}")
    with pytest.raises(
        build.Missing, match=r"(?s)flex.*linux-source-0\.0.*apt-get install .*flex linux-source-0\.0"
    ):
        build.source_of("0.0")


def test_the_command_offers_the_families() -> None:
    (option,) = (one for one in check_against.command.params if one.name == "family")
    assert isinstance(option.type, click.Choice)
    assert list(option.type.choices) == list(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_recordings_read_back_as_they_were_written(family: str, tmp_path: Path) -> None:
    found = recordings.read(recordings.FILES[family])
    assert {case.control for case, _ in found.runs} == set(FAMILIES[family].controls)
    assert len(found.runs) == FAMILIES[family].recorded * len(FAMILIES[family].controls)
    recordings.write(found, tmp_path / "again.gz")
    assert recordings.read(tmp_path / "again.gz") == found


def test_our_model_is_as_near_to_the_recorded_kernel_as_the_page_says() -> None:
    """Every second case, so that it takes seconds; the bounds are a little below what all cases have."""
    found = recordings.read(recordings.FILES["links"])
    part = replace(found, runs=found.runs[::2])
    for summary in comparison.summarise(comparison.compare(part)):
        assert summary.within >= 0.9 * summary.cases, summary


def test_our_model_does_in_handovers_as_the_recorded_kernel() -> None:
    """Every second one. Both goodput and timeouts are equal in all but one of each control."""
    found = recordings.read(recordings.FILES["handovers"])
    part = replace(found, runs=found.runs[::2])
    for summary in comparison.summarise(comparison.compare(part)):
        assert summary.equal >= summary.cases - 1, summary


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_our_model_answers_marks_as_the_recorded_kernel(control: str) -> None:
    found = recordings.read(recordings.FILES["combinations"])
    marked = [row for row in found.runs if row[0].control == control and row[0].ecn]
    assert len(marked) >= 8
    (summary,) = comparison.summarise(comparison.compare(replace(found, runs=marked)))
    assert summary.equal >= summary.cases - 1, summary


def test_handovers_are_of_every_protocol_with_gaps_and_uploads() -> None:
    drawn = handovers(60, "cubic")
    assert {case.kind for case in drawn} == set(PROTOCOLS)
    assert min(case.gap_ms for case in drawn) == 20
    assert max(case.gap_ms for case in drawn) == 900
    assert 5 < sum(case.uploads for case in drawn) < 20
    for case in drawn[:4]:
        run = rl.run(rl.Scenario.from_dict(case.scenario(kernel=False), name="c"), 1)
        assert run.handovers["visit"].max() == 1


def test_a_difference_is_put_down_to_the_first_event_that_differs() -> None:
    def run(cwnd: list[float], events: list[tuple[int, str]], timeouts: int = 0) -> Measures:
        return Measures([1e6], [timeouts], [0], [0], [cwnd], [events])

    alike = difference(run([10, 20], []), run([10, 21], []))
    assert (alike.first_ms, alike.equal) == (None, True)
    grown = difference(run([10, 20], []), run([10, 30], []))
    assert (grown.first_ms, grown.cause) == (200, "growth before any loss")
    probed = difference(
        run([10, 10], [(50, "fast-retransmit"), (150, "tail-loss-probe")]),
        run([10, 1], [(50, "fast-retransmit"), (150, "timeout")], 1),
    )
    assert (probed.cause, probed.equal) == ("tail-loss-probe in the kernel, timeout here", False)


def test_a_scenario_is_chaotic_where_our_own_runs_lie_on_both_sides_of_the_kernel() -> None:
    def found(goodput: float, timeouts: int = 0) -> Difference:
        return Difference(goodput, timeouts, None, "")

    assert comparison.is_covered([found(0.03), found(-0.01)])
    assert not comparison.is_covered([found(0.03), found(0.005)]), "all are above the kernel"
    assert not comparison.is_covered([found(0.01), found(-0.005)]), "they differ too little"
    assert comparison.is_covered([found(0.0, 1), found(0.0, 0)])
    assert not comparison.is_covered([found(0.03, 1), found(-0.03, 1)]), "each has one timeout more"
    unknown, chaotic = found(0.03), replace(found(0.03), covered=True)
    assert [one.kind for one in (found(0.01), unknown, chaotic)] == ["equal", "unknown", "chaotic"]


def test_the_first_phase_of_bbr_is_found_by_our_own_packets() -> None:
    """One of our runs with a known phase in place of the kernel's."""
    case = next(case for case in cases(20, "bbr") if case.kind == "plain")
    for phase in (0, 4):
        assert phases.found_phases(case, phases.run_of(case, [(phase,)])) == [(phase,)]


def test_the_phase_is_found_with_which_probe_bw_begins_again() -> None:
    """Case 39 has a policer's rate for 48 rounds, from the first round of ProbeBW on."""
    case = cases(40, "bbr")[39]
    results = phases.run_of(case, [(5, 3)])
    sent = phases.packets_of(results)
    assert phases.found_phases(case, results)[0][1] == 3
    until = [
        phases.alike_until(sent, phases.packets_of(phases.run_of(case, [(5, later)]))) for later in (3, 4)
    ]
    assert until[0] == float("inf") > until[1]


def test_the_phase_is_found_if_a_packet_before_differs() -> None:
    case = next(case for case in cases(20, "bbr") if case.kind == "plain")
    ours = {phase: phases.packets_of(phases.run_of(case, [(phase,)])) for phase in phases.PHASES}
    (time, number, again), *others = ours[4]["f0", "a"]
    sent = {**ours[4], ("f0", "a"): [(time + 10**6, number, again), *others]}
    assert {phases.alike_until(sent, other) for other in ours.values()} == {time}
    assert min(phases.PHASES, key=lambda phase: phases.unlike(sent, ours[phase], time)) == 4


@needs_kernel
def test_a_kernel_s_counters_are_a_table() -> None:
    case = next(case for case in cases(20, "cubic") if case.kind == "loss")
    tables = case.scenario(kernel=True)
    tables["record"]["variables"] = True
    run = rl.run(rl.Scenario.from_dict(tables, name="case.toml"), 1)
    last = run.tcp_info.tail(1).to_dicts()[0]
    (flow,) = run.flows.to_dicts()
    assert 0 < last["retransmitted_pkts"] <= flow["retransmitted_pkts"]
    # Delivered bytes are received or, if reported, on their way to be.
    assert last["delivered_pkts"] == pytest.approx(
        flow["delivered_pkts"], abs=last["unacknowledged_pkts"] + 50
    )
    assert 0 < last["min_rtt_ns"] - 2 * case.delay_ms * 1_000_000 < 50_000_000


@needs_kernel
def test_the_kernel_does_what_is_recorded_of_it() -> None:
    built = cache.built(recordings.VERSION)
    for file in recordings.FILES.values():
        found = recordings.read(file)
        if built is None or built.name != found.kernel:
            pytest.skip(f"another kernel is built, not {found.kernel}")
        for case, measures in found.runs[::60]:
            assert recordings.recorded(case) == measures


@needs_kernel
def test_a_run_over_the_kernel_is_the_same_beside_busy_loops() -> None:
    """Two here; with `make deep` 20, and 20 of the extension with all checks."""
    assert kernel_repeats.differences(kernel_repeats.all_marks(2)) == [[], []]


def test_our_queues_do_with_each_packet_what_is_recorded_of_the_kernel_s() -> None:
    found = fates.read()
    assert found.packets * len(PATTERNS) >= 1_000_000
    for kind in found.origins:
        compared = list(fates.compare(found, kind, fates.ways_of(kind)[0]))
        assert [one.pattern for one in compared] == [pattern.name for pattern in PATTERNS]
        assert [one.pattern for one in compared if not one.identical] == [], kind
        assert sum(one.kernel.share(fates.DROPPED) for one in compared) > 1, kind


def test_the_rfc_s_codel_is_not_linux_s() -> None:
    shares = [one.same for one in fates.compare(fates.read(), "codel", "default")]
    assert 0.8 < sum(shares) / len(shares) < 0.9


def test_recorded_fates_read_back_as_they_were_written(tmp_path: Path) -> None:
    fates.write(fates.read(), tmp_path / "again.xz")
    assert (tmp_path / "again.xz").read_bytes() == fates.FILE.read_bytes()


@pytest.mark.skipif(
    not qdiscs.unpacked().is_dir(), reason="no kernel source is unpacked: `--queues --live` does it"
)
def test_the_kernel_s_queues_do_what_is_recorded_of_them() -> None:
    with qdiscs.Programs() as programs:
        assert fates.repeat(programs, fates.read(), ["codel", "pie"], 7) == 6


def test_a_killed_build_leaves_no_process_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build whose compiler is a shell with its own child, killed and interrupted."""
    monkeypatch.setenv("ROAMLAB_KERNELS", str(tmp_path / "kernels"))
    (tmp_path / "6.12.tar").write_bytes(b"x")
    program = f"""
import sys
from pathlib import Path
from roamlab.kernel import build
def built(place, tarball, hz, jobs, group, tell):
    (place / "linux").mkdir()
    (place / "linux/vmlinux.o").write_bytes(b"x" * 1000)
    for line in build._lines(["sh", "-c", "sleep 300 & echo $$ $!; wait"], group, place):
        print(line, flush=True)
build.source_of = lambda version: Path({str(tmp_path / "6.12.tar")!r})
build._build_in = built
build.build("6.12", 1000, 1, print)
"""
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as building:
            assert building.stdout is not None
            processes = [int(each) for each in building.stdout.readline().split()]
            assert len(processes) == 2
            assert [path.name[:9] for path in (tmp_path / "kernels").iterdir()] == [".roamlab-"]
            building.send_signal(number)
        limit = time.monotonic() + 20
        while time.monotonic() < limit and (
            any(_runs(each) for each in processes) or any((tmp_path / "kernels").iterdir())
        ):
            time.sleep(0.05)
        assert [each for each in processes if _runs(each)] == []
        assert list((tmp_path / "kernels").iterdir()) == []


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_a_build_without_power_left_is_deleted_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROAMLAB_KERNELS", str(tmp_path))
    monkeypatch.setattr(build, "source_of", lambda _: Path(__file__))
    (tmp_path / ".roamlab-0123456789abcdef/linux/arch").mkdir(parents=True)
    name = cache.key(
        "6.12", 1000, f"{Path(__file__).stat().st_size} {build.release('6.12')}", cache.compiler()
    )
    (tmp_path / name).mkdir()
    for file in cache.PROGRAMS:
        (tmp_path / name / file).touch()
    for _ in range(2):
        assert build.build("6.12", 1000, 1, lambda *_: None).name == name
        assert sorted(path.name for path in tmp_path.iterdir()) == ["6.12", name]
        assert cache.built("6.12") == tmp_path / name


def _over_kernel(tmp_path: Path, program: str) -> tuple[Path, dict[str, str]]:
    """A scenario over a kernel that is this program of the shell, and the environment in which it is found."""
    built, temporary = tmp_path / "kernels/6.12", tmp_path / "tmp"
    built.mkdir(parents=True)
    temporary.mkdir()
    for file in cache.PROGRAMS:
        (built / file).write_text("")
    (built / "linux").write_text(f"#!/bin/sh\n{program}\n")
    (built / "linux").chmod(0o755)
    (case,) = cases(1, "cubic")
    scenario = rl.Scenario.from_dict(case.scenario(kernel=True), name="case.toml")
    (tmp_path / "case.toml").write_text(scenario.text)
    places = {"ROAMLAB_KERNELS": str(built.parent), "TMPDIR": str(temporary)}
    return temporary, {**os.environ, **places}


def test_a_kernel_that_ends_in_its_boot_is_one_message_with_its_console(tmp_path: Path) -> None:
    temporary, environment = _over_kernel(tmp_path, "echo 'Kernel panic - not syncing'; exit 3")
    begin = time.monotonic()
    done = subprocess.run(
        [COMMAND, "run", "case.toml"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1, done.stderr
    assert "the kernel: it has ended (exit status: 3)" in done.stderr
    assert "Kernel panic - not syncing" in done.stderr
    assert time.monotonic() - begin < 25
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_kernel_that_hangs_in_its_boot_ends_with_an_interrupt(tmp_path: Path, number: int) -> None:
    """A kill leaves a folder, which the next start deletes."""
    temporary, environment = _over_kernel(tmp_path, "exec sleep 20")

    def start() -> subprocess.Popen[bytes]:
        running = subprocess.Popen(
            [COMMAND, "run", "case.toml"], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL
        )
        limit = time.monotonic() + 60
        while not list(temporary.glob("*/console")) and time.monotonic() < limit:
            time.sleep(0.02)
        return running

    running = start()
    (before,) = temporary.iterdir()
    running.send_signal(number)
    assert running.wait(timeout=10) == (130 if number == signal.SIGINT else -signal.SIGKILL)
    assert list(temporary.iterdir()) == ([] if number == signal.SIGINT else [before])
    if number == signal.SIGKILL:
        running = start()
        limit = time.monotonic() + 60
        while before.exists() and time.monotonic() < limit:
            time.sleep(0.02)
        assert not before.exists()
        running.send_signal(signal.SIGINT)
        running.wait(timeout=10)
        assert list(temporary.iterdir()) == []


def test_flows_that_want_different_settings_of_a_host_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, environment = _over_kernel(tmp_path, "exit 1")
    monkeypatch.setenv("ROAMLAB_KERNELS", environment["ROAMLAB_KERNELS"])
    tables = rl.load(tmp_path / "case.toml").to_dict()
    first = tables["flows"][0]
    tables["flows"] = [
        {
            **first,
            "name": f"f{number}",
            "transport": {**first["transport"], "sysctls": {"ipv4.tcp_sack": str(number)}},
        }
        for number in range(2)
    ]
    scenario = rl.Scenario.from_dict(tables, name="case.toml")
    with pytest.raises(
        rl.ScenarioError, match=r'(?s)flows\[1\]\.transport\.sysctls.*is "1" here, and "0" for another'
    ):
        rl.run(scenario, 1)


@needs_kernel
def test_many_flows_with_a_setting_run() -> None:
    """95 flows with one setting each were more than a frame to the kernel, which never came."""
    (case,) = cases(1, "cubic")
    tables = case.scenario(kernel=True)
    first = tables["flows"][0]
    transport = {**first["transport"], "sysctls": {"ipv4.tcp_sack": "0"}}
    tables["run"]["duration"] = "200 ms"
    tables["flows"] = [{**first, "name": f"f{number}", "transport": transport} for number in range(95)]
    run = rl.run(rl.Scenario.from_dict(tables, name="case.toml"), 1)
    assert run.flows.height == 95


RUN: dict[str, Any] = {
    "number": 0,
    "control": "reno",
    "goodput_bps": [1e6],
    "timeouts": [0],
    "recoveries": [0],
    "retransmitted": [0],
    "cwnd": [[1.0] * recordings.STEPS],
    "events": [[[10, "timeout"]]],
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"goodput_bps": ["x"]}, "goodput_bps"),
        ({"goodput_bps": [math.nan]}, "goodput_bps"),
        ({"goodput_bps": [-1.0]}, "goodput_bps"),
        ({"goodput_bps": [1.0, 1.0]}, "goodput_bps"),
        ({"timeouts": "a"}, "timeouts"),
        ({"timeouts": [[1]]}, "timeouts"),
        ({"timeouts": [True]}, "timeouts"),
        ({"timeouts": [10**400]}, "timeouts"),
        ({"cwnd": None}, "cwnd"),
        ({"cwnd": {"a": 1}}, "cwnd"),
        ({"cwnd": [["a"] * recordings.STEPS]}, "cwnd"),
        ({"cwnd": [[1.0]]}, "cwnd"),
        ({"cwnd": [[1.0] * recordings.STEPS] * 5}, "cwnd"),
        ({"events": [[[10, "\x1b]0;x"]]]}, "events"),
        ({"events": [[["x", "timeout"]]]}, "events"),
        ({"first_phases": [1, 2]}, "first_phases"),
        ({"evil": 1}, "expected the fields"),
    ],
)
def test_a_recorded_run_of_another_shape_is_refused_with_its_line(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    path = tmp_path / "recorded"
    origin = {"kernel": "6.12", "family": "links", "seed": 1, "cases": {"reno": 1}}
    for run, wrong in ((RUN, False), (RUN | changes, True)):
        path.write_bytes(gzip.compress(f"{json.dumps(origin)}\n{json.dumps(run)}".encode()))
        if wrong:
            with pytest.raises(BadInput, match=rf"recorded:2: it cannot be read: .*{said}"):
                recordings.read(path)
        else:
            assert recordings.read(path).runs[0][1].timeouts == [0]


@pytest.mark.parametrize(
    "changes",
    [
        {"cases": {"reno": 10**15, "cubic": 1 - 10**15}},
        {"cases": {"reno": True}},
        {"cases": {"nobody": 1}},
        {"seed": []},
        {"seed": 10**400},
        {"kernel": 5},
        {"family": "nobody"},
    ],
)
def test_an_origin_that_would_draw_other_cases_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "recorded"
    origin = {"kernel": "6.12", "family": "links", "seed": 1, "cases": {"reno": 1}} | changes
    path.write_bytes(gzip.compress(f"{json.dumps(origin)}\n{json.dumps(RUN)}".encode()))
    with pytest.raises(BadInput, match="it cannot be read"):
        recordings.read(path)


@pytest.mark.parametrize("read", [recordings.read, fates.read])
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, read: Callable[[Path], object]) -> None:
    path = tmp_path / "recorded"
    origin = json.dumps({"kernel": "6.12", "family": "links", "seed": 1, "cases": {"reno": 10**9}})
    texts = [
        b"",
        b"[]",
        b"{}",
        b"7",
        b"\xff",
        b"[" * 100_000,
        origin.encode(),
        b'{"packets": "a", "runs": [1]}',
    ]
    contents = [b"", b"text", *(pack(text) for text in texts for pack in (gzip.compress, lzma.compress))]
    contents.append(gzip.compress(origin.encode() + b"\n{}")[:-9])
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(BadInput, match=r"recorded: .*\n  expected: .*\n  help: record .* with "):
            read(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(BadInput, match="not a regular file"):
        read(path)
