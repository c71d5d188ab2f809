"""The shipped channels: where their numbers are from, and half of the drives next to the other half."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import drives
import validate
from roamlab.statistics.channels import LOW, traits

DRIVE = Path(os.environ.get("ROAMLAB_DATA", ""), "traces/handovers-2023/drive.csv.gz")
needs_drives = pytest.mark.skipif(not DRIVE.is_file(), reason="$ROAMLAB_DATA has no drives")


def _row(time_s: float, rate: str, technology: str = "LTE", handover: str = "") -> dict[str, str]:
    return {
        "time_s": f"{time_s}",
        "throughput_mbps": rate,
        "technology": technology,
        "handover": handover,
    }


def test_a_stretch_ends_at_a_pause_and_at_another_family() -> None:
    rows = [_row(step / 2, "10") for step in range(30)]
    rows.insert(4, _row(1.7, "", "", "Start"))
    rows += [_row(15 + step / 2, "20", "5G-low") for step in range(25)]
    rows += [_row(30 + step / 2, "30", "LTE-A") for step in range(20)]
    rows += [_row(50 + step / 2, "40") for step in range(19)]
    found = drives.stretches(rows, "lte")
    assert [(len(each.rates), float(each.rates[0])) for each in found] == [(30, 10.0), (20, 30.0)]
    assert found[0].moves_s.tolist() == [1.7]
    assert found[1].moves_s.tolist() == pytest.approx([1.7 - 30])
    assert [len(each.rates) for each in drives.stretches(rows, "nsa")] == [25]


def test_of_two_moves_the_smaller_factor_counts() -> None:
    one = drives.factors(40, np.array([10.0]))
    # In the middle of the last step before the move, 0.25 s away, and of the first step behind it.
    assert one[19:21] == pytest.approx(
        [np.interp(0.25, [0, 0.75], [0.55, 0.8]), np.interp(0.25, [0, 0.5], [0.45, 0.65])]
    )
    assert one[:12].tolist() == [1.0] * 12
    assert one[26:].tolist() == [1.0] * 14
    both = drives.factors(40, np.array([10.0, 11.0]))
    assert both == pytest.approx(np.minimum(one, drives.factors(40, np.array([11.0]))))


def _plain(source: str) -> str:
    """Without what the formatter of Rust adds."""
    return "".join(source.split()).replace(",]", "]").replace(",}", "}")


@needs_drives
def test_the_tables_are_those_of_the_record() -> None:
    read = drives.read(DRIVE)
    of = [drive for run in drives.of_table(read, "nsa", "up").values() for drive in run]
    made = drives.levels(of)
    shipped = (drives.TABLES / "nsa_up.rs").read_text(encoding="utf-8")
    source = drives.rust("NSA_UP", shipped.partition("\n")[0][4:].partition(": written")[0], made)
    assert _plain(shipped) == _plain(source)
    rows = np.concatenate([stretch.between_moves() for drive in of for stretch in drive])
    assert drives.joined(made).mean() == pytest.approx(rows.mean(), rel=0.01)


@needs_drives
def test_a_chain_of_one_half_is_near_the_other_half() -> None:
    """All of it: `python validate.py`; here the traits, and a few windows of a sender."""
    first, second = drives.halves(drives.of_table(drives.read(DRIVE), "lte", "down"))
    chain = drives.joined(drives.levels(first))
    halves = [[s.between_moves() for drive in half for s in drive] for half in (first, second)]
    low = LOW * float(np.median(np.concatenate([rates for half in halves for rates in half])))
    own = [traits(series, validate.lags(), low) for series in halves]
    drawn = traits([chain.drawn(400_000, np.random.default_rng(1))], validate.lags(), low)
    assert drawn.correlation[:4] == pytest.approx(own[1].correlation[:4], abs=0.15)
    assert drawn.low_length == pytest.approx(own[1].low_length, rel=0.25)
    assert drawn.low_share == pytest.approx(own[1].low_share, abs=0.05)
    # A level lasts for 600 steps.
    assert drawn.mean == pytest.approx(own[0].mean, rel=0.1)
    windows = validate.windows(second)[::40]
    rates = [each for each, _ in windows]
    rng = np.random.default_rng(3)
    other = [
        chain.drawn(validate.WINDOW, rng) * drives.factors(validate.WINDOW, moves) for _, moves in windows
    ]
    with ThreadPoolExecutor(2) as pool:
        shares = [validate.share(validate.used(series, "BBR", pool), series) for series in (rates, other)]
    assert shares[0][0] == pytest.approx(shares[1][0], rel=0.1)
