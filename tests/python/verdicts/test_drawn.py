"""Quantities that each run draws from a range: the run's own value, in all its cases."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import pytest

from roamlab import papers
from roamlab.papers import sentences
from roamlab.papers.mblue import experiments, measures
from roamlab.papers.runs import Batch, Drawn, each_run, number, of_run
from roamlab.records.metrics import handover_times
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario
from roamlab.statistics.stats import LEAST


@dataclass(frozen=True)
class Interpretation:
    """Planted."""

    rate_mbps: float | Drawn = Drawn(4, 6)
    delay_ms: float | Drawn = Drawn(0, 100)
    queue: str = "droptail"

    def __str__(self) -> str:
        return f"rate {self.rate_mbps:g} Mbit/s, delay {self.delay_ms:g} ms, {self.queue}"


def test_each_run_has_its_own_value_and_all_its_cases_have_it() -> None:
    default = Interpretation()
    own = [of_run(default, at) for at in range(200)]
    rates = np.array([number(each.rate_mbps) for each in own])
    assert own == [of_run(default, at) for at in range(200)]
    assert len(set(rates)) > 190
    assert 4 <= rates.min() < 4.1 < 5.9 < rates.max() <= 6
    assert rates.mean() == pytest.approx(5, abs=0.15)
    red = [of_run(replace(default, queue="red"), at).rate_mbps for at in range(200)]
    assert red == rates.tolist(), "another choice changes no draw"
    same = replace(default, rate_mbps=Drawn(4, 6, "one"), delay_ms=Drawn(4, 6, "one"))
    assert of_run(same, 0).rate_mbps == of_run(same, 0).delay_ms != own[0].rate_mbps, (
        "two names of one quantity"
    )
    delays = [number(each.delay_ms) for each in own]
    assert abs(np.corrcoef(rates, delays)[0, 1]) < 0.2, "each quantity has its own stream"
    assert of_run(own[3], 5) == own[3], "nothing is left to draw"


def test_a_range_is_told_and_never_computed_with() -> None:
    assert str(Interpretation()) == "rate 4 to 6 (drawn) Mbit/s, delay 0 to 100 (drawn) ms, droptail"
    assert "drawn" not in str(of_run(Interpretation(), 0))
    with pytest.raises(TypeError, match=r"4 to 6 \(drawn\): each run has its own value"):
        number(Interpretation().rate_mbps)
    with pytest.raises(ValueError, match="no range: 6 to 6"):
        Drawn(6, 6)
    assert sentences.value_text({"drawn": [0.25, 0.75]}) == "0.25 to 0.75 (drawn)"
    assert sentences.plain(Drawn(4, 6)) == {"drawn": [4, 6]}


def test_an_experiment_of_a_range_is_made_for_each_run() -> None:
    def experiment(interpretation: Interpretation) -> Scenario:
        return Scenario(f'[run]\nduration = "{number(interpretation.rate_mbps)} s"\n')

    drawn = each_run(experiment, Interpretation())
    assert callable(drawn)
    assert drawn(0) == drawn(0) == experiment(of_run(Interpretation(), 0)) != drawn(1)
    fixed = Interpretation(rate_mbps=5, delay_ms=50)
    assert each_run(experiment, fixed) == experiment(fixed)


@pytest.mark.parametrize("name", papers.names())
def test_the_runs_of_a_paper_differ_in_what_it_does_not_print(name: str) -> None:
    """The default has a range, its single values are on the axis too, and each run has its own scenario."""
    space = papers.space(name)
    ranges = [axis for axis in space.axes if isinstance(axis.values[0].value, Drawn)]
    assert ranges
    for axis in ranges:
        drawn = axis.values[0].value
        others = [value.value for value in axis.values[1:] if isinstance(value.value, int | float)]
        assert any(drawn.low <= value <= drawn.high for value in others), axis.field
        assert f"{drawn:g}" in str(space.default), "the report has it"
    batch = Batch()
    space.ask(batch, space.default, range(LEAST))
    scenarios = [{job.scenario.text for job in batch._wanted if job.run == at} for at in range(LEAST)]
    assert all(scenarios[0] - others for others in scenarios[1:])
    left = {
        field.name for field in fields(space.default) if isinstance(getattr(space.default, field.name), Drawn)
    }
    assert left == {axis.field for axis in ranges}, "each is an axis"


def test_a_measure_takes_the_visits_of_its_own_run() -> None:
    """The mean queue between handoffs and in visits is that of the times at which the host was there."""
    short, long = (replace(experiments.FIRST, stay=stay) for stay in (0.25, 0.75))
    results = {own: run(experiments.three_handoffs("red", own)) for own in (short, long)}
    for own, of in results.items():
        times = handover_times(of, "mh")
        assert times[::2] == pytest.approx(experiments.VISITS_S, abs=1e-6)
        assert times[1::2] == pytest.approx(experiments.returns(own), abs=1e-6)
    found = {own: measures.three_handoffs(of) for own, of in results.items()}
    assert found[short].visit_deviation != found[long].visit_deviation
    assert experiments.DEFAULT.stay == Drawn(0.25, 0.75)
