"""Figures are reproducible and labelled; the report is self-contained."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pages import Page
from roamlab.base import figures
from roamlab.showing import page, report
from roamlab.showing.page import Table
from roamlab.showing.report import Assumption, Parameter, Report
from roamlab.statistics import claims, stats
from roamlab.statistics.claims import Claim, Measure

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.base.figures import SavedFigure


def _draw(folder: Path) -> SavedFigure:
    with figures.new_figure(rows=2) as (figure, axes):
        for panel in axes:
            panel.plot([0, 1], [0, 64], label="RED")
            panel.legend()
            figures.label(panel, ("Time", "s"), ("Queue", "pkt"))
        return figures.save(figure, folder, "queue", "The queue & the <burst>.")


def test_a_figure_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = _draw(tmp_path / "a"), _draw(tmp_path / "b")
    assert first.svg.read_bytes() == second.svg.read_bytes()
    assert first.png is not None
    assert second.png is not None
    assert first.png.read_bytes() == second.png.read_bytes()
    assert b"<dc:date>" not in first.svg.read_bytes()


def test_an_axis_without_a_unit_is_refused(tmp_path: Path) -> None:
    with figures.new_figure() as (figure, (axes,)):
        with pytest.raises(ValueError, match="a quantity and a unit"):
            figures.label(axes, ("Time", "s"), ("Queue", ""))
        with pytest.raises(ValueError, match="an axis has no label"):
            figures.save(figure, tmp_path, "bare", "Bare.")


def _report(folder: Path) -> Report:
    measures = tuple(
        Measure(f"against {other}", stats.student(values), "pkt", claims.greater())
        for other, values in {
            "RED": [1.0, 4.0, -2.0, 3.0, -1.0],
            "BLUE": [-9.0, -8.0, -9.0, -9.0, -8.0],
        }.items()
    )
    return Report(
        title="Modified <BLUE>",
        paper="An author, 2006",
        headline="It was <measured>.",
        claims=[Claim("mblue.fig12", "more arrives", measures, "M2 reject", "the burst & the queue")],
        figures=[_draw(folder)],
        tables=[Table("Losses", ("queue", "packets"), [("bs2/air", "<17>")])],
        parameters=[Parameter("limit", "120 pkt", "table II")],
        assumptions=[Assumption("start", "0.1 s", "not specified")],
        origin=[("seed", "1")],
        main=["mblue.fig12"],
        shows={"mblue.fig12": ("queue",)},
    )


def test_the_report_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _report(tmp_path)
    report.write(made, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    found = Page(text)
    found.check_claims(["mblue.fig12"])
    assert [source[:25] for source in found.loads] == ["data:image/svg+xml;base64"]
    words = found.text
    for said in (
        "Modified <BLUE>",
        "contradicted",
        "holds",
        "It was <measured>.",
        "-8.6 pkt",
        "measures 1 contradicted, 1 undecided",
        "not searched under other settings",
        "the burst & the queue",
        "table II",
        "not specified",
    ):
        assert said in words

    monkeypatch.setattr(page, "MAX_SVG_BYTES", 10)
    report.write(made, tmp_path / "report.html")
    assert "data:image/png;base64," in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_report_names_no_claim_and_no_figure_that_it_has_not(tmp_path: Path) -> None:
    made = _report(tmp_path)
    with pytest.raises(LookupError, match="no claim moby"):
        report.write(replace(made, main=["moby.swims"]), tmp_path / "report.html")
    with pytest.raises(LookupError, match="no figure 'fig99'"):
        report.write(replace(made, shows={"mblue.fig12": ("fig99",)}), tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_card_has_the_printed_numbers_and_its_figure_once(tmp_path: Path) -> None:
    numbers = Table(
        "The paper's and ours",
        ("number", "the paper's", "ours", "near"),
        [("received [pkt]", "256", "449", "")],
    )
    made = replace(
        _report(tmp_path), numbers={"mblue.fig12": numbers}, robustness={"mblue.fig12": "turns under X"}
    )
    report.write(made, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    card = "<article" + text.partition("<article")[2].partition("</article>")[0] + "</article>"
    words = " ".join(re.sub("<[^>]+>", " ", card).split())
    assert "received [pkt] 256 449" in words
    assert "turns under X" in words
    assert ">near<" not in text, "a column that is empty"
    assert text.count("<img") == 1, "the figure is on the first screen, and the card leads to it"
    assert 'href="#figure-queue">See figure 1<' in text


def test_an_interval_stands_on_one_line_and_text_has_width() -> None:
    cells = page.table(
        "t", ("what", "interval"), [("some words that take more than forty letters", "-1.5 … 2")]
    )
    assert '<td class="prose">' in cells
    assert '<td class="number">-1.5 … 2</td>' in cells
