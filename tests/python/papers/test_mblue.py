"""The MBLUE paper: its measures on hand-made tables, and the reproduction end to end with few runs."""

from __future__ import annotations

import signal
import subprocess
import time
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from conftest import COMMAND, check_figures, reproduced
from hand_made import FakeResults, ns
from roamlab.papers import mblue
from roamlab.papers.mblue import claims, evidence, experiments, measures
from roamlab.papers.records import QueueTrace, queue_trace
from roamlab.papers.runs import Batch
from roamlab.running.run import run

if TYPE_CHECKING:
    from pathlib import Path

IDS = [
    f"mblue.{name}"
    for name in (
        "eq1",
        "reorder",
        "perhost",
        "local",
        "fig11",
        "fig12",
        "fig13",
        "fig14",
        "fig15",
        "overall",
        "sync",
    )
]


def test_equation_1_gives_table_1() -> None:
    assert list(claims.FORMULAS.values()) == [63.0, 182.0, 88.0, 182.0, 122.0, 168.0]


def test_a_flow_cuts_once_within_a_second_of_the_handoff() -> None:
    tcp = pl.DataFrame(
        {
            "time_ns": ns(9.99, 10.1, 10.2, 10.3, 10.9, 11.01),
            "flow": ["moving", "resident1", "resident1", "resident2", "resident2", "resident3"],
            "event": ["timeout", "fast-retransmit", "timeout", "window", "timeout", "timeout"],
        }
    )
    assert measures.cutting_flows(FakeResults(tcp=tcp), 10.0) == 2  # type: ignore[arg-type]


def test_the_burst_ends_at_the_first_pause() -> None:
    times = [10.065, 10.066, 10.067, 10.09, 10.1]
    releases = pl.DataFrame({"time_ns": ns(*times), "forwarded": [True] * len(times)})
    found = FakeResults(releases=releases)
    assert measures.burst(found, 10.0) == 3  # type: ignore[arg-type]
    assert measures.forwarded(found, 10.0) == 5  # type: ignore[arg-type]


def test_flows_back_off_together_only_within_one_round_trip() -> None:
    trip = measures.FULL_RTT_S

    def together(*cuts: tuple[float, str]) -> int:
        times, flows = zip(*cuts, strict=True)
        tcp = pl.DataFrame({"time_ns": ns(*times), "flow": flows, "event": ["timeout"] * len(cuts)})
        # The engine's column knows the names of all flows.
        tcp = tcp.with_columns(pl.col("flow").cast(pl.Enum(experiments.FLOWS)))
        found = FakeResults(tcp=tcp)
        return measures.backing_off_together(found, experiments.FLOWS, 10.0)  # type: ignore[arg-type]

    assert together((11.0, "moving"), (11.0 + 0.9 * trip, "resident1"), (11.0 + 1.1 * trip, "resident2")) == 2
    assert together((11.0, "moving"), (11.1, "moving")) == 1
    assert together((9.9, "moving"), (10.1, "resident1"), (13.1, "resident2"), (13.2, "resident3")) == 1


def test_an_ack_that_asks_again_is_a_duplicate() -> None:
    asked = [1, 2, 2, 2, 3, 9, 9]
    rows = {
        "event": ["send"] * 7 + ["send", "drop"],
        "place": ["mh"] * 7 + ["ch", "mh"],
        "kind": ["ack"] * 7 + ["data", "ack"],
        "number": [*asked, 9, 9],
    }
    assert measures.duplicate_acks(FakeResults(packets=pl.DataFrame(rows))) == 3  # type: ignore[arg-type]


def _one(**changes: float) -> measures.OneHandoff:
    """A run in which the burst raises what it should."""
    usual: dict[str, float] = {field.name: 0 for field in fields(measures.OneHandoff)} | {
        "forwarded": 60,
        "overflows": 5,
        "cutting": 4,
        "peak_average": 70,
        "calm_average": 45,
        "peak_probability": 0.02,
        "calm_probability": 0.001,
        "probability_before": 0.01,
    }
    return measures.OneHandoff(**(usual | changes) | {"curve": ()})  # type: ignore[arg-type]


def _fig11(wide: int = 64, **changes: float) -> dict[str, str]:
    one = {
        queue: [
            _one(**({"forwarded_drops": 0 if queue == "mblue" else 3 + run} | changes)) for run in range(5)
        ]
        for queue in experiments.QUEUES
    }
    found = evidence.Evidence(experiments.DEFAULT, one, {}, [wide] * 5)
    return {measure.what: measure.verdict for measure in claims._fig11(found).measures}


def test_every_measure_of_fig_11_can_fail() -> None:
    assert set(_fig11().values()) == {"holds"}
    for changes, what, verdict in (
        ({"wide": 71}, "packets of the first burst, from a buffer of three windows", "contradicted"),
        ({"wide": 65}, "packets of the first burst, from a buffer of three windows", "undecided"),
        ({"forwarded": 71}, "packets forwarded within T_h", "contradicted"),
        ({"probability_before": 0.0}, "MBLUE: P_m at the handoff minus the lowest after it", "undecided"),
        ({"forwarded_drops": 3}, "forwarded packets lost, MBLUE minus RED", "undecided"),
        ({"overflows": 0}, "BLUE: packets lost to overflow", "undecided"),
        ({"calm_average": 71}, "RED: highest avg_q after the handoff minus that before", "contradicted"),
        ({"calm_probability": 0.03}, "RED: highest p_b after the handoff minus that before", "contradicted"),
        ({"cutting": 1}, "RED: flows that cut their windows within 1 s", "contradicted"),
    ):
        assert _fig11(**changes)[what] == verdict, what  # type: ignore[arg-type]


def _three(**changes: Any) -> measures.ThreeHandoffs:
    usual: dict[str, object] = {field.name: 0.0 for field in fields(measures.ThreeHandoffs)}
    usual |= dict.fromkeys(("drops", "cutting", "fall", "probability_before", "throughput_bps"), (0, 0, 0))
    return measures.ThreeHandoffs(**(usual | changes))  # type: ignore[arg-type]


def test_overall_fails_where_the_residents_starve() -> None:
    def overall(residents_bps: float) -> dict[str, str]:
        three = {
            "red": [
                _three(lost_moving=9 + n, lost_residents=9 + n, residents_bps=2e6, deviation=9 + n)
                for n in range(5)
            ],
            "mblue": [_three(goodput_bps=1e6, residents_bps=residents_bps + n) for n in range(5)],
        }
        found = evidence.Evidence(experiments.DEFAULT, {}, three, [])
        claim = claims._overall(found)
        return {measure.what: measure.verdict for measure in claim.measures} | {"verdict": claim.verdict}

    assert overall(1.1e6)["verdict"] == "holds"
    starved = overall(0.3e6)
    assert starved["goodput of all flows, MBLUE minus RED"] == starved["verdict"] == "contradicted"


@pytest.mark.parametrize("stable", claims.DEVIATIONS)
def test_the_queue_is_stable_by_what_the_interpretation_says(stable: str) -> None:
    """RED's queue deviates by 10 packets of 20, and by 5 in the visits. MBLUE differs in one value."""

    def measured(**changes: float) -> float:
        red = {"deviation": 10.0, "mean_queue": 20.0, "visit_deviation": 5.0}
        three = {
            "red": [_three(**red) for _ in range(5)],
            "mblue": [_three(**red | changes) for _ in range(5)],
        }
        interpretation = replace(experiments.DEFAULT, stable=stable)
        *_, measure = claims._overall(evidence.Evidence(interpretation, {}, three, [])).measures
        return measure.measured.effect

    found = [measured(deviation=9.0), measured(mean_queue=40.0), measured(visit_deviation=3.0)]
    expected = {
        "from the first handoff on": [-1.0, 0.0, 0.0],
        "the visits": [0.0, 0.0, -2.0],
        "relative": [-0.05, -0.25, 0.0],
    }
    assert found == pytest.approx(expected[stable])


def test_sync_is_about_handoffs_alone() -> None:
    """The cuts and the windows' correlation there, not residents that cut together seconds before."""

    def sync(cutting: int, correlation: float) -> str:
        one = {
            queue: [_one(cutting=3, correlation=0.4, together_calm=1) for _ in range(5)]
            for queue in experiments.QUEUES
        }
        one["mblue"] = [
            _one(cutting=cutting, correlation=correlation, together_calm=3 - 3 * correlation)
            for _ in range(5)
        ]
        return claims._sync(evidence.Evidence(experiments.DEFAULT, one, {}, [])).verdict

    assert sync(1, 0.2) == "holds"
    assert sync(1, 0.5) == sync(4, 0.2) == "contradicted"


def test_fig_13_is_about_flows_that_cut_together_from_the_second_handoff_on() -> None:
    def fig13(first_pkts: int = 5, first: int = 1, later: int = 3, calm: float = 20.0) -> dict[str, str]:
        def runs(**changes: Any) -> list[measures.ThreeHandoffs]:
            return [
                _three(drops=(first_pkts, 9 * first_pkts, 9 * first_pkts), calm_queue=calm, **changes)
            ] * 5

        three = {queue: runs(cutting=(first, later, later)) for queue in ("red", "blue")} | {"mblue": runs()}
        claim = claims._fig13(evidence.Evidence(experiments.DEFAULT, {}, three, []))
        return {measure.what: measure.verdict for measure in claim.measures if measure.verdict != "holds"}

    assert fig13() == {}
    assert set(fig13(first_pkts=17)) == {
        f"{queue}: packets lost at the first handoff" for queue in ("RED", "BLUE", "MBLUE")
    }
    assert set(fig13(first=4)) == {
        f"{queue}: flows that cut within 1 s of the first handoff minus of later ones"
        for queue in ("RED", "BLUE")
    }
    assert set(fig13(first=0, later=1)) == {
        f"{queue}: flows that cut within 1 s of the second and third handoff" for queue in ("RED", "BLUE")
    }
    assert fig13(calm=81.0) == {"MBLUE: mean queue between handoffs": "contradicted"}


def test_a_buffer_overtaken_only_at_the_switch_is_in_order() -> None:
    def reorder(among_themselves: int) -> str:
        detour = measures.Transfer(0, 0, 2, among_themselves, 2, 0)
        without = [measures.Transfer(0, 0, 50 + run, 0, 11 + run, 0) for run in range(5)]
        anatomy = evidence.Anatomy({}, {}, {"detour": [detour] * 5, "no detour": without}, {})
        return claims._reorder(anatomy).verdict

    assert reorder(0) == "holds"
    assert reorder(1) == "contradicted"


def test_what_fig_12_says_of_the_papers_axis_is_that_of_runs(tmp_path: Path) -> None:
    names = ("default", "nearest")
    interpretations = dict(zip(names, (experiments.DEFAULT, mblue._NEAREST), strict=True))
    batch = Batch()
    runs = {
        name: batch.each(
            {
                queue: (experiments.one_handoff(queue, interpretations[name]), 30)
                for queue in ("mblue", "red", "blue")
            },
            measures.one_handoff,
        )
        for name in names
    }
    batch.make(tmp_path, threads=2)
    found = {name: evidence.Evidence(interpretations[name], one, {}, []) for name, one in runs.items()}

    def after(name: str, queue: str) -> float:
        return float(np.mean([run.received_after for run in found[name].one[queue]]))

    assert after(names[0], "mblue") > 3 * claims.AXIS_PKTS
    assert min(after(names[0], queue) for queue in ("red", "blue")) > 1.4 * claims.AXIS_PKTS
    assert after(names[1], "mblue") < 0.5 * after(names[0], "mblue"), "nearer"
    assert min(after(names[1], queue) for queue in ("mblue", "red", "blue")) > 1.1 * claims.AXIS_PKTS, (
        "not there"
    )
    assert claims._fig12(found[names[0]]).verdict == "holds"
    assert claims._fig12(found[names[1]]).verdict != "holds"


def test_mblue_starves_the_residents_unless_the_freeze_time_is_a_round_trip(tmp_path: Path) -> None:
    batch = Batch()
    found = {
        freeze: evidence.evidence(batch, experiments.Interpretation(freeze_time=freeze), 12)
        for freeze in ("1 ms", "90 ms")
    }
    batch.make(tmp_path, threads=2)

    def residents(freeze: str, queue: str) -> float:
        return float(np.mean([run.residents_bps for run in found[freeze].three[queue]]))

    assert residents("1 ms", "mblue") < 0.7 * residents("1 ms", "red")
    assert residents("90 ms", "mblue") > 0.9 * residents("90 ms", "red")
    assert claims._fig14(found["1 ms"]).verdict != "holds"
    assert claims._fig14(found["90 ms"]).verdict == "holds"


def test_mean_and_spread_of_a_queue_are_weighted_by_time() -> None:
    trace = QueueTrace(
        np.array([0.0, 1.0, 4.0, 5.0]),
        np.array([10.0, 80.0, 40.0, 0.0]),
        np.zeros(4),
        np.zeros(4),
        np.zeros(4),
    )
    mean, deviation = trace.spread([(0.0, 10.0)])
    assert mean == pytest.approx((10 + 3 * 80 + 40) / 5)
    assert deviation == pytest.approx(np.sqrt(((10 - 58) ** 2 + 3 * (80 - 58) ** 2 + (40 - 58) ** 2) / 5))
    assert trace.spread([(0.0, 2.0), (4.0, 10.0)])[0] == pytest.approx(25)
    assert trace.spread([(6.0, 10.0)]) == (0.0, 0.0)


def test_windows_in_step_correlate_and_constant_ones_do_not() -> None:
    def windows(**cwnd: tuple[float, float]) -> pl.DataFrame:
        rows = [
            (flow, at, value)
            for flow, pair in cwnd.items()
            for at, value in zip((9.0, 11.0), pair, strict=True)
        ]
        return pl.DataFrame(
            {
                "flow": [row[0] for row in rows],
                "time_ns": ns(*(row[1] for row in rows)),
                "cwnd": [row[2] for row in rows],
            }
        )

    in_step = windows(moving=(8, 4), resident1=(20, 10), resident2=(6, 3), resident3=(50, 25))
    assert measures.window_correlation(FakeResults(tcp=in_step), 10.0) == pytest.approx(1.0)  # type: ignore[arg-type]
    one_moves = windows(moving=(8, 4), resident1=(99, 98), resident2=(6, 6), resident3=(50, 50))
    assert measures.window_correlation(FakeResults(tcp=one_moves), 10.0) == 0.0  # type: ignore[arg-type]


def test_a_interpretation_changes_the_scenario_it_is_about() -> None:
    default = experiments.one_handoff("mblue").parameters

    def changed(**fields: Any) -> dict[str, Any]:
        return experiments.one_handoff("mblue", experiments.Interpretation(**fields)).parameters

    assert changed(beacon="uniform")["mobility"]["tb_mode"] == "uniform" != default["mobility"]["tb_mode"]
    assert [link["delay"] for link in changed(rtt="88/90/92 ms")["links"][2:5]] == [
        "40 ms",
        "41 ms",
        "42 ms",
    ]
    assert {flow["app"]["start"] for flow in changed(early=True)["flows"]} == {"200 ms"}
    assert changed(min_rto="1 s")["flows"][0]["transport"]["min_rto"] == "1 s"
    assert changed(freeze_time="90 ms")["cells"]["bs2"]["queue"]["freeze_time"] == "90 ms"
    assert {cell["queue"]["kind"] for cell in changed(both=True)["cells"].values()} == {"mblue"}
    assert {cell["queue"]["kind"] for cell in default["cells"].values()} == {"mblue", "droptail"}

    def queue(kind: str, **interpretation: object) -> dict[str, object]:
        chosen = experiments.Interpretation(**interpretation)  # type: ignore[arg-type]
        found: dict[str, object] = experiments.one_handoff(kind, chosen).parameters["cells"]["bs2"]["queue"]
        return found

    assert queue("mblue", forwarded_at_full="push-out")["forwarded_at_full"] == "push-out"
    assert queue("blue", blue_random=True)["update_on_random_drop"] is True
    assert queue("blue", freeze_time="90 ms")["freeze_time"] == "90 ms"
    assert (queue("red", gentle=True)["gentle"], queue("red", max_p=0.1)["max_p"]) == (True, 0.1)
    short = experiments.three_handoffs("red", experiments.Interpretation(stay=0.25)).to_dict()["hosts"][0][
        "visits"
    ]
    assert [visit["at"] for visit in short[1:3]] == ["5714285714 ns", "8571428571 ns"]


def test_three_handoffs_alternate_between_the_cells() -> None:
    visits = experiments.three_handoffs("red").to_dict()["hosts"][0]["visits"]
    assert [visit["cell"] for visit in visits] == ["bs1", "bs2", "bs1", "bs2", "bs1", "bs2", "bs1"]


def test_mblue_raises_its_probability_only_at_its_threshold() -> None:
    results = run(experiments.three_handoffs("mblue", replace(experiments.FIRST, stay=0.5)))
    trace = queue_trace(results, measures.AIR)
    raised = np.diff(trace.probability, prepend=0.0) > 0.0
    waiting = np.concatenate([[0.0], trace.packets[:-1]])
    assert waiting[raised].min() >= experiments.THRESHOLD_PKTS
    measured = measures.three_handoffs(results)
    assert max(measured.probability_before) > 0.0
    assert 0.0 < measured.goodput_bps < 2e6
    assert measured.lost_moving + measured.lost_residents == sum(measured.drops) > 0


def test_reproduction_end_to_end(tmp_path: Path, papers_store: Path) -> None:
    out = tmp_path / "mblue"
    found = reproduced("mblue", out, papers_store)
    assert list(found) == IDS
    results = [claim for claim in found.values() if claim["kind"] == "result"]
    assert {claim["verdict"] for claim in results} == {"undecided"}, "two runs are too few"
    check_figures(out, ["fig11", "fig12", "fig13", "fig14", "fig15", "sync"])
    drawing = (out / "figures/signalling.svg").read_text()
    assert 'data-name="registration-request"' in drawing
    assert {table.name for table in (out / "tables").iterdir()} == {
        f"{name}.csv"
        for name in ("table1", "means", "sync", "fig12", "holm", "printed", "sentences", "one-changed", "fit")
    }


def test_interrupted_reproduction_leaves_nothing(tmp_path: Path) -> None:
    work = subprocess.Popen(
        [COMMAND, "reproduce", "mblue", "--out", str(tmp_path / "mblue")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.0)
    work.send_signal(signal.SIGINT)
    _, errors = work.communicate(timeout=60)
    assert work.returncode == 130, errors
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_others_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("do not lose me")
    done = subprocess.run(
        [COMMAND, "reproduce", "mblue", "--runs", "2", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--out" in done.stderr
    assert (tmp_path / "thesis.tex").read_text() == "do not lose me"
