"""A claim or a figure alone: only its runs are made, and its numbers are those of the whole reproduction."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND, DEEP, reproduced
from roamlab import papers
from roamlab.papers import Part, Session, reproducing, runs
from roamlab.papers.deciding import each
from roamlab.papers.mblue import experiments, measures
from roamlab.papers.runs import Batch, NotMade

FEW = 2
FIGURES = {
    "bcmp": ("network-tree", "4"),
    "ipf": ("9", "15"),
    "lte": ("2", "9", "predictions"),
    "mblue": ("12", "signalling"),
    "ripple": ("why-dip",),
}
"""Figures of each paper that few runs suffice for."""
PAPERS = papers.names() if DEEP else ["mblue"]
"""The paper that takes the least time, and all in `make deep`."""
SHARED = {"bcmp.login", "ipf.arq", "lte.ecn", "mblue.local", "ripple.blocks"}
"""Claims on few runs, one of each paper: these are made again in an empty store."""


@pytest.fixture(scope="session")
def whole(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, papers_store: Path
) -> Path:
    """A whole reproduction of the paper with few runs."""
    out = tmp_path_factory.mktemp("whole") / request.param
    reproduced(request.param, out, papers_store, FEW)
    return out


def _session(folder: Path, store: Path, part: Part) -> Session:
    return Session(folder / "figures", folder / "tables", store, FEW, 2, part)


def _check_tables(part: Path, whole: Path) -> None:
    """Each row of a part's tables is one of the whole; a table of one figure's effect has only its rows."""
    for path in part.rglob("*.csv"):
        rows = path.read_text(encoding="utf-8").splitlines()
        expected = (whole / path.relative_to(part)).read_text(encoding="utf-8").splitlines()
        assert rows == expected or (path.stem in ("explained", "causes") and set(rows) <= set(expected)), path


@pytest.mark.parametrize("whole", PAPERS, indirect=True)
def test_each_claim_alone_has_the_numbers_of_the_whole(
    whole: Path, papers_store: Path, tmp_path: Path
) -> None:
    paper = whole.name
    expected = {claim["id"]: claim for claim in json.loads((whole / "claims.json").read_text())}
    assert set(expected) == set(reproducing.claim_ids(paper))
    for name, claim in expected.items():
        folder = tmp_path / name
        store = tmp_path / "store" if name in SHARED else papers_store
        found = reproducing.reproduce(paper, _session(folder, store, Part((name,))))
        (alone,) = found.claims
        whole_claim = {key: value for key, value in claim.items() if key != "robustness"}
        assert json.loads(json.dumps(alone.as_dict())) == whole_claim
        _check_tables(folder, whole)
    kept = {
        store: sum(path.stat().st_size for path in (store / runs.KEPT).rglob("*") if path.is_file())
        for store in (papers_store, tmp_path / "store")
    }
    assert kept[tmp_path / "store"] < kept[papers_store], "all runs were made for one claim"


@pytest.mark.parametrize("whole", PAPERS, indirect=True)
def test_a_figure_alone_is_that_of_the_whole(whole: Path, papers_store: Path, tmp_path: Path) -> None:
    paper = whole.name
    for figure in FIGURES[paper]:
        found = reproducing.reproduce(paper, _session(tmp_path / figure, papers_store, Part(figure=figure)))
        (drawn,) = [*found.figures, *(of.chart for of in found.handovers)]
        assert drawn.name in (figure, f"fig{figure}")
        files = [path.name for path in (tmp_path / figure / "figures").iterdir()]
        assert {Path(name).stem for name in files} == {drawn.name}
        for name in files:
            if name.endswith(".svg"):
                assert (tmp_path / figure / "figures" / name).read_bytes() == (
                    whole / "figures" / name
                ).read_bytes()
        _check_tables(tmp_path / figure, whole)


def test_runs_are_made_at_the_first_look(tmp_path: Path) -> None:
    batch = Batch()
    asked = {
        queue: batch.each({queue: (experiments.detection(True, experiments.DEFAULT), 1)}, measures.detection)
        for queue in ("one", "two")
    }
    (one,), (two,) = (of.values() for of in asked.values())
    with pytest.raises(NotMade):
        list(one)
    batch.offer(tmp_path, 1)
    with batch.only_made(), pytest.raises(NotMade):
        one[0]
    (value,) = one
    assert value > 0
    with batch.only_made():
        assert one + one == [value, value]
        zeros = [0.0]
        assert zeros + one == [0.0, value]
        with pytest.raises(NotMade):
            each(two, float)


def test_a_figure_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [COMMAND, "reproduce", "mblue", "--figure", "16", "--runs", "1"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert "figure 16: the reproduction of mblue has no such figure" in done.stderr
    assert "expected: one of: 11, 12, 13, 14, 15, sync, overall, signalling" in done.stderr
    assert not (tmp_path / "out" / "mblue-fig16").exists()


def test_the_command_tells_the_figure_and_its_claim(papers_store: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [COMMAND, "reproduce", "mblue", "--figure", "12", "--runs", str(FEW), "--store", str(papers_store)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "mblue.fig12" in done.stdout
    assert "figure: out/mblue-fig12/figures/fig12.svg" in done.stdout
    page = (tmp_path / "out/mblue-fig12/report.html").read_text()
    assert 'id="mblue.fig12"' in page
    assert "mblue.fig14" not in page
