"""The ripple paper: its scenarios, its claims on hand-made runs, and the reproduction end to end with few runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from conftest import check_figures, reproduced
from hand_made import FakeResults, ns
from roamlab.papers.ripple import claims, evidence, experiments, explanations, measures
from roamlab.papers.ripple.experiments import DEFAULT, DELAYS_MS, MECHANISMS, TCPS, Interpretation
from roamlab.papers.ripple.handover import KINDS, median_handover
from roamlab.papers.ripple.measures import Run
from roamlab.papers.ripple.space import SPACE
from roamlab.papers.runs import Batch
from roamlab.running.run import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from roamlab.papers.ripple.evidence import Evidence
    from roamlab.statistics.claims import Claim

IDS = [
    f"ripple.{name}"
    for name in (
        "blocks",
        "fig3.high",
        "fig4.flat",
        "fig4.low",
        "low.same",
        "fig3.low",
        "dip",
        "dip.buffer",
        "fig5.order",
        "fig5.rise",
        "reno",
        "tahoe",
        "tahoe.window",
        "fewer",
        "proactive",
        "overlap",
    )
]


def _made(
    throughput: Callable[[str, str, int], float],
    timeouts: Callable[[str, str, int], int] = lambda *_: 0,
    interpretation: Interpretation = DEFAULT,
    window: Callable[[str, str, int], float] = lambda *_: 10.0,
) -> Evidence:
    """Five runs of each case, with a little noise that is the same in all; 1 Mbit/s without handovers."""
    cases = list(product(TCPS, MECHANISMS, DELAYS_MS))
    moved = {
        case: [
            Run(1e6 * throughput(*case) + noise, timeouts(*case), 0, 100.0, 0)
            for noise in (0, 10, 20, 30, 40)
        ]
        for case in cases
    }
    still = {tcp: [Run(1e6, 0, 0, 100.0, 0)] * 5 for tcp in TCPS}
    wide = {case: [window(*case)] * 5 for case in cases if case[0] in evidence.WINDOW_TCPS and case[2] > 0}
    return evidence.Evidence(interpretation, still, moved, windows=wide)


_FIXED = Interpretation(lead_ms=100, detection_ms=50, reactive_ms=50)
"""Single values of what each run draws."""


def _decided(found: Evidence) -> dict[str, Claim]:
    return {claim.id: claim for claim in claims.read(found)}


def test_the_network_has_the_papers_counts() -> None:
    expanded = experiments.handovers("reno", "Buffer", -100).expanded()
    wired = {end for link in expanded["links"] for end in link["between"]}
    assert len(wired) == 12
    assert len(expanded["cells"]) == 21
    assert experiments.model().to_dict()["run"]["duration"] == f"{measures.SPAN_S:g} s"


@pytest.mark.parametrize("moves", experiments.MOVES)
def test_the_host_changes_cells_twenty_times(moves: str) -> None:
    (host,) = experiments.handovers("reno", "Buffer", -500, Interpretation(moves=moves)).expanded()["hosts"]
    cells = [int(visit["cell"].removeprefix("an-bs-")) for visit in host["visits"]]
    assert len(cells) == experiments.HANDOVERS + 1
    routers = [cell // 3 for cell in cells]
    within = sum(before == after for before, after in pairwise(routers))
    expected = {"to the next base station": 14, "within one access router": 20}
    assert within == expected.get(moves, 0)
    assert all(abs(after - before) <= 1 for before, after in pairwise(routers))


def test_random_times_are_others_in_each_run_and_the_same_again() -> None:
    first, second = (experiments.handovers("reno", "Buffer", 0, DEFAULT, run).text for run in (0, 1))
    assert first != second
    experiments.handovers.cache_clear()
    assert experiments.handovers("reno", "Buffer", 0, DEFAULT, 0).text == first
    turns = [experiments.turns_ns(DEFAULT, run) for run in (0, 1)]
    for of_run in turns:
        assert len(of_run) == experiments.HANDOVERS
        assert all(after - before > experiments.DWELL_NS / 2 for before, after in pairwise(of_run))
    assert turns[0] != turns[1]
    assert all(
        at % experiments.DWELL_NS == 0 for at in experiments.turns_ns(Interpretation(moves="evenly"), 0)
    )


def test_runs_at_random_times_differ_in_their_starts_too(tmp_path: Path) -> None:
    batch = Batch()
    found = evidence.of_cases(batch, DEFAULT, 2, [("reno", "noBuffer", -100)])
    asked = sorted((job.run, job.scenario.text) for job in batch._wanted)
    assert [run for run, _ in asked] == [0, 0, 1, 1], "as the runs without handovers"
    assert list(found.moved) == [("reno", "noBuffer", -100)]


def test_every_value_of_an_axis_changes_a_scenario() -> None:
    def texts(interpretation: Interpretation) -> tuple[str, ...]:
        full = [
            experiments.handovers("reno", way, delay, interpretation).text
            for way in MECHANISMS
            for delay in (-100, 100)
        ]
        return (*full, interpretation.normalised_by)

    settings = [
        tuple(value if at == place else 0 for at in range(len(SPACE.axes)))
        for place, axis in enumerate(SPACE.axes)
        for value in range(1, len(axis.values))
    ]
    assert len({texts(SPACE.interpretation(setting)) for setting in settings} - {texts(DEFAULT)}) == len(
        settings
    )
    assert SPACE.interpretation((0,) * len(SPACE.axes)) == DEFAULT


def test_the_space_contains_the_set_up_that_gives_figure_3() -> None:
    """Measured by independent scripts of ns-2: Buffer is worst where candidates are filled all the time."""
    wanted = Interpretation(trigger="no-path", drop="newest")
    at = tuple(
        next(place for place, value in enumerate(axis.values) if value.value == getattr(wanted, axis.field))
        for axis in SPACE.axes
    )
    assert SPACE.interpretation(at) == wanted


def test_layer_3_is_late_apart_for_proactive_and_reactive_mechanisms() -> None:
    interpretation = Interpretation(detection_ms=20, reactive_ms=300)
    delays = {way: experiments.mobility(way, interpretation)["detection"]["delay"] for way in MECHANISMS}
    assert delays == {"Buffer": "20 ms", "noBuffer": "20 ms", "biCast": "300 ms"}


def test_other_hosts_take_air() -> None:
    alone, beside = (
        measures.of_run(
            run(experiments.still("sack", Interpretation(others=others)).set("run.duration", "20 s"))
        )
        for others in (0, 1)
    )
    assert beside.throughput_bps < 0.9 * alone.throughput_bps


def test_a_buffer_spares_the_timeout_of_a_gap_and_sends_duplicates() -> None:
    slow = replace(_FIXED, min_rto_ms=1000, medium="dedicated", moves="to the next access router, evenly")
    kept, lost, twice = (
        measures.of_run(run(experiments.handovers("sack", way, -300, slow).set("run.duration", "20 s")))
        for way in MECHANISMS
    )
    assert kept.timeouts == 0
    assert min(lost.timeouts, twice.timeouts) >= 3
    assert kept.duplicates > lost.duplicates + 20
    assert kept.throughput_bps > 1.2 * lost.throughput_bps
    assert kept.finish_s > 19.9


def test_a_floor_below_the_gap_lets_the_timer_expire_before_the_buffer_is_emptied() -> None:
    slow, fast = (
        measures.of_run(
            run(
                experiments.handovers("newreno", "Buffer", -500, Interpretation(min_rto_ms=floor)).set(
                    "run.duration", "20 s"
                )
            )
        )
        for floor in (1000, 200)
    )
    assert slow.timeouts == 0
    assert fast.timeouts >= 4


@pytest.mark.parametrize("protocol", experiments.NAMED)
def test_named_protocols_lose_nothing_with_an_overlap(protocol: str) -> None:
    slow = Interpretation(min_rto_ms=1000)
    found = measures.of_run(run(experiments.named("sack", protocol, 100, slow).set("run.duration", "20 s")))
    assert found.timeouts == 0
    assert found.finish_s > 19.9


def test_the_air_may_be_802_11s() -> None:
    plain, contended = (
        measures.of_run(
            run(experiments.still("sack", Interpretation(medium=medium)).set("run.duration", "20 s"))
        )
        for medium in ("dedicated", "dcf")
    )
    # A segment's exchange takes 5.7 ms instead of 4.2, and each acknowledgement some 1.5 ms.
    assert 0.5 < contended.throughput_bps / plain.throughput_bps < 0.75


@pytest.fixture(scope="module")
def gathered(tmp_path_factory: pytest.TempPathFactory) -> explanations.Gathered:
    batch = Batch()
    found = explanations.gather(batch, runs=12)
    batch.make(tmp_path_factory.mktemp("store"), 2)
    return found


@pytest.mark.parametrize("effect", explanations.EFFECTS, ids=lambda effect: effect.name)
def test_an_effect_is_there_and_goes_with_its_cause(
    effect: explanations.Effect, gathered: explanations.Gathered
) -> None:
    found = {
        taken: float(np.mean(explanations.values(effect, effect.median_of, of)))
        for taken, of in gathered[effect.name].items()
    }
    assert found[""] > 0.03
    assert all(found[taken] < 0.4 * found[""] for taken in effect.without)
    if effect.interpretation.trigger != DEFAULT.trigger:
        assert found["default"] < found[""], "it is there under this interpretation"


_EVENLY = Interpretation(
    moves="to the next access router, evenly",
    medium="dedicated",
    detection_ms=0,
    reactive_ms=0,
    lead_ms=100,
)


def test_a_handover_in_detail() -> None:
    """The timeout adds to the gap of 100 ms: the acknowledgement that waited starts the timer again."""
    record = {"deliveries": True, "packets": True, "tcp": True, "queues": []}
    scenario = experiments.handovers("reno", "noBuffer", -100, _EVENLY)
    short = scenario.set("record", record).set("run.duration", f"{4 * experiments.DWELL_NS} ns")
    found = median_handover(run(short), "download", experiments.turns_ns(_EVENLY, 0)[:3], 0.2, 0.7)
    assert len(found.progress) == 3
    assert sorted(found.progress)[1] == found.progress[found.number - 1]
    assert tuple(found.points) == KINDS
    ((at, cut),) = found.cuts
    assert cut == "timeout"
    assert 0.3 < at < 0.4
    assert found.chains[0][-1].endswith("motion, host mh")
    assert "loss detached" in found.chains[0][1]
    again, lost = found.points["sent again"], found.points["lost"]
    assert again.times_s.min() == pytest.approx(at)
    assert again.numbers.min() in lost.numbers
    assert not found.points["arrives from a buffer"].numbers.size
    arrived = found.points["arrives directly"]
    assert not ((arrived.times_s > 0.01) & (arrived.times_s < 0.1)).any(), (
        "none in the gap, except packets in flight"
    )


def test_the_buffer_is_told_apart_from_the_way() -> None:
    record = {"deliveries": True, "packets": True, "tcp": True, "queues": []}
    scenario = experiments.handovers("reno", "Buffer", 200, _EVENLY).set("record", record)
    short = scenario.set("run.duration", f"{4 * experiments.DWELL_NS} ns")
    found = median_handover(run(short), "download", experiments.turns_ns(_EVENLY, 0)[:3], 0.2, 0.7)
    assert found.points["arrives from a buffer, again"].numbers.size > 10
    assert [cut for _, cut in found.cuts] == ["fast-retransmit"]
    assert found.cuts[0][0] > 0.2, "the late copies come alone once the overlap is over"


def test_what_the_paper_says_holds_where_it_is_so() -> None:
    """Hand-made runs in which every claim on an interpretation is true."""

    def throughput(tcp: str, way: str, delay: int) -> float:
        of_tcp = {"tahoe": 0.04, "reno": 0.0, "newreno": 0.045, "sack": 0.05}[tcp]
        if delay <= 0:
            of_way = {"noBuffer": 0.1, "biCast": 0.05, "Buffer": 0.0}[way] if delay <= -300 else 0.0
            of_way += 0.01 * (way == "Buffer" and delay >= -100)
            return 0.6 - 0.02 * (way == "noBuffer" and delay == -100) + of_way + of_tcp
        of_way = {"noBuffer": 0.01, "biCast": 0.0, "Buffer": 0.02 if delay <= 300 else -0.02}[way]
        of_tcp += 0.001 * (tcp == "tahoe") * delay / 100
        return 0.7 + of_way + of_tcp - 0.01 * abs(delay - 300) / 100

    def window(*case: Any) -> float:
        return 10 * throughput(*case)

    def timeouts(tcp: str, way: str, delay: int) -> int:
        if delay > 0:
            return 2 * (tcp == "tahoe")
        return 20 if way == "noBuffer" else (0 if way == "Buffer" else 18) + -delay // 100

    found = _decided(_made(throughput, timeouts, window=window))
    assert {name: claim.verdict for name, claim in found.items()} == dict.fromkeys(found, "holds")
    assert list(found) == IDS[1:]


def test_the_opposite_is_contradicted() -> None:
    """Buffer best at gaps, worst at short overlaps and best at long ones; timeouts only in overlaps; Reno above all."""

    def throughput(tcp: str, way: str, delay: int) -> float:
        of_way = 0.15 * (way == "Buffer") - 0.1 * (way == "noBuffer")
        of_way = of_way if delay <= 0 or delay > 300 else -3 * of_way
        of_way -= 0.2 * (way == "Buffer" and delay == -100)
        falls = -0.1 if delay <= 0 else 0.1
        return 0.6 + 0.1 * (tcp == "reno") + of_way + falls * (abs(delay) / 500) - 0.3 * (0 < delay <= 300)

    def timeouts(tcp: str, way: str, delay: int) -> int:
        rises = 4 * (delay == -300) if way == "noBuffer" else -2 * (delay == -500)
        of_tcp = (tcp == "sack") * (delay > 0)
        more = 5 * (way == "biCast" and -100 <= delay <= 0)
        return 20 * (delay > 0) + of_tcp + 3 + rises + more + (way == "Buffer") * (delay >= -100)

    found = _decided(_made(throughput, timeouts, window=lambda tcp, *_: 8.0 - (tcp == "tahoe")))
    assert {name: claim.verdict for name, claim in found.items()} == dict.fromkeys(found, "contradicted")


def test_the_mean_window_is_weighted_by_time_and_limited_by_the_receiver() -> None:
    tcp = pl.DataFrame(
        {
            "time_ns": ns(0.0, 1.0, 2.0, 6.0),
            "flow": ["download", "other", "download", "download"],
            "cwnd": [4.0, 99.0, 30.0, 10.0],
        }
    )
    found = measures.mean_window(FakeResults(tcp=tcp), 20, 10.0)  # type: ignore[arg-type]
    assert found == pytest.approx((2 * 4 + 4 * 20 + 4 * 10) / 10)


def test_a_larger_window_is_the_reason_only_if_throughput_follows_it() -> None:
    def decided(follows: float) -> list[str]:
        def gain(tcp: str, _: str, delay: int) -> float:
            return (tcp == "tahoe") * (0.1 + follows * delay / 1e5)

        found = _made(
            lambda *case: 0.5 + gain(*case), window=lambda *case: 9 + (case[0] == "tahoe") * case[2] / 100
        )
        return [measure.verdict for measure in _decided(found)["ripple.tahoe.window"].measures]

    assert decided(1.0) == ["holds", "holds"]
    assert decided(-1.0) == ["holds", "contradicted"]
    assert decided(0.0) == ["holds", "undecided"], "the throughputs differ by the same everywhere"


def test_most_tcps_are_three_of_four() -> None:
    def dips(deep: int) -> Callable[[str, str, int], float]:
        return lambda tcp, _, delay: 0.8 - 0.1 * (delay == -100 and TCPS.index(tcp) < deep)

    verdicts = [_decided(_made(dips(deep)))["ripple.dip"].verdict for deep in (4, 3, 2)]
    assert verdicts[:2] == ["holds", "holds"]
    assert verdicts[2] != "holds"


def test_ties_that_the_set_up_forces_decide_nothing() -> None:
    """With noBuffer and biCast equal to the packet, and no timeout at all."""
    found = _decided(_made(lambda _, way, __: 0.5 + 0.1 * (way == "Buffer")))
    assert [measure.tied for measure in found["ripple.proactive"].measures] == [True, False]
    assert found["ripple.proactive"].verdict == "holds"
    assert found["ripple.fig4.low"].verdict == "undecided"
    assert all(measure.tied for measure in found["ripple.fig4.low"].measures)


def test_flat_is_about_long_gaps_alone() -> None:
    """Timeouts that fall below 300 ms only do not count."""

    def timeouts(_: str, way: str, delay: int) -> int:
        return 20 if way == "noBuffer" else (2 * (-delay // 100) if delay <= -300 else 0)

    def short(_: str, way: str, delay: int) -> int:
        return 20 if way == "noBuffer" else 6 * (delay <= -300)

    verdicts = [_decided(_made(lambda *_: 0.5, of))["ripple.fig4.flat"].verdict for of in (timeouts, short)]
    assert verdicts == ["holds", "undecided"]


def test_normalisation_by_a_maximum() -> None:
    """By the largest mean of the same TCP, or of all, on the side of the gap or of the overlap."""
    for by, reno in (("own maximum", 1.0), ("common maximum", 0.5)):
        found = _made(
            lambda tcp, _, delay: (0.5 if delay <= 0 else 0.8) / (1 + (tcp == "reno")),
            interpretation=Interpretation(normalised_by=by),
        )
        for delay in (-100, 100):
            assert claims.throughput(found, "reno", "Buffer", delay) == pytest.approx(reno, abs=1e-4)
            assert claims.throughput(found, "sack", "Buffer", delay) == pytest.approx(1.0, abs=1e-4)


def test_reproduction_end_to_end(tmp_path: Path, papers_store: Path) -> None:
    out = tmp_path / "ripple"
    found = reproduced("ripple", out, papers_store, runs=1)
    assert list(found) == IDS
    assert found["ripple.blocks"]["verdict"] == "holds"
    assert len(found["ripple.blocks"]["measures"]) == len(experiments.NAMED)
    drawn = [
        "fig3",
        "fig4",
        "fig5",
        "fig6",
        "rfc-throughput",
        "rfc-timeouts",
        "named-throughput",
        "named-timeouts",
    ]
    check_figures(out, [*drawn, *(f"why-{effect.name}" for effect in explanations.EFFECTS)])
    assert {table.name for table in (out / "tables").iterdir()} == {
        "points.csv",
        "peak.csv",
        "holm.csv",
        "printed.csv",
        "sentences.csv",
        "one-changed.csv",
        "named.csv",
        "explained.csv",
        "fit.csv",
        "causes.csv",
    }
