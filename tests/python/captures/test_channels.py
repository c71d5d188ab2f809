"""Channels that are fitted to rates: chains that are known, recorded drives, and files that are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import tomli

import roamlab as rl
from capture_files import called
from conftest import ROOT
from roamlab.base.errors import BadInput
from roamlab.scenarios.changes import inline_toml
from roamlab.statistics.channels import Chain, fitted, judged
from roamlab.traces.steps import read

if TYPE_CHECKING:
    from pathlib import Path

_TWO = Chain(
    0.5,
    np.array([np.linspace(1.0, 2.0, 9), np.linspace(18.0, 22.0, 9)]),
    np.array([[0.9, 0.1], [0.05, 0.95]]),
)


def test_a_known_chain_is_found_again() -> None:
    rates = _TWO.drawn(20_000, np.random.default_rng(2))
    found = fitted([rates], 0.5, 2)
    assert found.next == pytest.approx(_TWO.next, abs=0.01)
    assert found.rates.mean(axis=1) == pytest.approx([1.5, 20.0], rel=0.02)
    assert found.mean() == pytest.approx(rates.mean(), rel=0.02)
    assert _TWO.shares() == pytest.approx([1 / 3, 2 / 3])


def test_a_chain_of_one_half_has_the_traits_of_the_other() -> None:
    found = judged(_TWO.drawn(20_000, np.random.default_rng(3)), 0.5, None)
    assert found.chain.mean == pytest.approx(found.second.mean, rel=0.05)
    assert found.chain.correlation == pytest.approx(found.second.correlation, abs=0.05)
    assert found.chain.low_length == pytest.approx(found.second.low_length, rel=0.1)
    # A period in the slow state has 1 / 0.1 steps.
    assert found.second.low_length == pytest.approx(10.0, rel=0.1)


def test_series_of_different_lengths_are_one_sample() -> None:
    rates = _TWO.drawn(9000, np.random.default_rng(4))
    whole, parts = fitted([rates], 0.5, 2), fitted([rates[:50], rates[50:4000], rates[4000:]], 0.5, 2)
    assert parts.next == pytest.approx(whole.next, abs=0.01)


def test_an_engine_draws_the_chain_that_was_fitted(tmp_path: Path) -> None:
    chain = fitted([_TWO.drawn(4000, np.random.default_rng(5))], 0.5, 3)
    text = f"""
    run = {{ duration = "200 s" }}
    links = [{{ between = ["a", "b"], delay = "1 ms", rate = {{ channel = {inline_toml(chain.toml())} }} }}]
    [[flows]]
    name = "load"
    path = ["a", "b"]
    app = {{ kind = "cbr", rate = "30 Mbit/s", packet = "1500 B" }}
    """
    scenario = tmp_path / "drawn.toml"
    scenario.write_text(text)
    goodputs = [rl.run(scenario, seed=seed).flows["delivered_bytes"].item() * 8 / 200e6 for seed in range(4)]
    # 800 seconds, correlated for 7 of them.
    assert np.mean(goodputs) == pytest.approx(chain.mean(), rel=0.25)
    assert len(set(goodputs)) == len(goodputs)


@pytest.mark.parametrize("name", ["drive-channel", "starlink"])
def test_examples_differ_from_seed_to_seed_and_not_within_one(name: str) -> None:
    scenario = rl.load(ROOT / f"examples/today/{name}.toml").set("run.duration", "5 s")
    runs = [scenario.run(seed=seed) for seed in (1, 1, 2)]
    one, again, other = (run.flows["delivered_bytes"].item() for run in runs)
    assert one == again != other > 0


def _fit(*arguments: str) -> tuple[int, str, str]:
    done = called("fit", *arguments)
    return done.code, done.out, done.err


def test_the_command_prints_a_channel_that_a_scenario_takes(tmp_path: Path) -> None:
    rates = _TWO.drawn(1000, np.random.default_rng(6))
    file, figure = tmp_path / "rates.csv", tmp_path / "fitted.svg"
    file.write_text(
        "time_s,rate_mbit_s\n" + "".join(f"{at / 2},{rate:.3f}\n" for at, rate in enumerate(rates))
    )
    code, out, told = _fit(str(file), "--as", "channel", "--states", "2", "--figure", str(figure))
    assert code == 0, told
    channel = tomli.loads(f"channel = {out}")["channel"]
    assert (channel["kind"], channel["step"], len(channel["states"])) == ("states", "500 ms", 2)
    assert "second half" in told
    assert "correlation at 0.5 s" in told
    assert figure.read_text(encoding="utf-8").startswith("<?xml")


def test_a_trace_of_mahimahi_has_the_rate_of_its_opportunities(tmp_path: Path) -> None:
    file = tmp_path / "walk.down"
    file.write_text("".join(f"{at}\n" for at in range(1, 60_001)))
    rates, step = read(file, None, {})
    assert step == 0.1
    assert rates == pytest.approx(np.full(600, 12.0), rel=0.02)


def test_a_table_is_resampled_by_its_integral(tmp_path: Path) -> None:
    file = tmp_path / "rates.csv"
    file.write_text("time_s,rate_mbit_s\n" + "".join(f"{at},{at % 2 * 10}\n" for at in range(1000)))
    rates, step = read(file, 2.0, {})
    assert step == 2.0
    assert rates == pytest.approx(np.full(500, 5.0))


@pytest.mark.parametrize(
    ("text", "step", "part"),
    [
        ("1\n2\n1\n", None, ":3"),
        ("1\n2\nx\n", None, ":3"),
        ("1\n2\n3\n", None, "steps"),
        ("time_s,rate_mbit_s\n0,1\n1,2\n", None, "steps"),
        ("time_s,rate_mbit_s\n0,1\n", None, "steps"),
        ("time_s,rate_mbit_s\n" + "".join(f"{at},0\n" for at in range(300)), None, "every rate is 0"),
        ("time_s,rate_mbit_s\n0,1\n1000000,1\n", 0.1, "longer --step"),
        ("1\n90000000000\n", 0.1, "longer --step"),
    ],
)
def test_bad_files_are_refused(text: str, step: float | None, part: str, tmp_path: Path) -> None:
    file = tmp_path / "rates"
    file.write_text(text)
    with pytest.raises(BadInput) as refused:
        read(file, step, {})
    assert part in str(refused.value)


def test_options_of_the_other_kind_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "gaps.csv"
    file.write_text("gap_ms\n1\n")
    for arguments in (["--as", "channel", "--unit", "ms"], ["--states", "3"], ["--step", "1 s"]):
        code, _, told = _fit(str(file), *arguments)
        assert code == 2, arguments
        assert arguments[-2] in told
