"""Flows over a Linux kernel, and our model against it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import kernel_repeats
import roamlab as rl
from conftest import ROOT
from roamlab.against import comparison, fates, phases, qdiscs, recordings
from roamlab.against.arrivals import PATTERNS
from roamlab.against.cases import CONTROLS, cases
from roamlab.against.measures import Difference, Measures, difference
from roamlab.kernel import build, cache
from roamlab.records.manifest import build_of, kernels_of

if TYPE_CHECKING:
    from pathlib import Path

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
    ours = (ROOT / "crates/transport/src/tcp/send_buffer.rs").read_text("utf-8")
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


def test_recordings_read_back_as_they_were_written(tmp_path: Path) -> None:
    found = recordings.read()
    assert {case.control for case, _ in found.runs} == set(CONTROLS)
    assert len(found.runs) >= 60
    recordings.write(found, tmp_path / "again.gz")
    assert recordings.read(tmp_path / "again.gz") == found


def test_our_model_is_as_near_to_the_recorded_kernel_as_the_page_says() -> None:
    """Every second case, so that it takes seconds; the bounds are a little below what all cases have."""
    found = recordings.read()
    part = recordings.Recordings(found.kernel, found.seed, found.runs[::2])
    for summary in comparison.summarise(comparison.compare(part)):
        assert summary.within >= LEAST_WITHIN[summary.control] * summary.cases, summary


LEAST_WITHIN = {"reno": 0.9, "cubic": 0.9, "bbr": 0.9}
"""Shares of runs with a goodput within 2 %."""


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
    assert not comparison.is_covered([found(0.01), found(-0.005)]), "they hardly differ"
    assert comparison.is_covered([found(0.0, 1), found(0.0, 0)])
    assert not comparison.is_covered([found(0.03, 1), found(-0.03, 1)]), "each has one timeout more"
    unknown, chaotic = found(0.03), replace(found(0.03), covered=True)
    assert [one.kind for one in (found(0.01), unknown, chaotic)] == ["equal", "unknown", "chaotic"]


def test_the_first_phase_of_bbr_is_found_by_our_own_packets() -> None:
    """A run of ours with a known phase in place of the kernel's."""
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
    # What is delivered is received or, if reported, on its way to be.
    assert last["delivered_pkts"] == pytest.approx(
        flow["delivered_pkts"], abs=last["unacknowledged_pkts"] + 50
    )
    assert 0 < last["min_rtt_ns"] - 2 * case.delay_ms * 1_000_000 < 50_000_000


@needs_kernel
def test_the_kernel_does_what_is_recorded_of_it() -> None:
    found = recordings.read()
    built = cache.built(recordings.VERSION)
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
