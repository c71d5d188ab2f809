"""The IPF paper: its plan and measures on hand-made tables, its parts in short runs, the reproduction with few."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from conftest import check_figures, reproduced
from hand_made import FakeResults, ns
from roamlab.papers.ipf import claims, claims_plan, evidence, experiments, figures, measures
from roamlab.papers.ipf.space import SPACE
from roamlab.papers.records import QueueTrace
from roamlab.papers.runs import Batch, of_run
from roamlab.records.results import rows_of
from roamlab.running.run import run
from roamlab.statistics.claims import greater
from roamlab.statistics.space import alone

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.scenarios.scenario import Scenario


IDS = ["alg", "arq", "police", *(f"fig{number}" for number in range(9, 18)), "period", "fair"]


def _trace(*points: tuple[float, float, float]) -> QueueTrace:
    """A queue from (time, packets, marked)."""
    times, packets, marked = (np.array(column) for column in zip(*points, strict=True))
    return QueueTrace(times, packets, np.zeros_like(times), np.zeros_like(times), marked)


def _short(scenario: Scenario, seconds: int) -> Scenario:
    return scenario.set("run.duration", f"{seconds} s")


def test_all_hosts_visit_together_unless_a_interpretation_spreads_them() -> None:
    stay = 200 / 11
    for of_host in evidence.visits():
        assert of_host == pytest.approx([stay * part for part in (1, 3, 5, 7, 9)])
    evenly = experiments.visits(5, 5, 200.0, None)
    assert all(leaves - comes == pytest.approx(stay) for mover in evenly for comes, leaves in mover.visits)
    comes = sorted(
        at for of_host in evidence.visits(experiments.Interpretation(gap="evenly apart")) for at in of_host
    )
    assert np.diff(comes) == pytest.approx(np.full(24, 2 * stay / 5))
    short, *_ = experiments.visits(5, 5, 200.0, stay=0.25)
    assert {round(leaves - comes, 6) for comes, leaves in short.visits} == {round(stay / 2, 6)}
    assert max(leaves for _, leaves in experiments.visits(8, 5, 200.0, stay=0.75)[-1].visits) < 200.0


def test_hosts_come_from_one_old_cell_or_each_from_its_own() -> None:
    def old_cells(interpretation: experiments.Interpretation) -> set[str]:
        hosts = experiments.handoffs(5, 5, "red", interpretation).to_dict()["hosts"]
        return {host["visits"][0]["cell"] for host in hosts if host["name"].startswith("mh")}

    assert old_cells(experiments.FIRST) == {"bs1"}
    own = replace(experiments.FIRST, old_cell="own")
    assert old_cells(own) == {"bs1", "bs1-2", "bs1-3", "bs1-4", "bs1-5"}
    one, five = (
        measures.point(run(_short(experiments.handoffs(5, 5, "red", interpretation), 30))).priority
        for interpretation in (experiments.FIRST, own)
    )
    assert one > 100 < five, "windows are forwarded from each"


def test_the_default_is_what_the_manuscript_and_its_sentences_allow() -> None:
    scenario = experiments.handoffs(5, 5, "red").parameters
    assert {flow["transport"]["min_rto"] for flow in scenario["flows"]} == {"1 s"}
    assert scenario["mobility"]["tb_mode"] == "uniform"
    assert scenario["cells"]["bs2"]["queue"]["gentle"] is False
    assert scenario["cells"]["bs2"]["queue"]["max_p"] == 0.02


def test_the_plan_of_fig_15_is_the_papers() -> None:
    uniform = experiments.planned(experiments.UNIFORM_S)
    assert [round(comes, 1) for comes, _ in uniform[1].visits] == [62.9, 148.6, 234.0]
    assert [mover.rtt_ms for mover in uniform] == [88, 90, 92, 94]
    assert len(experiments.GAPS_S) == 7
    hosts = experiments.plan(0.0, "red").to_dict()["hosts"]
    assert [host["name"] for host in hosts[-4:]] == ["mh1", "mh2", "mh3", "mh4"]
    assert [visit["cell"] for visit in hosts[-1]["visits"]] == [
        "bs1",
        "bs2",
        "bs1",
        "bs2",
        "bs1",
        "bs2",
        "bs1",
    ]


def test_round_trips_are_those_of_section_iv() -> None:
    scenario = experiments.arrival(2, "red")
    delays = {tuple(link["between"]): link["delay"] for link in scenario.to_dict()["links"]}
    assert delays["ch-r1", "fa2"] == "39000 us", "86 ms: twice 39 ms and 8 ms"
    assert delays["ch-r9", "fa2"] == "47000 us", "102 ms"
    assert delays["ch", "fa2"] == "40 ms", "88 ms"


def test_every_value_of_an_axis_changes_a_scenario() -> None:
    def texts(of_all: experiments.Interpretation) -> tuple[str, ...]:
        interpretation = of_run(of_all, 0)
        return tuple(
            scenario.text
            for kind in experiments.QUEUES
            for scenario in (
                experiments.arrival(2, kind, interpretation),
                experiments.handoffs(5, 5, kind, interpretation),
            )
        )

    settings = alone(SPACE.axes)
    of_measures = {"measured", "deviation"}
    changing = [
        setting
        for setting in settings
        if not any(at and axis.field in of_measures for at, axis in zip(setting, SPACE.axes, strict=True))
    ]
    assert len(settings) - len(changing) == 5, "what is measured in the default's runs"
    assert len({texts(SPACE.interpretation(setting)) for setting in changing}) == len(changing)

    def queue(kind: str, **changed: object) -> dict[str, object]:
        interpretation = replace(experiments.FIRST, **changed)  # type: ignore[arg-type]
        found: dict[str, object] = experiments.handoffs(5, 5, kind, interpretation).parameters["cells"][
            "bs2"
        ]["queue"]
        return found

    assert queue("red", gentle=True)["gentle"] is True
    assert queue("mred", average_on_priority=True)["average_on_priority"] is True
    assert queue("mred", np_idle="non-priority-empty")["np_idle"] == "non-priority-empty"
    assert queue("mred", forwarded_at_full="push-out")["forwarded_at_full"] == "push-out"
    assert queue("red", average_on_priority=True) == queue("red")
    shared = queue("red").keys() - {"kind"}
    assert {name: queue("red")[name] for name in shared} == {name: queue("mred")[name] for name in shared}, (
        "R10: RED is what M-RED is without priority packets"
    )


def test_a_jump_is_measured_from_the_handoff_on() -> None:
    trace = _trace((0.9, 500, 0), (1.0, 100, 0), (1.2, 164, 64), (1.4, 150, 20), (1.6, 300, 0))
    assert measures.jump(trace, 1.0) == 64
    assert measures.priority_time(trace, 1.0) == pytest.approx(0.4)
    assert measures.mean_length(trace, 1.0, 1.5) == pytest.approx((100 + 164) / 2)


def test_throughput_counts_segments_in_windows() -> None:
    times = np.array([0.1, 0.2, 1.5, 2.0])
    assert measures.throughput(times, 0.0, 2.0) == 3 * 4096 / 2
    assert measures.curve(times, np.array([0.0, 1.0, 2.0])) == pytest.approx((8.192, 4.096, 4.096))


def test_the_deviation_depends_on_the_window_and_is_taken_over_whole_windows() -> None:
    # From 290 s on: 100 segments in each even second and none in each odd one.
    times = np.concatenate([at + np.arange(100) / 100 for at in range(290, 300, 2)])
    assert measures.deviation(times, 290.0, 300.0, 1.0) == pytest.approx(50 * 4096)
    assert measures.deviation(times, 290.0, 300.0, 2.0) == 0.0
    assert measures.deviation(times, 290.0, 300.0, 4.0) == 0.0, "the last two seconds are no whole window"


def test_the_schedule_is_that_of_the_run_and_not_of_the_plan() -> None:
    followed = measures.schedule(run(_short(experiments.plan(2.0, "mred"), 60)))
    assert [host[0] for host in followed.arrivals_s] == pytest.approx([42.9, 44.9, 46.9, 48.9])
    waits = [host[0] - came[0] for host, came in zip(followed.bursts_s, followed.arrivals_s, strict=True)]
    assert min(waits) > 0.013, "registration and notification"
    assert max(waits) < 0.067, "and a beacon at most 50 ms later"
    late = experiments.plan(2.0, "mred").set("hosts.mh2.visits.1.at", "45.5 s")
    (off,) = {round(at - 44.9, 9) for at in measures.schedule(run(_short(late, 50))).arrivals_s[1]}
    assert off == 0.6


def test_fig_15_is_decided_by_what_the_hosts_did() -> None:
    def schedule(gap: float, late: float = 0.0, last_burst: float = 0.066) -> measures.Schedule:
        arrivals = [tuple(at + host * gap + late for at in experiments.PLAN_S) for host in range(4)]
        bursts = [tuple(at + 0.066 for at in times) for times in arrivals]
        bursts[3] = (*bursts[3][:2], arrivals[3][2] + last_burst)
        return measures.Schedule(tuple(arrivals), tuple(bursts))

    def verdict(**changes: float) -> str:
        gaps = experiments.GAPS_S
        return claims_plan.fig15({gap: [schedule(gap, **changes)] for gap in gaps}).verdict

    assert verdict() == "holds"
    assert verdict(late=0.6) == "contradicted"
    assert verdict(last_burst=-0.5) == "contradicted", "nothing is forwarded after the last visit"
    followed = schedule(20.0)
    fewer = measures.Schedule(followed.arrivals_s[:3], followed.bursts_s[:3])
    assert claims_plan.fig15({20.0: [fewer]}).verdict == "contradicted"


def test_priority_packets_are_in_neither_the_average_nor_its_samples() -> None:
    scenario = _short(experiments.handoffs(5, 5, "mred"), 30)
    found = evidence.average(run(scenario))
    assert found.priority_arrivals > 50
    assert found.ordinary_arrivals > 100
    assert (found.priority_changes, found.ordinary_errors) == (0, 0)
    sampled = scenario.set("cells.bs2.queue.average_on_priority", True)
    assert evidence.average(run(sampled)).priority_changes > 50


def test_an_average_over_all_packets_is_found_out() -> None:
    average = np.array([100.0, 100.0, 100.0 + 0.002 * (110 - 100), 100.0 + 0.002 * (100 - 100)])
    packets, marked = np.array([109.0, 110, 111, 112]), np.array([9.0, 10, 10, 10])
    trace = QueueTrace(np.arange(4.0), packets, average, np.zeros(4), marked)
    found = measures.average(trace)
    assert (found.priority_arrivals, found.priority_changes) == (1, 0)
    assert (found.ordinary_arrivals, found.ordinary_errors) == (2, 2)


def test_half_of_the_flows_back_off_together_for_as_long_as_their_cuts_are_recent() -> None:
    trip = measures.ROUND_TRIP_S
    assert trip == pytest.approx(0.088 + 300 * 4096 / 2e6)

    def period(*cuts: tuple[float, str]) -> float:
        times, flows = zip(*cuts, strict=True)
        tcp = pl.DataFrame({"time_ns": ns(*times), "flow": flows, "event": ["timeout"] * len(cuts)})
        flows = [f"resident{at}" for at in range(1, 5)]
        return measures.period(FakeResults(tcp=tcp), flows, [10.0, 40.0])  # type: ignore[arg-type]

    assert period((10.5, "resident1"), (10.8, "resident1")) == 0.0, "one flow of four, twice"
    assert period((10.5, "resident1"), (10.7, "resident2")) == pytest.approx((trip - 0.2) / 2)
    assert period((10.5, "resident1"), (10.5 + 1.1 * trip, "resident2")) == 0.0, "one after the other"
    assert period((10.5, "resident1"), (10.7, "moving1")) == 0.0, "another group"
    assert period((25.0, "resident1"), (25.1, "resident2")) == 0.0, "long after the handoff"


def test_a_connection_already_present_is_all_of_them_unless_a_interpretation_picks_one() -> None:
    of_residents = (10.0, 20.0, 60.0)
    picked = {
        which: claims_plan.chosen(experiments.Interpretation(measured=which), of_residents)
        for which in ("all", "first", "last")
    }
    assert picked == {"all": 30.0, "first": 10.0, "last": 60.0}


def test_the_deviation_over_cases_is_that_of_each_resident() -> None:
    # One resident gains over the cases what the other loses: their mean does not vary, each of them does.
    planned = {
        (gap, "red"): [measures.Planned((at * 1e3, -at * 1e3), ((0.0,), (0.0,)), (), 0, 0)]
        for at, gap in enumerate(experiments.GAPS_S)
    }
    sweep = evidence.Sweep(experiments.DEFAULT, {}, planned)
    assert claims_plan.deviations(sweep, "red") == [pytest.approx(np.std(range(7), ddof=1))]


def _decided(interpretation: experiments.Interpretation, store: Path, *ids: str) -> dict[str, claims.Claim]:
    """Claims on the standard case, from five runs."""
    batch = Batch()
    found = evidence.evidence(batch, interpretation, 5)
    batch.make(store, threads=2)
    point = claims._gain(found, "utilisation", lambda run: run.point.utilisation * 100, "%", greater())
    decided = {
        claim.id: claim for claim in (claims._fig9(found), claims._fig11(found), claims._period(found))
    }
    return {name: decided[f"ipf.{name}"] for name in ids} | {
        "gain": replace(decided["ipf.fig11"], measures=(point,))
    }


def test_the_gain_needs_hosts_that_come_together(tmp_path: Path) -> None:
    half = replace(experiments.DEFAULT, stay=0.5)
    together = _decided(half, tmp_path, "period")
    apart = _decided(replace(half, gap="1 s apart"), tmp_path, "period")
    assert together["gain"].verdict == together["period"].verdict == "holds"
    assert apart["gain"].verdict == apart["period"].verdict == "undecided"
    assert abs(apart["gain"].measures[0].measured.effect) < 0.05


def test_fig_11_holds_where_red_is_gentle(tmp_path: Path) -> None:
    gentle = _decided(experiments.Interpretation(gentle=True), tmp_path, "fig11")
    assert {measure.verdict for measure in gentle["fig11"].measures} == {"holds"}
    assert gentle["gain"].verdict == "holds"


def test_fig_9_holds_with_a_p_max_of_0_1_and_drops_of_1993(tmp_path: Path) -> None:
    interpretation = experiments.Interpretation(max_p=0.1, wait=False)
    assert _decided(interpretation, tmp_path, "fig9")["fig9"].verdict == "holds"


def test_one_run_is_drawn_though_its_interval_has_no_end(tmp_path: Path) -> None:
    runs = {queue: [measures.Point(share, 0, 0, 0, 0)] for queue, share in (("red", 0.98), ("mred", 0.99))}
    sweep = evidence.Sweep(experiments.DEFAULT, {(5, 7, queue): found for queue, found in runs.items()}, {})
    assert figures.utilisation(sweep, [(5, 7)], 1, tmp_path).svg.stat().st_size > 0


def test_without_marks_m_red_is_red_packet_for_packet() -> None:
    red, mred = (run(_short(experiments.unmarked(queue), 40)) for queue in ("red", "mred"))
    assert red.drops.height > 20, "RED has something to decide"
    prints = [measures.fingerprint(results) for results in (red, mred)]
    assert measures.differences(*prints) == 0
    other = measures.fingerprint(run(_short(experiments.unmarked("red"), 40), run=1))
    assert measures.differences(prints[0], other) == 3
    assert red.queue(experiments.AIR)["forwarded"].max() == 0


def test_with_marks_m_red_spares_what_red_would_drop() -> None:
    lost = {}
    for queue in ("red", "mred"):
        results = run(_short(experiments.handoffs(5, 5, queue, replace(experiments.FIRST, stay=0.5)), 60))
        assert (
            results.links.filter(pl.col("link").cast(pl.String) == experiments.AIR)["forwarded_pkts"].item()
            >= 300
        )
        samples = results.queue(experiments.AIR)
        assert samples["forwarded"].max() >= 32
        at_air = rows_of(results.drops, "place", experiments.AIR)
        lost[queue] = int(at_air["forwarded"].sum())
        reasons = set(at_air.filter(pl.col("forwarded"))["reason"].cast(pl.String))
        assert queue == "red" or reasons <= {"forwarded-overflow"}
    assert lost["mred"] < lost["red"]


def test_a_forwarded_window_raises_the_average_further_than_a_new_connection() -> None:
    new, forwarded = (measures.arrival(run(experiments.arrival(case, "red"))) for case in (1, 2))
    assert forwarded.peak_average > new.peak_average + 5


def test_layer_2_acknowledgement_spares_duplicates_and_fast_retransmits() -> None:
    on, off = (measures.transfer(run(experiments.transfer(ack))) for ack in (True, False))
    assert (on.duplicates, on.unnecessary) == (0, 0)
    assert on.released > 30
    assert off.duplicates > 3
    assert off.unnecessary >= 1


@pytest.mark.parametrize("policy", ["clear", "drop", "honour"])
def test_a_spoofed_mark_is_policed_where_it_enters(policy: str) -> None:
    found = measures.spoofed(run(_short(experiments.spoofed(policy), 10)))
    assert found.policed_elsewhere == 0
    assert (found.policed > 0) is (policy != "honour")
    assert (found.forwarded_on_air > 0) is (policy == "honour")
    assert (found.delivered > 0) is (policy != "drop")


def test_reproduction_end_to_end(tmp_path: Path, papers_store: Path) -> None:
    out = tmp_path / "ipf"
    found = reproduced("ipf", out, papers_store, runs=1)
    assert list(found) == [f"ipf.{name}" for name in IDS]
    assert found["ipf.alg"]["verdict_default"] == found["ipf.police"]["verdict"] == "holds"
    assert found["ipf.alg"]["depends_on"] == {"R1: priority arrivals are samples": "yes"}
    assert found["ipf.fig15"]["verdict"] == "holds"
    assert found["ipf.arq"]["verdict"] == "undecided", "one run is too few for its means"
    results = [claim for claim in found.values() if claim["kind"] == "result"]
    assert {claim["verdict"] for claim in results} == {"undecided"}, "one run is too few"
    assert [len(found[f"ipf.fig{number}"]["measures"]) for number in (12, 13)] == [6, 5]
    check_figures(out, [*(f"fig{number}" for number in range(9, 18)), "cases", "deviations"])
    names = ("utilisation", "standard", "cases", "deviations", "holm", "printed", "sentences", "one-changed")
    tables = {f"{name}.csv" for name in names}
    assert {table.name for table in (out / "tables").iterdir()} == tables


def test_shares_less_even_than_with_red_are_not_fair() -> None:
    def fair(mred: float) -> str:
        queues = {
            queue: [SimpleNamespace(fairness=of + run / 1e4) for run in range(5)]
            for queue, of in (("red", 0.9), ("mred", mred))
        }
        return claims._fair(evidence.Evidence(experiments.DEFAULT, {}, queues)).verdict  # type: ignore[arg-type]

    assert (fair(0.95), fair(0.9), fair(0.85)) == ("holds", "holds", "contradicted")
