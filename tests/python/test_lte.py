"""The LTE paper: its measures on hand-made tables, its experiments with few runs, and the reproduction end to end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from conftest import check_figures, reproduced
from hand_made import FakeResults
from roamlab.papers.lte import claims, experiments, measures, model, modelfit
from roamlab.papers.runs import Batch
from roamlab.running.run import run

if TYPE_CHECKING:
    from pathlib import Path

IDS = [
    f"lte.{name}"
    for name in (
        "chart",
        "double",
        "model",
        "ecn",
        "mispredict",
        "fig8",
        "fig9",
        "fig11",
        "tab4",
        "fig12",
    )
]


def _tcp(*rows: tuple[float, str, str, str]) -> Any:
    return FakeResults(
        tcp=pl.DataFrame(
            {
                "time_ns": [round(row[0] * 1e9) for row in rows],
                "flow": [row[1] for row in rows],
                "event": [row[2] for row in rows],
                "timeout": [row[3] for row in rows],
            }
        )
    )


def test_the_worst_of_the_second_after_the_command_is_the_outcome() -> None:
    found = measures.congestion(
        _tcp(
            (2.29, "ref", "timeout", "genuine"),
            (2.4, "ref", "fast-retransmit", ""),
            (2.5, "ref", "window", ""),
            (2.6, "ref", "timeout", "spurious"),
            (2.7, "t1", "timeout", "genuine"),
            (2.9, "ref", "timeout", "genuine"),
            (3.31, "ref", "timeout", "genuine"),
        ),
        2.3,
    )
    assert (found.timeouts, found.spurious, found.halvings, found.outcome) == (2, 1, 1, "timeout")
    assert measures.congestion(_tcp((2.4, "ref", "ecn-reduction", "")), 2.3).outcome == "halving"
    assert measures.congestion(_tcp((2.4, "t1", "timeout", "genuine")), 2.3).outcome == "ideal"


def test_the_smoothed_round_trip_is_the_filter_of_rfc_2988() -> None:
    rng = np.random.default_rng(0)
    samples = rng.uniform(0.02, 0.2, 500)
    received = measures.Transfer(np.arange(500.0), samples, np.ones(500, dtype=np.bool_))
    expected = samples[0]
    for sample in samples[1:401]:
        expected = 0.875 * expected + 0.125 * sample
    assert received.smoothed(400.0) == pytest.approx(expected, rel=1e-9)
    assert received.smoothed(-1.0) == 0.0


def _signalling(late: str = "", missing: str = "") -> Any:
    """Fig. 2 with a message a millisecond, each received at once; `late` arrives only at the end."""
    names = [name for name, _ in measures.CHART if name != missing]
    return FakeResults(
        signalling=pl.DataFrame(
            {
                "host": ["ref"] * len(names),
                "message": names,
                "sent_ns": list(range(len(names))),
                "arrived_ns": [1000 if name == late else at for at, name in enumerate(names)],
            }
        )
    )


def test_the_chart_is_in_order_only_if_each_message_follows_its_cause() -> None:
    assert measures.chart_in_order(_signalling())
    assert not measures.chart_in_order(_signalling(missing="handover-confirm"))
    assert not measures.chart_in_order(_signalling(late="handover-request"))
    assert measures.chart_in_order(_signalling(late="ue-context-release")), "nothing follows it"


def test_every_reading_changes_the_scenario_it_is_about() -> None:
    def parameters(name: str) -> dict[str, Any]:
        return experiments.active_queue("standard", "red", experiments.READINGS[name]).parameters

    default = parameters("default")
    assert default["flows"][0]["transport"]["min_rto"] == "200 ms"
    assert parameters("RTO floor 1 s")["flows"][3]["transport"]["min_rto"] == "1 s"
    assert parameters("air link 12 Mbit/s")["cells"]["enb2"]["rate"] == "12 Mbit/s"
    assert parameters("round robin")["cells"]["enb1"]["scheduler"]["kind"] == "round-robin"
    red = parameters("RED in bytes")["cells"]["enb2"]["backhaul"]["queue"]
    assert (red["threshold_unit"], red["mean_packet"]) == ("bytes", "500 B")
    assert default["cells"]["enb2"]["backhaul"]["queue"]["threshold_unit"] == "packets"


def test_scenarios_have_the_mobiles_of_the_tables() -> None:
    scenario = experiments.active_queue("standard", "droptail")
    cells = [host["visits"][0]["cell"] for host in scenario.tables["hosts"]]
    assert (cells.count("enb1"), cells.count("enb2")) == (4, 3)
    assert scenario.parameters["flows"][6]["transport"]["window"] == "44 pkt"
    assert experiments.predicted(0.13).parameters["mobility"]["predictions"] == [
        {"host": "ref", "cell": "enb2", "at": "2170 ms"}
    ]


def test_at_the_peak_equation_3_takes_more_than_the_areas_of_figure_3() -> None:
    """One round trip is left there, in which a timed-out flow cannot lose k rounds of slow start."""
    most = experiments.WINDOW_PKTS
    printed, area = (model.delivered(most, most, reading) for reading in ("literal", "trajectory"))
    assert [float(value) for value in (printed.timeout, area.timeout, area.halving)] == [683, 716, 737]


def test_runs_below_half_the_window_are_outside_the_model() -> None:
    assert modelfit.predicted(22.5, "literal").ideal == 759
    with pytest.raises(ValueError, match="cwnd_ho"):
        modelfit.predicted(21.9, "literal")


def test_the_standard_procedure_follows_the_chart_and_delivers(tmp_path: Path) -> None:
    batch = Batch()
    runs = batch.each({"standard": (experiments.forwarding("standard"), 3)}, measures.handover)["standard"]
    batch.make(tmp_path, threads=2)
    assert all(found.in_order for found in runs)
    assert all(found.interval.cwnd_ho == experiments.WINDOW_PKTS for found in runs), (
        "alone in its cell nothing limits it"
    )
    assert all(0.03 < found.silence_s < 0.7 for found in runs)
    assert len({found.received for found in runs}) > 1, "starts are random"


def test_forwarded_packets_queue_twice() -> None:
    found = measures.forwarded(run(experiments.double_queuing(5)))
    assert 0 < found.packets == found.queued_twice
    assert found.round_trip_rise_s > 0.03
    assert found.waited_second_s > found.waited_first_s > 0.0


def test_marks_leave_tunnels_inwards_or_with_the_packet() -> None:
    able, unable = (
        measures.drops(run(experiments.active_queue("standard", "mark", ecn=ecn, seconds=3.6)))
        for ecn in (True, False)
    )
    assert able.answers > 0 == able.tunnel_drops
    assert unable.tunnel_drops > 0 == unable.answers
    proper = measures.drops(
        run(experiments.active_queue("standard", "mark, RFC 6040", ecn=False, seconds=3.6))
    )
    assert proper.tunnel_drops == 0 < proper.rate["r->enb2"], (
        "RFC 6040: the queue drops what cannot be marked"
    )


def test_a_wrong_prediction_silences_the_flow() -> None:
    def silence(lead_s: float | None) -> float:
        return measures.handover(run(experiments.predicted(lead_s, comes=False))).silence_s

    assert silence(None) < 0.02
    assert silence(0.13) > 0.25


def test_the_comparisons_of_figure_8_are_shares_of_the_runs() -> None:
    compared = claims._more_often("timeouts", 9, 1)
    assert compared.measured.effect == 0.9
    assert compared.verdict == "holds"
    assert compared.p is not None, "it takes part in Holm's correction"
    assert claims._more_often("none", 0, 0).verdict == "undecided"


def test_reproduction_end_to_end(tmp_path: Path) -> None:
    out = tmp_path / "lte"
    found = reproduced("lte", out)
    assert list(found) == IDS
    assert {len(claim["readings"]) for claim in list(found.values())[5:]} == {len(experiments.READINGS) - 1}
    assert found["lte.chart"]["verdict"] == "holds"
    check_figures(out, ("fig4", "fit", "fig8", "fig9", "fig10", "fig11", "fig12", "predictions"))
    assert "handover-command" in (out / "figures" / "fig2.svg").read_text()
    assert {table.stem for table in (out / "tables").iterdir()} == {
        "outcomes",
        "model",
        "table4",
        "table4-200",
        "fig12",
        "tunnels",
        "predictions",
        "double",
        "holm",
        "printed",
        "readings",
    }


def test_what_the_text_says_of_the_delay_of_the_air_is_that_of_runs(tmp_path: Path) -> None:
    batch = Batch()
    found = {
        air: batch.each(
            {
                scheme: (experiments.forwarding(scheme, 5, experiments.Reading(air_ms=air)), runs)
                for scheme in experiments.SCHEMES
            },
            partial(measures.handover, air_s=air / 1e3),
        )
        for air, runs in ((5, 20), (12, 20), (40, 60), (44, 20))
    }
    batch.make(tmp_path, threads=2)

    def spurious(air: int, scheme: experiments.Scheme = "standard") -> float:
        congestion = [handover.congestion for handover in found[air][scheme]]
        return sum(each.spurious for each in congestion) / sum(each.timeouts for each in congestion)

    def timed_out(air: int, scheme: experiments.Scheme) -> float:
        return float(np.mean([each.congestion.outcome == "timeout" for each in found[air][scheme]]))

    assert spurious(5) == 0.0
    assert spurious(40) == pytest.approx(0.5, abs=0.1)
    assert spurious(44) > 0.8
    assert timed_out(40, "fast") < timed_out(40, "standard"), "avoided in part"
    assert timed_out(5, "fast") > timed_out(5, "standard")
    assert sum(each.congestion.spurious for each in found[5]["predictive"]) == 0
    for air in (12, 40, 44):
        assert all(each.congestion.spurious for each in found[air]["predictive"]), "prediction brings its own"


def test_forwarded_packets_wait_twice_only_if_the_air_is_short() -> None:
    def first_wait_s(air_ms: int) -> float:
        delays = {f"cells.{cell}.delay": f"{air_ms} ms" for cell in ("enb1", "enb2")}
        return measures.forwarded(run(experiments.double_queuing(5).set_all(delays))).waited_first_s

    assert first_wait_s(5) > 0.015
    assert first_wait_s(20) < 0.005
    assert first_wait_s(44) < 0.001
