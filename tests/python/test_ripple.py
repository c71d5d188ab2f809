"""The ripple paper: its scenarios, its claims on hand-made runs, and the reproduction end to end with few runs."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING

import pytest

from conftest import check_figures, reproduced
from roamlab.papers.ripple import claims, evidence, experiments, explanations, measures
from roamlab.papers.ripple.experiments import DEFAULT, DELAYS_MS, MECHANISMS, TCPS, Reading
from roamlab.papers.ripple.handover import KINDS, median_handover
from roamlab.papers.ripple.measures import Run
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
        "fig3.low",
        "dip",
        "fig5.order",
        "fig5.rise",
        "reno",
        "tahoe",
        "fewer",
        "proactive",
    )
]


def _made(
    throughput: Callable[[str, str, int], float],
    timeouts: Callable[[str, str, int], int] = lambda *_: 0,
    reading: Reading = DEFAULT,
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
    return evidence.Evidence(reading, still, (moved,))


def _decided(found: Evidence) -> dict[str, Claim]:
    return {claim.id: claim for claim in claims.read({"default": found})}


def test_the_network_has_the_papers_counts() -> None:
    expanded = experiments.handovers("reno", "Buffer", -100).expanded()
    wired = {end for link in expanded["links"] for end in link["between"]}
    assert len(wired) == 12
    assert len(expanded["cells"]) == 21
    assert experiments.model().tables["run"]["duration"] == f"{measures.SPAN_S} s"


@pytest.mark.parametrize("moves", experiments.MOVES)
def test_the_host_changes_cells_twenty_times(moves: str) -> None:
    (host,) = experiments.handovers("reno", "Buffer", -500, Reading(moves=moves)).expanded()["hosts"]
    cells = [int(visit["cell"].removeprefix("an-bs-")) for visit in host["visits"]]
    assert len(cells) == experiments.HANDOVERS + 1
    routers = [cell // 3 for cell in cells]
    within = sum(before == after for before, after in pairwise(routers))
    expected = {"to the next base station": 14, "within one access router": 20}
    assert within == expected.get(moves, 0)
    assert all(abs(after - before) <= 1 for before, after in pairwise(routers))


def test_random_times_are_others_in_each_run_and_the_same_again() -> None:
    reading = Reading(moves=experiments.RANDOM_TIMES)
    first, second = (experiments.handovers("reno", "Buffer", 0, reading, run).text for run in (0, 1))
    assert first != second
    experiments.handovers.cache_clear()
    assert experiments.handovers("reno", "Buffer", 0, reading, 0).text == first


def test_every_reading_changes_the_scenarios_it_is_about() -> None:
    texts = {
        tuple(
            experiments.handovers("reno", way, delay, reading).text
            for way in MECHANISMS
            for delay in (-100, 100)
        )
        for reading in experiments.READINGS.values()
    }
    assert len(texts) == len(experiments.READINGS) - 1, "normalisation alone is not about scenarios"
    pairs = experiments.pairs()
    assert all(len(experiments.changed(reading)) >= 2 for reading in pairs.values())
    assert "lead 0 + lead 300 ms" not in pairs
    both = pairs["buffer 20, drops newest + RTO floor 200 ms"]
    assert (both.buffer_pkts, both.drop, both.min_rto_ms) == (20, "newest", 200)


def test_a_buffer_spares_the_timeout_of_a_gap_and_sends_duplicates() -> None:
    kept, lost, twice = (
        measures.of_run(run(experiments.handovers("sack", way, -300).set("run.duration", "20 s")))
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
                experiments.handovers("newreno", "Buffer", -500, Reading(min_rto_ms=floor)).set(
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
    found = measures.of_run(run(experiments.named("sack", protocol, 100).set("run.duration", "20 s")))
    assert found.timeouts == 0
    assert found.finish_s > 19.9


def test_the_air_may_be_802_11s() -> None:
    plain, contended = (
        measures.of_run(run(experiments.still("sack", Reading(medium=medium)).set("run.duration", "20 s")))
        for medium in ("dedicated", "dcf")
    )
    # A segment's exchange takes 5.7 ms instead of 4.2, and each acknowledgement some 1.5 ms.
    assert 0.5 < contended.throughput_bps / plain.throughput_bps < 0.75


@pytest.fixture(scope="module")
def gathered(tmp_path_factory: pytest.TempPathFactory) -> explanations.Gathered:
    batch = Batch()
    found = explanations.gather(batch, runs=5)
    batch.make(tmp_path_factory.mktemp("store"), 2)
    return found


@pytest.mark.parametrize("effect", explanations.EFFECTS, ids=lambda effect: effect.name)
def test_an_effect_is_there_and_goes_with_its_cause(
    effect: explanations.Effect, gathered: explanations.Gathered
) -> None:
    found = {
        taken: float(explanations.values(effect, effect.median_of, of)[0])
        for taken, of in gathered[effect.name].items()
    }
    assert found[""] > 0.03
    assert all(found[taken] < 0.4 * found[""] for taken in effect.without)
    if effect.reading != "default":
        assert found["default"] < 0, "it is there under this reading only"


def test_a_handover_in_detail() -> None:
    """The timeout adds to the gap of 100 ms: the acknowledgement that waited starts the timer anew."""
    record = {"deliveries": True, "packets": True, "tcp": True, "queues": []}
    scenario = experiments.handovers("reno", "noBuffer", -100, Reading(min_rto_ms=200))
    short = scenario.set("record", record).set("run.duration", f"{4 * experiments.DWELL_NS} ns")
    found = median_handover(run(short), "download", experiments.DWELL_NS, 3, 0.2, 0.7)
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
        "none in the gap, but for what was in flight"
    )


def test_the_buffer_is_told_apart_from_the_way() -> None:
    record = {"deliveries": True, "packets": True, "tcp": True, "queues": []}
    scenario = experiments.handovers("reno", "Buffer", 200).set("record", record)
    short = scenario.set("run.duration", f"{4 * experiments.DWELL_NS} ns")
    found = median_handover(run(short), "download", experiments.DWELL_NS, 3, 0.2, 0.7)
    assert found.points["arrives from a buffer, again"].numbers.size > 10
    assert [cut for _, cut in found.cuts] == ["fast-retransmit"]
    assert found.cuts[0][0] > 0.2, "the late copies come alone once the overlap is over"


def test_what_the_paper_says_holds_where_it_is_so() -> None:
    """Hand-made runs in which every claim on a reading is true."""

    def throughput(tcp: str, way: str, delay: int) -> float:
        of_tcp = {"tahoe": 0.04, "reno": 0.0, "newreno": 0.045, "sack": 0.05}[tcp]
        if delay <= 0:
            of_way = {"noBuffer": 0.1, "biCast": 0.05, "Buffer": 0.0}[way] if delay <= -300 else 0.0
            of_way += 0.01 * (way == "Buffer" and delay >= -100)
            return 0.6 - 0.02 * (way == "noBuffer" and delay == -100) + of_way + of_tcp
        of_way = {"noBuffer": 0.01, "biCast": 0.0, "Buffer": 0.02}[way]
        return 0.7 + of_way + of_tcp - 0.01 * abs(delay - 300) / 100

    def timeouts(tcp: str, way: str, delay: int) -> int:
        if delay > 0:
            return 2 * (tcp == "tahoe")
        return 20 if way == "noBuffer" else (0 if way == "Buffer" else 18) + -delay // 100

    found = _decided(_made(throughput, timeouts))
    assert {name: claim.verdict for name, claim in found.items()} == dict.fromkeys(found, "holds")
    assert list(found) == IDS[1:]


def test_the_opposite_is_contradicted() -> None:
    """Buffer best at gaps and worst at overlaps, timeouts only in overlaps, Reno above all."""

    def throughput(tcp: str, way: str, delay: int) -> float:
        of_way = 0.15 * (way == "Buffer") - 0.1 * (way == "noBuffer")
        return 0.6 + 0.1 * (tcp == "reno") + (of_way if delay <= 0 else -of_way) + 0.1 * (abs(delay) / 500)

    found = _decided(_made(throughput, lambda *case: 20 * (case[2] > 0) + 4 * (case[2] == -500)))
    assert {name: claim.verdict for name, claim in found.items()} == dict.fromkeys(found, "contradicted")


def test_normalisation_by_the_maximum_is_by_the_largest_mean_of_its_side() -> None:
    found = _made(lambda *case: 0.5 if case[2] <= 0 else 0.8, reading=Reading(normalised_by="maximum"))
    assert claims.throughput(found, "reno", "Buffer", -100) == pytest.approx(1.0, abs=1e-4)
    assert claims.throughput(found, "reno", "Buffer", 100) == pytest.approx(1.0, abs=1e-4)


def test_reproduction_end_to_end(tmp_path: Path) -> None:
    out = tmp_path / "ripple"
    found = reproduced("ripple", out)
    assert list(found) == IDS
    assert found["ripple.blocks"]["verdict"] == "holds"
    assert len(found["ripple.blocks"]["measures"]) == len(experiments.NAMED)
    assert {len(found[name]["readings"]) for name in IDS[1:]} == {len(experiments.READINGS)}
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
        "named.csv",
        "by-reading.csv",
        "readings.csv",
        "explained.csv",
        "causes.csv",
    }
