"""Hosts that always have something to send: their share under 802.11's contention, and Bianchi's closed form.

`python tests/python/runs/test_saturation.py` draws the page's picture again.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from scipy.optimize import brentq

from conftest import ROOT
from roamlab.base.figures import label, new_figure, save
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario
from roamlab.statistics.stats import Interval, student

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.base.figures import SavedFigure

HOSTS = (1, 2, 3, 5, 10, 15, 20)
SEEDS = range(1, 9)
PICTURE = ROOT / "docs/img/dcf-saturation.svg"
_SECONDS = 5
_FRAME_BITS = 12_000
# 802.11b at 11 Mbit/s, responses and RTS at 2 Mbit/s, long preambles; in µs.
_SLOT, _SIFS, _DIFS, _EIFS = 20.0, 10.0, 50.0, 364.0
_DATA = 192.0 + 8 * 1536 / 11
_ACK = _CTS = 192.0 + 8 * 14 / 2
_RTS = 192.0 + 8 * 20 / 2


def closed_form(stations: int, *, rts: bool) -> float:
    """Saturation throughput in Mbit/s: Bianchi 2000, equations 7, 9, 13; 7 attempts, an EIFS behind collisions."""

    def tau(p: float) -> float:
        reach = [p**stage for stage in range(7)]
        slots = [(32 * 2 ** min(stage, 5) + 1) / 2 for stage in range(7)]
        return sum(reach) / sum(r * s for r, s in zip(reach, slots, strict=True))

    p = brentq(lambda p: 1 - (1 - tau(p)) ** (stations - 1) - p, 0, 1) if stations > 1 else 0.0
    sends = tau(p)
    idle = (1 - sends) ** stations
    success = stations * sends * (1 - sends) ** (stations - 1)
    exchange = (_RTS + _SIFS + _CTS + _SIFS if rts else 0.0) + _DATA + _SIFS + _ACK + _DIFS
    in_vain = (_RTS if rts else _DATA) + _EIFS
    return success * _FRAME_BITS / (idle * _SLOT + success * exchange + (1 - idle - success) * in_vain)


@cache
def simulated(stations: int, *, rts: bool) -> Interval:
    """The same of whole runs, one for each seed."""
    threshold = 0 if rts else 2347
    hosts = "".join(
        f'[[hosts]]\nname = "h{host}"\nhome = "r"\nvisits = [{{ cell = "bs", at = "0 s" }}]\n'
        f'[[flows]]\nname = "f{host}"\npath = ["h{host}", "ch"]\n'
        f'app = {{ kind = "cbr", rate = "{14 if stations < 3 else 6} Mbit/s", packet = "1500 B" }}\n'
        for host in range(stations)
    )
    text = f"""
run = {{ duration = "{_SECONDS} s" }}
links = [{{ between = ["ch", "r"], rate = "100 Mbit/s", delay = "1 ms" }}]
[cells.bs]
router = "r"
rate = "11 Mbit/s"
delay = "0 ms"
queue = {{ kind = "droptail" }}
backhaul = {{ rate = "100 Mbit/s", delay = "0 ms" }}
medium = {{ kind = "dcf", rts_threshold = "{threshold} B", beacon_interval = "0 s" }}
{hosts}"""
    scenario = Scenario(text)
    got = [run(scenario, seed).flows["delivered_pkts"].sum() for seed in SEEDS]
    return student([count * _FRAME_BITS / _SECONDS / 1e6 for count in got])


def draw(folder: Path) -> SavedFigure:
    """Throughput over the number of hosts, with the closed form."""
    every = range(1, HOSTS[-1] + 1)
    with new_figure() as (figure, (axis,)):
        for rts, name, colour in ((False, "basic access", "#0072B2"), (True, "with RTS/CTS", "#D55E00")):
            found = [simulated(hosts, rts=rts) for hosts in HOSTS]
            means = [interval.effect for interval in found]
            low = [interval.effect - interval.low for interval in found]
            high = [interval.high - interval.effect for interval in found]
            expected = [closed_form(hosts, rts=rts) for hosts in every]
            axis.plot(
                every, expected, color=colour, linestyle="--" if rts else "-", label=f"{name}, closed form"
            )
            axis.errorbar(
                HOSTS,
                means,
                yerr=[low, high],
                color=colour,
                linestyle="none",
                marker="s" if rts else "o",
                markersize=3.5,
                capsize=2.5,
                label=f"{name}, simulated",
            )
        axis.set_xticks(HOSTS)
        axis.set_ylim(4.5, 7.0)
        axis.legend(loc="upper right", ncols=2)
        label(axis, ("hosts that always send", "number"), ("throughput, all hosts", "Mbit/s"))
        caption = (
            f"Saturation throughput of 802.11b at 11 Mbit/s; means of {len(SEEDS)} runs with 95 % intervals."
        )
        return save(figure, folder, PICTURE.stem, caption)


@pytest.mark.parametrize("rts", [False, True])
@pytest.mark.parametrize("hosts", HOSTS)
def test_saturation_throughput_is_that_of_the_closed_form(hosts: int, rts: bool) -> None:
    assert simulated(hosts, rts=rts).effect == pytest.approx(closed_form(hosts, rts=rts), rel=0.03)


def test_the_page_shows_the_drawing_of_its_command(tmp_path: Path) -> None:
    assert draw(tmp_path).svg.read_bytes() == PICTURE.read_bytes()


if __name__ == "__main__":
    draw(PICTURE.parent).svg.rename(PICTURE)
    PICTURE.with_suffix(".png").unlink()
