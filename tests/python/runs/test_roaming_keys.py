"""A handover of 802.11 by its parts, for each kind of security: the figure of docs/models/wifi-roaming.md.

`python tests/python/runs/test_roaming_keys.py` draws it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

import roamlab as rl
from conftest import ROOT
from roamlab.base.figures import COLOURS, bar, label, new_figure, save

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.base.figures import SavedFigure

PICTURE = ROOT / "docs/img/roaming-keys.svg"
_EAP = {"kind": "eap", "server": "gw"}
KINDS: dict[str, dict[str, Any]] = {
    "open": {"kind": "open"},
    "PSK": {"kind": "psk"},
    "EAP, fast transition": {**_EAP, "fast_transition": True},
    "EAP, server at gw": _EAP,
    "EAP, server at ch": {"kind": "eap", "server": "ch"},
}
PARTS = {
    "detection": ("coverage-left", "link-down"),
    "scan": ("link-down", "scanned"),
    "association, keys": ("scanned", "link-up"),
}
"""Each from one phase to another."""


def parts_ms(security: dict[str, Any], *, reports: bool) -> dict[str, float]:
    """How long each part of the example's handover takes."""
    scenario = rl.load(ROOT / "examples/roaming.toml")
    scenario = scenario.set("radio.security", security).set("radio.neighbour_reports", reports)
    rows = rl.run(scenario, seed=1).handovers.filter(
        (pl.col("host") == "walker") & (pl.col("time_ns") >= 5_000_000_000) & (pl.col("node") == "walker")
    )
    at = {str(phase): time / 1e6 for phase, time in zip(rows["phase"], rows["time_ns"], strict=True)}
    return {part: at[end] - at[begin] for part, (begin, end) in PARTS.items()}


def draw(folder: Path) -> SavedFigure:
    """A bar for each kind of security, without and with neighbour reports."""
    with new_figure() as (figure, (axes,)):
        rows = [(name, reports) for name in KINDS for reports in (False, True)]
        for place, (name, reports) in enumerate(rows):
            left = 0.0
            for (part, length), colour in zip(
                parts_ms(KINDS[name], reports=reports).items(), COLOURS, strict=False
            ):
                axes.barh(place, length, left=left, label=part if place == 0 else None, **bar(colour))
                left += length
        axes.set_yticks(range(len(rows)), [f"{name}, reports" if reports else name for name, reports in rows])
        axes.invert_yaxis()
        label(axes, ("time without a cell", "ms"), ("security", "1"))
        axes.set_title(
            "A host notices late that it has left its cell; keys of a far server take as long", fontsize=9
        )
        axes.legend(loc="upper right", fontsize=8)
        return save(figure, folder, PICTURE.stem, "Parts of a handover of 802.11, for each kind of security.")


def test_the_page_shows_the_figure_of_its_runs(tmp_path: Path) -> None:
    assert draw(tmp_path).svg.read_bytes() == PICTURE.read_bytes()


def test_a_far_server_costs_its_round_trips_and_a_report_a_short_scan() -> None:
    near, far = (parts_ms(KINDS[f"EAP, server at {at}"], reports=False) for at in ("gw", "ch"))
    # Eight rounds, each 40 ms longer.
    assert 300 < far["association, keys"] - near["association, keys"] < 340
    assert parts_ms(KINDS["open"], reports=True)["scan"] < near["scan"] / 4


if __name__ == "__main__":
    draw(PICTURE.parent).svg.rename(PICTURE)
    PICTURE.with_suffix(".png").unlink()
