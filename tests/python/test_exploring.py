"""`reproduce --explore` on a planted paper: a queue overflows under two of its readings together, and only then."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from roamlab import papers
from roamlab.papers.exploring import report
from roamlab.papers.records import reads
from roamlab.papers.robustness import Known, keep
from roamlab.papers.spaces import Space
from roamlab.scenarios.scenario import Scenario
from roamlab.statistics.claims import Claim, Measure, at_most, greater
from roamlab.statistics.space import Axis, Value
from roamlab.statistics.stats import largest, student

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from roamlab.papers.runs import Batch
    from roamlab.records.results import Results


@dataclass(frozen=True)
class Reading:
    """What is open."""

    limit_pkts: int = 40
    window_pkts: int = 16
    delay_ms: int = 10


def _scenario(reading: Reading) -> Scenario:
    return Scenario(
        f"""
[run]
duration = "3 s"
[[links]]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "{reading.delay_ms} ms"
queue = {{ kind = "droptail", limit = "{reading.limit_pkts} pkt" }}
[[flows]]
name = "f"
path = ["a", "b"]
transport = {{ kind = "tcp", variant = "reno", window = "{reading.window_pkts} pkt" }}
app = {{ kind = "ftp", start_within = "1 s" }}
"""
    )


@reads(flows="dropped_pkts")
def lost(results: Results) -> int:
    return int(results.columns("flows")["dropped_pkts"].sum())


def _ask(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    found = batch.each({"only": (_scenario(reading), runs)}, lost)
    return partial(_decide, found["only"])


def _decide(losses: list[int]) -> list[Claim]:
    measure = Measure("lost", student([float(each) for each in losses]), "pkt", greater(0.5))
    return [Claim("planted.loss", "Packets are lost.", (measure,), "", "")]


SPACE = Space(
    "Planted",
    Reading(),
    (
        Axis("limit_pkts", "queue", (Value("40", 40), Value("8", 8)), "planted"),
        Axis("window_pkts", "window", (Value("16", 16), Value("4", 4)), "planted"),
        Axis("delay_ms", "delay", (Value("10 ms", 10), Value("1 ms", 1), Value("2 ms", 2)), "planted"),
    ),
    _ask,
    runs=5,
    confirm=6,
)


def _session(folder: Path) -> papers.Session:
    return papers.Session(folder / "figures", folder / "tables", folder / "store", 1, 2)


def test_the_change_that_makes_a_claim_hold_is_found_and_looked_at_anew(tmp_path: Path) -> None:
    page, data = report(SPACE, _session(tmp_path), 12)
    claim = data["claims"]["planted.loss"]
    turned = sum(each["claims"]["planted.loss"]["verdict"] == "holds" for each in data["tried"])
    assert turned > 1
    told = f"contradicted under the default; holds under queue 8 (holds on 6 fresh runs); {turned} of 12 settings"
    assert claim["robustness"] == told
    assert claim["fresh_runs"]["verdict"] == "holds"
    assert claim["fresh_runs"]["runs"] == 6
    # It holds under a queue of 8 with a window of 16: in a quarter of the space, the delay whatever it is.
    low, high = claim["shares"]["holds"][1:]
    assert low < 0.25 < high
    tried = {json.dumps(each["setting"]): each["claims"]["planted.loss"]["verdict"] for each in data["tried"]}
    assert len(tried) == 12
    holds = {setting for setting, verdict in tried.items() if verdict == "holds"}
    assert holds == {setting for setting in tried if '"queue"' in setting and '"window"' not in setting}
    assert (tmp_path / "figures" / "map.png").stat().st_size > 0
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        "robustness.csv",
        "deciding.csv",
        "axes.csv",
    }
    assert data["map"]["planted.loss"][0][0] == 0.0
    keep("planted", data, tmp_path)
    kept = json.loads((tmp_path / "explored" / "planted.json").read_text(encoding="utf-8"))
    assert Known.of(kept).lines == {"planted.loss": told}
    assert page.headline.endswith("1 turn: planted.loss.")
    assert told in [row[1] for row in page.tables[0].rows]


def _beside(batch: Batch, reading: Reading, runs: range) -> Callable[[], Sequence[Claim]]:
    assert list(runs) in ([0], list(range(11, 17))), (
        "few runs of each setting, and fresh ones where a verdict turns"
    )
    found = batch.each({"only": (_scenario(reading), runs)}, lost)

    def decide() -> list[Claim]:
        measure = Measure("lost", largest([float(each) for each in found["only"]]), "pkt", at_most(0))
        return [Claim("planted.none", "Nothing is lost.", (measure,), "", "", kind="inventory")]

    return decide


def test_a_claim_beside_is_decided_where_the_search_went(tmp_path: Path) -> None:
    _, alone = report(SPACE, _session(tmp_path), 12)
    _, data = report(replace(SPACE, beside=_beside, few=1), _session(tmp_path), 12)
    assert [each["setting"] for each in data["tried"]] == [each["setting"] for each in alone["tried"]]
    assert data["claims"]["planted.loss"] == alone["claims"]["planted.loss"]
    for each in data["tried"]:
        opposite = {"holds": "contradicted", "contradicted": "holds"}
        verdicts = {name: claim["verdict"] for name, claim in each["claims"].items()}
        assert verdicts["planted.none"] == opposite[verdicts["planted.loss"]]
    claim = data["claims"]["planted.none"]
    assert claim["robustness"].startswith(
        "holds under the default; contradicted under queue 8 (contradicted on 6 "
    )
    assert claim["turned"] == alone["claims"]["planted.loss"]["turned"]
    assert set(data["map"]) == {"planted.loss", "planted.none"}


def test_an_interrupted_search_goes_on_and_ends_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, whole = report(SPACE, _session(tmp_path / "whole"), 12)
    resumed = _session(tmp_path / "resumed")
    with monkeypatch.context() as cut:
        cut.setattr("roamlab.papers.robustness.Known.draw_map", lambda *_: pytest.fail("interrupted"))
        with pytest.raises(pytest.fail.Exception):
            report(SPACE, resumed, 12)
    with monkeypatch.context() as stop:
        stop.setattr(
            "roamlab.papers.runs.measure", lambda jobs, *_: pytest.fail("made again") if jobs else None
        )
        _, again = report(SPACE, resumed, 12)
    assert again == whole


@pytest.mark.parametrize("name", papers.names())
def test_each_paper_has_its_axes(name: str) -> None:
    """Each value is one that the paper's reading takes, and the first is the default."""
    space = papers.space(name)
    assert space.reading((0,) * len(space.axes)) == space.default
    assert len({axis.field for axis in space.axes}) == len(space.axes)
    for at, axis in enumerate(space.axes):
        for value in range(len(axis.values)):
            setting = tuple(value if one == at else 0 for one in range(len(space.axes)))
            assert getattr(space.reading(setting), axis.field) == axis.values[value].value
