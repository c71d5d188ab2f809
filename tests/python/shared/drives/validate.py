"""Chains of one half of the drives next to the other half, which the fit has not seen: docs/models/channel.md.

`python validate.py DRIVE.csv.gz` prints the tables of that page; with a number behind it, of this many windows each.
`python validate.py DRIVE.csv.gz --figure` writes its figure.
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drives import DIRECTIONS, STEP_S, factors, halves, joined, levels, of_table, read
from roamlab.base.figures import label, new_figure, save
from roamlab.running.run import simulate
from roamlab.scenarios.scenario import Scenario
from roamlab.statistics.channels import LOW, correlations, fitted, traits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from drives import Series, Stretch
    from roamlab.base.figures import SavedFigure

LAGS_S = (0.5, 2.0, 5.0, 10.0, 50.0)
DRAWN = 1_000_000
"""Steps that are drawn of a chain for its traits: levels last 600."""
WINDOW = 60
"""Steps of a run of a sender."""
PICTURE = Path(__file__).parents[4] / "docs/img/channel-correlation.png"
SENDERS = {"Reno": "sack", "CUBIC": "cubic", "BBR": "bbr"}
_SCENARIO = """
run = {{ duration = "{duration:g} s" }}
links = [{{ between = ["a", "b"], delay = "30 ms", rate = {{ table = "{file}", at_end = "hold" }}, \
queue = {{ kind = "droptail", limit = "1000 pkt" }} }}]
flows = [{{ name = "file", path = ["a", "b"], app = {{ kind = "ftp", start = "0 s" }}, \
transport = {{ kind = "tcp", profile = "linux-6", variant = "{variant}" }} }}]
"""


def lags() -> list[int]:
    """`LAGS_S` in steps."""
    return [round(lag_s / STEP_S) for lag_s in LAGS_S]


def windows(drives: Sequence[list[Stretch]]) -> list[tuple[Series, Series]]:
    """Rates of 30 s as recorded, and the starts of handovers from the first of them."""
    return [
        (stretch.rates[first : first + WINDOW], stretch.moves_s - first * STEP_S)
        for drive in drives
        for stretch in drive
        for first in range(0, len(stretch.rates) - WINDOW + 1, WINDOW)
    ]


def delivered_mbps(rates: Series, variant: str) -> float:
    """Goodput of a sender over a link with these rates."""
    duration = len(rates) * STEP_S
    with tempfile.TemporaryDirectory() as folder:
        rows = [f"{step * STEP_S},{rate:.6f}\n" for step, rate in enumerate(rates)]
        # The last rate is held: it is behind the end of the run, and above 0.
        (Path(folder) / "rate.csv").write_text("".join(["time_s,rate_mbit_s\n", *rows, f"{duration},1\n"]))
        text = _SCENARIO.format(duration=duration, file="rate.csv", variant=variant)
        results = simulate(Scenario(text, str(Path(folder) / "window.toml")), 1)
        return float(results.columns("flows")["delivered_bytes"].sum()) * 8 / duration / 1e6


def used(series: Sequence[Series], sender: str, pool: Executor) -> Series:
    """Goodput of a sender over each series."""
    return np.array(list(pool.map(partial(delivered_mbps, variant=SENDERS[sender]), series)))


def share(goodput: Series, series: Sequence[Series]) -> tuple[float, float, float]:
    """The goodput as a part of the rate, over all series, with a 95 % interval by resampling them."""
    rates = np.array([each.mean() for each in series])
    rng = np.random.default_rng(1)
    picks = rng.integers(0, len(rates), (2000, len(rates)))
    drawn = goodput[picks].sum(axis=1) / rates[picks].sum(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(goodput.sum() / rates.sum()), float(low), float(high)


def judge(
    first: Sequence[list[Stretch]],
    second: Sequence[list[Stretch]],
    most: int | None,
    pool: Executor,
) -> list[str]:
    """Lines of both tables: the record's second half, and the chain of the first half."""
    chain = joined(levels(first))
    between = [[s.between_moves() for drive in half for s in drive] for half in (first, second)]
    low = LOW * float(np.median(np.concatenate([rates for half in between for rates in half])))
    drawn = chain.drawn(DRAWN, np.random.default_rng(1))
    lines = []
    sets = (("first half", between[0]), ("second half", between[1]), ("chain of the first", [drawn]))
    for name, series in sets:
        of = traits(series, lags(), low)
        mean = chain.mean() if name.startswith("chain") else of.mean
        told = " | ".join(f"{value:.2f}" for value in of.correlation)
        lines.append(
            f"| {name} | {told} | {of.low_share:.2f} | {of.low_length * STEP_S:.1f} s | {mean:.1f} Mbit/s |"
        )
    recorded = windows(second)
    if most is not None:
        chosen = np.random.default_rng(2).permutation(len(recorded))[:most]
        recorded = [recorded[at] for at in chosen]
    rng = np.random.default_rng(3)
    own = [rates for rates, _ in recorded]
    other = [chain.drawn(WINDOW, rng) * factors(WINDOW, moves) for _, moves in recorded]
    for sender in SENDERS:
        shares = [share(used(series, sender, pool), series) for series in (own, other)]
        told = " | ".join(f"{middle:.3f} ({low:.3f} … {high:.3f})" for middle, low, high in shares)
        lines.append(f"| {sender} | {told} | {shares[1][0] / shares[0][0] - 1:+.1%} |")
    return lines


def draw(drives: dict[tuple[str, str, str], list[dict[str, str]]], folder: Path) -> SavedFigure:
    """The correlations of both halves, of the chain of the first, and of a chain without levels."""
    shown_lags = [1, 2, 3, 4, 6, 8, 10, 14, 20, 28, 40, 56, 80, 100]
    names = {"lte": "LTE", "nsa": "5G below 6 GHz"}
    ways = {"down": "downloads", "up": "uploads"}
    with new_figure(4, row_inches=2.1) as (figure, all_axes):
        for axes, (family, way) in zip(all_axes, product(names, DIRECTIONS), strict=True):
            first, second = halves(of_table(drives, family, way))
            own, other = ([s.between_moves() for drive in half for s in drive] for half in (first, second))
            rng = np.random.default_rng(1)
            shown = {
                "record, first half": own,
                "record, second half": other,
                "chain of the first half": [joined(levels(first)).drawn(DRAWN, rng)],
                "the same without levels": [fitted(own, STEP_S).drawn(DRAWN, rng)],
            }
            for name, series in shown.items():
                axes.plot(np.array(shown_lags) * STEP_S, correlations(series, shown_lags), label=name)
            axes.set_title(f"{names[family]}, {ways[way]}", loc="left", fontsize=9)
            axes.set_ylim(0, 1)
            label(axes, ("time between two rates", "s"), ("correlation", "1"))
        all_axes[0].legend(fontsize=8)
        figure.suptitle("A chain of four levels keeps the correlation of rates for longer", fontsize=10)
        return save(figure, folder, PICTURE.stem, "Correlation of the rate over time.")


def main() -> None:
    """Print the lines of each table, or write the figure."""
    drives = read(Path(sys.argv[1]))
    if "--figure" in sys.argv:
        draw(drives, PICTURE.parent).svg.unlink()
        return
    most = int(sys.argv[2]) if len(sys.argv) > 2 else None
    with ProcessPoolExecutor(2) as pool:
        for family in ("lte", "nsa"):
            for direction in DIRECTIONS:
                first, second = halves(of_table(drives, family, direction))
                print(f"{family} {direction}: {len(windows(second))} windows", flush=True)
                print("\n".join(judge(first, second, most, pool)), flush=True)


if __name__ == "__main__":
    main()
