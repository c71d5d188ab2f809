"""Pages of a run, a comparison and a sweep: first what was found, then the figure that carries it."""

from __future__ import annotations

import html
import re
import subprocess
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from conftest import COMMAND, ROOT
from pages import Page
from roamlab.explorer import explorer_page
from roamlab.pages import run_page
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario, load
from roamlab.showing import report
from roamlab.sweeps import drawing, sweep_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _shown(scenario: Scenario, folder: Path) -> Page:
    made, _ = run_page.make(run(scenario, 1), folder / "figures")
    report.write(made, folder / "report.html")
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def _handover(**changes: object) -> Scenario:
    return load(ROOT / "examples/handover.toml").set_all({"run.duration": "12 s"} | changes)


def test_a_run_without_a_stall_says_so(tmp_path: Path) -> None:
    found = _shown(_handover(), tmp_path)
    assert "mh changed cells once, and the one flow never stalled." in found.text
    assert "article.card undecided" not in found.parts
    assert found.parts.index("p.headline") < found.parts.index("img.")
    assert len(found.loads) == 3, "what was received, the queues, the messages"
    assert "beacon" in found.text, "what the chart does not draw is below it"


def test_a_run_without_flows_has_a_page(tmp_path: Path) -> None:
    tables = {name: table for name, table in _handover().to_dict().items() if name != "flows"}
    found = _shown(Scenario.from_dict(tables, "still"), tmp_path)
    assert "mh changed cells once, and there is no flow." in found.text


def test_a_stall_is_the_headline_and_told_with_its_causes(tmp_path: Path) -> None:
    found = _shown(_handover(**{"mobility.buffer.limit": "8 pkt"}), tmp_path)
    said = re.search(r"moving received nothing new for ([\d.]+) s, ([\d.]+) to ([\d.]+) s", found.text)
    assert said is not None
    length, start, end = map(float, said.groups())
    assert abs(end - start - length) < 0.002
    assert 10.0 < start < end < 12.0
    assert found.parts.count("article.card undecided") == 1
    assert "suspected first: buffer too small" in found.text


def test_the_headline_says_how_long_the_rate_was_low(tmp_path: Path) -> None:
    """One segment in a round trip ends a stall, and the file continues at a sixth of its rate for 1.5 s."""
    gap = {"kind": "hard", "gap": "150 ms"}
    found = _shown(_handover(**{"mobility.buffer.limit": "4 pkt", "radio": gap}), tmp_path)
    said = re.search(r"nothing new for ([\d.]+) s.*moving was slow for ([\d.]+) s, ([\d.]+) to", found.text)
    assert said is not None
    stall, slow, start = map(float, said.groups())
    assert (stall < 0.3, slow > 1.3) == (True, True)
    assert abs(start - 10.0) < 0.02


def test_a_page_says_whether_a_picture_stood_still_and_how_a_call_sounded(tmp_path: Path) -> None:
    scenario = load(ROOT / "examples/applications.toml").set("run.duration", "20 s")
    down = [{"at": "8 s", "up": False}, {"at": "14 s", "up": True}]
    found = _shown(scenario.set("links.0.changes", down).set("flows.tv.app.buffer", "6 s"), tmp_path)
    assert re.search(r"the picture of \w+ froze for [\d.]+ s\.", found.text)
    assert re.search(
        r"tv dash the film began [\d.]+ s after it was asked for; the picture froze once", found.text
    )
    assert re.search(r"film video the picture froze once, for [\d.]+ s in all: 8\.\d+ to 14", found.text)
    assert re.search(r"call voip MOS \d\.\d\d \(R \d+\); [\d.]+% lost, [\d.]+% late", found.text)


def test_many_flows_and_handovers_are_shown_in_part_and_listed_whole(tmp_path: Path) -> None:
    scenario = load(ROOT / "examples/lte.toml")
    flows = len(scenario.expanded()["flows"])
    found = _shown(scenario, tmp_path)
    listed = re.findall(r"me\d", found.text)
    assert {f"me{at}" for at in range(1, flows)} <= set(listed)


def test_the_command_takes_the_newest_run(tmp_path: Path) -> None:
    def call(*arguments: str) -> str:
        return subprocess.run(
            [COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    text = (ROOT / "examples/handover.toml").read_text(encoding="utf-8").replace('"40 s"', '"12 s"')
    (tmp_path / "handover.toml").write_text(text, encoding="utf-8")
    call("run", "handover.toml")
    out = call("report", "--out", "here")
    assert (
        out == f"mh changed cells once, and the one flow never stalled.\nreport: {Path('here/report.html')}\n"
    )
    Page((tmp_path / "here/report.html").read_text(encoding="utf-8"))


_DIFFERENCES = {
    "point": [1, 1],
    "name": ["b.toml", "b.toml"],
    "baseline": ["a.toml", "a.toml"],
    "metric": ["flows.x.timeouts", "flows.x.goodput_bps"],
    "unit": ["1", "bit/s"],
    "reference": [2.0, 1e6],
    "difference": [1.0, 5e5],
    "low": [-1.0, 4e5],
    "high": [3.0, 6e5],
    "runs": [5, 5],
    "p": [0.4, 0.001],
    "p_holm": [0.4, 0.002],
}


def test_a_comparison_begins_with_the_clearest_difference_that_stands() -> None:
    frame = pl.DataFrame(_DIFFERENCES)
    assert sweep_page.headline(frame, "there/a.toml") == (
        "The number of timeouts of x does not differ significantly. "
        "The goodput of x is 1.5 Mbit/s with b and 1 Mbit/s with a: 0.4 to 0.6 Mbit/s more with b (95 % interval). "
        "1 of 2 differences is significant after Holm's correction."
    )
    rates = frame.with_columns(name=pl.lit("2 Mbit/s"), baseline=pl.lit("1 Mbit/s"))
    assert "with 2 Mbit/s and 1 Mbit/s with 1 Mbit/s" in sweep_page.headline(rates, "1 Mbit/s")
    again = frame.with_columns(name=pl.lit("new/a.toml"))
    assert "with new/a.toml and 1 Mbit/s with old/a.toml" in sweep_page.headline(again, "old/a.toml")
    same = frame.with_columns(p_holm=pl.Series([0.4, None], dtype=pl.Float64))
    assert sweep_page.headline(same, "a.toml").endswith("1 of 2 differences is the same in all runs.")
    zero = same.with_columns(difference=pl.Series([1.0, 0.0]))
    assert sweep_page.headline(zero, "a.toml").startswith("No difference to a is significant")
    none = frame.with_columns(p_holm=pl.lit(0.2))
    assert sweep_page.headline(none, "a.toml").startswith("No difference to a is significant")


def _swept(count: int, folder: Path) -> str:
    """The caption of a sweep's figure, with two axes of `count` values in all."""
    points = pl.DataFrame(
        {
            "point": range(count),
            "name": [f"point {at}" for at in range(count)],
            "runs": [3] * count,
            "limit": [at % 2 for at in range(count)],
            "rate": [at // 2 for at in range(count)],
        }
    )
    means = pl.DataFrame(
        {
            "point": range(count),
            "name": points["name"],
            "metric": ["goodput_bps"] * count,
            "unit": ["bit/s"] * count,
            "mean": [1e6 + at for at in range(count)],
            "low": [9e5] * count,
            "high": [2e6] * count,
            "runs": [3] * count,
        }
    )
    kept = means.select("point", pl.lit(0).alias("run"), "metric", pl.col("mean").alias("value"))
    figure = drawing.overview(means, points, kept, folder)
    made = sweep_page.swept("here/a.toml", means, None, [figure], 1)
    assert made.headline == f"The goodput goes from 1 Mbit/s at point 0 to 1 Mbit/s at point {count - 1}."
    report.write(made, folder / "report.html")
    Page((folder / "report.html").read_text(encoding="utf-8"))
    return figure.caption


@pytest.mark.parametrize(("count", "cut"), [(4, ""), (100, " of the first 30 of 100 points")])
def test_a_sweep_is_drawn_over_its_axis_or_point_by_point(tmp_path: Path, count: int, cut: str) -> None:
    assert _swept(count, tmp_path).startswith(f"Means{cut} with 95 % intervals")


def test_values_that_grow_by_factors_have_a_logarithmic_axis_and_each_run_is_a_dot() -> None:
    def drawn(limits: list[int], least: float) -> Axes:
        """Three points, with two runs each, `least` and above."""
        at = {"point": [0, 1, 2], "name": ["a", "b", "c"]}
        points = pl.DataFrame(at | {"runs": [2] * 3, "limit": limits})
        middle = [least + 1.0, least + 2.0, least + 3.0]
        means = pl.DataFrame(
            at
            | {"metric": ["flows.x.timeouts"] * 3, "unit": ["1"] * 3, "mean": middle}
            | {"low": [each - 1 for each in middle], "high": [each + 1 for each in middle], "runs": [2] * 3}
        )
        kept = pl.DataFrame(
            [
                (point, run, "flows.x.timeouts", middle[point] + 2 * run - 1)
                for point in range(3)
                for run in (0, 1)
            ],
            schema=["point", "run", "metric", "value"],
            orient="row",
        )
        return drawing.means_over_axis("flows.x.timeouts", means, points, kept).axes[0]

    for limits, scale in (([4, 16, 64], "log"), ([1, 2, 3], "linear"), ([0, 4, 64], "linear")):
        assert drawn(limits, 0.0).get_xscale() == scale
    axes = drawn([4, 16, 64], 0.0)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["4", "16", "64"]
    assert -0.5 < axes.get_ylim()[0] <= 0.0
    assert axes.get_ylabel() == "number of timeouts of x"
    dots = {(x, y) for line in axes.lines if line.get_marker() == "." for x, y in line.get_xydata()}
    assert dots == {(4.0, 0.0), (4.0, 2.0), (16.0, 1.0), (16.0, 3.0), (64.0, 2.0), (64.0, 4.0)}
    assert re.search(r"\(axis begins at 9\d\.\d*\)", drawn([4, 16, 64], 100.0).get_ylabel())


def _policy(page: str) -> dict[str, list[str]]:
    """The directives of a page's policy, which is before anything that it governs."""
    head, _, _ = page.partition("<title>")
    assert "<script" not in head
    (content,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', head)
    parted = (directive.split() for directive in html.unescape(content).split(";"))
    return {name: values for name, *values in parted}


def test_pages_run_their_own_scripts_and_no_others(tmp_path: Path) -> None:
    """The hashes are those of the scripts (CSP level 3, §6.7.3.3): what is put into a page later never runs."""
    results = run(_handover(), 1)
    _shown(_handover(), tmp_path)
    pages = {
        "report": (tmp_path / "report.html").read_text(encoding="utf-8"),
        "explorer": explorer_page.html([results], 0.0, 12.0),
    }
    for name, page in pages.items():
        policy = _policy(page)
        assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == ["'none'"], name
        scripts = re.findall(r"<script(?: type=\"module\")?>(.*?)</script>", page, re.DOTALL)
        digests = {f"'sha256-{b64encode(sha256(each.encode()).digest()).decode()}'" for each in scripts}
        assert set(policy["script-src"]) == (digests or {"'none'"}), name
        assert (name == "explorer") == bool(scripts)
        assert not re.search(r"<[^>]+\son\w+=|javascript:", re.sub(r"(?s)<script.*?</script>", "", page)), (
            name
        )


def test_stalls_of_one_flow_are_shaded_where_several_stall(tmp_path: Path) -> None:
    """The stalls of all would cover the whole figure."""
    assert "Shaded" not in _shown(_handover(), tmp_path / "none").text
    alone = _shown(_handover(**{"mobility.buffer.limit": "1 pkt"}), tmp_path / "one")
    assert "Shaded: a stall, in which it got nothing new" in alone.text
    several = _shown(
        _handover(**{"flows.moving.count": 3, "mobility.buffer.limit": "1 pkt"}), tmp_path / "three"
    )
    assert re.search(r"Shaded: a stall of moving-[012], in which", several.text)
