"""The page on laws of durations: its tables and its figure are those of the engine.

`python tests/python/runs/test_durations.py` writes both again.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from conftest import ROOT
from roamlab import _roamlab
from roamlab._roamlab import ScenarioError
from roamlab.base.figures import label, new_figure, save
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario, load

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.base.figures import SavedFigure

PAGE, PICTURE = ROOT / "docs/models/durations.md", ROOT / "docs/img/durations.svg"
SHARES = (0.0, 0.05, 0.1, 0.5, 0.9, 0.95, 0.99, 1.0)
PANELS = {
    "Signalling of a change of the primary cell": r"(lte|nsa)_pcell|(nsa|sa)_mcg|conext25_.*",
    "Signalling of a secondary cell group, and of all handovers of PAM 2025": r"nsa_scg.*|pam25_(all|att|vzw)",
    "Preparation of a handover": r"preparation.*",
    "Interval between handovers, and silences while driving": r"pam25_interval|drive_silence.*",
}


def _tables() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_roamlab.catalogue())["measured durations"]
    return found


def _is_of_silences(table: dict[str, Any]) -> bool:
    return str(table["name"]).startswith("drive_silence")


def quantile_rows(described: dict[str, str]) -> str:
    """The rows of the page's first table; `described`: what each is."""
    rows = []
    for table in _tables():
        known = {share: f"{ms:g}" for share, ms in table["measured_ms"]}
        assumed = {share: round(ms, 1) for share, ms in table["curve_ms"] if share not in known}
        known |= {share: f"**{ms:g}**" for share, ms in assumed.items()}
        cells = [known.get(share, "") for share in SHARES]
        rows.append(f"| `{table['name']}` | {' | '.join(cells)} | {described[table['name']]} |")
    return "\n".join(rows)


def silence_rows() -> str:
    """The rows of the page's table of silences."""
    rows = []
    for table in filter(_is_of_silences, _tables()):
        counts = re.findall(r"(?:^|, )([\d.]+) ", table["summary"].split(": ")[1])
        rows.append(f"| `{table['name']}` | {' | '.join(counts)} | {3600 / float(counts[0]):.1f} s |")
    return "\n".join(rows)


def described() -> dict[str, str]:
    """The meaning of each table, from the schema."""
    (values,) = re.findall(r'"MeasuredDurations": \{.*?\n    \}', _roamlab.schema(), re.DOTALL)
    pairs = re.findall(r'"const": "(\w+)",\s*"description": "([^"]*)"', values)
    other = re.findall(r'"description": "([^"]*)",\s*"(?:type": "string",\s*")?const": "(\w+)"', values)
    return dict(pairs) | {name: text for text, name in other}


def draw(folder: Path) -> SavedFigure:
    """Cumulative distributions of all tables."""
    with new_figure(len(PANELS), share_x=False, row_inches=2.3) as (figure, all_axes):
        for axes, (title, names) in zip(all_axes, PANELS.items(), strict=True):
            for table in (each for each in _tables() if re.fullmatch(names, each["name"])):
                shares, times = np.array(table["curve_ms"]).T
                # The law is a line in time, which is none on a logarithmic axis.
                every = np.geomspace(times[0], times[-1], 200)
                (line,) = axes.plot(every, np.interp(every, times, shares), label=table["name"])
                points = np.array(table["measured_ms"])
                axes.plot(
                    points[:, 1],
                    points[:, 0],
                    linestyle="none",
                    marker="o",
                    markersize=3,
                    color=line.get_color(),
                )
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda time, _: f"{time:g}")
            axes.set_title(title, loc="left", fontsize=9)
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7.5)
            label(axes, ("time", "ms"), ("share of times up to it", "1"))
        return save(figure, folder, PICTURE.stem, "Cumulative distributions of all measured durations.")


def test_every_table_is_in_one_panel() -> None:
    for table in _tables():
        assert sum(bool(re.fullmatch(names, table["name"])) for names in PANELS.values()) == 1, table["name"]


def test_the_page_has_the_tables_of_the_engine() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert quantile_rows(described()) in page
    assert silence_rows() in page


def test_the_page_shows_the_figure_of_its_command(tmp_path: Path) -> None:
    assert draw(tmp_path).svg.read_bytes() == PICTURE.read_bytes()


LAW = {"kind": "measured", "table": "lte_pcell"}
BETWEEN_CELLS = {
    "handover.toml": ("radio", {"kind": "hard", "gap": LAW}),
    "lte.toml": ("mobility.detach_time", LAW),
}
"""Examples with one handover: the field that has the law, and its value."""


@pytest.mark.parametrize("example", BETWEEN_CELLS)
def test_a_handover_takes_the_time_of_a_law(example: str) -> None:
    """Half of the times of the law are at most 34 ms, and all are 13 to 887 ms."""
    field, value = BETWEEN_CELLS[example]
    scenario = load(ROOT / "examples" / example).set(field, value)
    gaps = []
    for number in range(20):
        phases = run(scenario, seed=3, run=number).handovers
        down = phases.filter(pl.col("phase") == "link-down")["time_ns"]
        up = phases.filter((pl.col("phase") == "link-up") & (pl.col("visit") == 1))["time_ns"]
        gaps.append((up[0] - down[0]) / 1e6)
    assert len(set(gaps)) == len(gaps), "each run has its own"
    assert min(gaps) >= 13
    assert max(gaps) <= 887
    assert 4 <= sum(gap <= 34 for gap in gaps) <= 16, sorted(gaps)


def test_a_law_of_gaps_is_checked() -> None:
    law = {"kind": "uniform", "least": "90 ms", "most": "20 ms"}
    with pytest.raises(ScenarioError, match=r"radio\.gap\.most"):
        load(ROOT / "examples/handover.toml").set("radio", {"kind": "hard", "gap": law}).check()


def _flow(cell: str = "", plan: str = "") -> Scenario:
    return Scenario(f"""
run = {{ duration = "60 s" }}
links = [{{ between = ["s", "r"], rate = "1 Gbit/s", delay = "5 ms" }}]
hosts = [{{ name = "mh", home = "r", {plan or 'visits = [{ cell = "a", at = "0 s" }]'} }}]
[[flows]]
name = "f"
path = ["s", "mh"]
app = {{ kind = "cbr", rate = "0.4 Mbit/s", packet = "500 B", start = "2 s" }}
[mobility]
kind = "mobile-ip"
[radio]
kind = "hard"
gap = "20 ms"
{
        "".join(
            f'''
[cells.{name}]
router = "r"
rate = "10 Mbit/s"
delay = "5 ms"
queue = {{ kind = "droptail", limit = "1000 pkt" }}
backhaul = {{ rate = "1 Gbit/s", delay = "1 ms" }}
{cell}
'''
            for name in "ab"
        )
    }""")


def test_silences_of_a_drive_hold_the_packets_of_a_flow() -> None:
    """In 60 s with 18.5 silences a minute; each run has its own."""
    outages = (
        'outages = { between = { kind = "exponential", mean = "3 s" }, packets = "held", '
        'length = { kind = "measured", table = "drive_silence_vzw_2023" } }'
    )
    longest = []
    for seed in (1, 2):
        results = run(_flow(outages), seed)
        assert results.flows["dropped_pkts"].sum() == 0
        gaps = np.diff(results.deliveries["time_ns"].to_numpy()) / 1e6
        assert 8 <= (gaps > 95).sum() <= 35
        longest.append(float(gaps.max()))
    assert longest[0] != longest[1]
    calm = np.diff(run(_flow(), 1).deliveries["time_ns"].to_numpy()) / 1e6
    assert calm.max() < 11


def test_stays_are_drawn_by_the_law_of_a_plan() -> None:
    plan = 'plan = { kind = "ping-pong", dwell = { kind = "exponential", mean = "2 s" } }'
    scenario = _flow(plan=plan)
    visits = [scenario.expanded(seed, 0)["hosts"][0]["visits"] for seed in (1, 2, 1)]
    assert visits[0] == visits[2] != visits[1]
    assert 15 <= len(visits[0]) <= 55


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    for rows in (quantile_rows(described()), silence_rows()):
        first = re.escape(rows.split(" | ")[0])
        text = re.sub(rf"(?<=- \|\n){first}.*?(?=\n\n)", lambda _, rows=rows: rows, text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")
    draw(PICTURE.parent).svg.rename(PICTURE)
    PICTURE.with_suffix(".png").unlink()
