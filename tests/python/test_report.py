"""Figures are reproducible and labelled; the report needs nothing but itself."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from roamlab.base import figures
from roamlab.showing import report
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


class _Page(HTMLParser):
    """Collects what a browser would load, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data")]
        assert tag not in ("script", "link", "iframe", "object")
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_report_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measures = tuple(
        Measure(f"against {other}", stats.student(values), "pkt", claims.greater())
        for other, values in {"RED": [1.0, 2.0, 3.0], "BLUE": [-9.0, -8.0, -9.0]}.items()
    )
    made = Report(
        title="Modified <BLUE>",
        paper="Somebody, 2006",
        summary="It was measured.",
        claims=[Claim("mblue.fig12", "more arrives", measures, "M2 reject", "the burst & the queue")],
        figures=[_draw(tmp_path)],
        tables=[report.Table("Losses", ("queue", "packets"), [("bs2/air", "<17>")])],
        parameters=[Parameter("limit", "120 pkt", "table II")],
        assumptions=[Assumption("start", "0.1 s", "not said")],
        origin=[("seed", "1")],
    )
    report.write(made, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert [source[:25] for source in page.loads] == ["data:image/svg+xml;base64"]
    assert re.search(r"url\(|@import", text) is None
    words = " ".join(page.words)
    for said in (
        "Modified <BLUE>",
        "contradicted",
        "holds",
        "-8.667 pkt",
        "the burst & the queue",
        "table II",
        "not said",
    ):
        assert said in words

    monkeypatch.setattr(report, "MAX_SVG_BYTES", 10)
    report.write(made, tmp_path / "report.html")
    assert "data:image/png;base64," in (tmp_path / "report.html").read_text(encoding="utf-8")
