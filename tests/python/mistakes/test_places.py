"""Errors name the place that is wrong, and have the text to write there. With the real engine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import roamlab as rl
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

HANDOVER = (ROOT / "examples/handover.toml").read_text(encoding="utf-8")


def refusal(folder: Path, old: str, new: str) -> list[str]:
    """The report on the example with one change, line by line."""
    assert old in HANDOVER
    path = folder / "lab.toml"
    path.write_text(HANDOVER.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(rl.ScenarioError) as caught:
        rl.load(path)
    return str(caught.value).splitlines()


def test_a_caret_stands_under_wide_characters(tmp_path: Path) -> None:
    lines = refusal(tmp_path, 'name = "mh"', 'name = "mh"\nhome = "セルセル"  # あ')
    assert "written twice" in lines[0]
    lines = refusal(tmp_path, 'visits = [{ cell = "bs1", at', 'visits = [{ cell = "セル ", at')
    text, carets = lines[2].partition("| ")[2], lines[3].partition("| ")[2]
    # Each kana takes two columns of a terminal: the first caret is under the quotation mark.
    assert text.index('"セル') == carets.index("^")
    assert len(carets.strip()) == len('"セル "') + 2
    lines = refusal(
        tmp_path, 'queue = { kind = "droptail", limit = "120 pkt" }', 'queue = { kind = "セル", limit = 3 }'
    )
    assert lines[3].strip(" |") == "^" * (len('"セル"') + 2)


def test_a_misspelt_header_is_called_by_its_own_name(tmp_path: Path) -> None:
    lines = refusal(tmp_path, "[mobility]", "[mobilty.buffer.x]\n[mobility]")
    assert "field `mobilty`: there is no such field" in lines[0]
    assert "did you mean `mobility`?" in lines[-1]


def test_names_that_are_as_near_are_all_listed(tmp_path: Path) -> None:
    lines = refusal(tmp_path, '"ns2-2009"', '"ns2-2010"')
    assert re.search(r'write one of "rfc", .*"ns2-2001", .*"ns2-2009"', lines[-1])


def test_a_limit_in_bytes_is_pointed_to(tmp_path: Path) -> None:
    lines = refusal(tmp_path, 'limit = "120 pkt" }', 'limit = "120 kB" }')
    assert 'limit_bytes = "120 kB"' in lines[-1]
    lines = refusal(tmp_path, 'limit = "64 pkt"', 'limit = "64 kB"')
    assert "limit_bytes" not in lines[-1], "the buffer of a base station has no such field"


def test_a_change_is_reported_by_its_field_and_without_a_line() -> None:
    base = rl.load(ROOT / "examples/handover.toml")
    with pytest.raises(rl.ScenarioError) as caught:
        base.set("cells.bs1.rate", "2 Mbits")
    first, help_ = str(caught.value).splitlines()
    assert first.endswith(
        'handover.toml with cells.bs1.rate = "2 Mbits": field `cells.bs1.rate`: "Mbits" is not a unit of a rate'
    )
    assert 'help: write "2 Mbit/s"' in help_
    with pytest.raises(rl.BadInput, match=r"no element 'bs9'(.|\n)*one of bs1, bs2"):
        base.set("cells.bs9.rate", "2 Mbit/s")
    assert base.set("cells.bs9", base.parameters["cells"]["bs1"]).parameters["cells"].keys() == {
        "bs1",
        "bs2",
        "bs9",
    }


def test_a_path_is_taken_where_a_scenario_is(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(
        HANDOVER.replace('"40 s"', '"1 s"').replace('at = "10 s"', 'at = "0.5 s"'), encoding="utf-8"
    )
    assert rl.run(str(path)).flows.equals(rl.run(rl.load(path)).flows)
    assert (
        len(rl.sweep(path, {"cells.bs1.rate": ["1 Mbit/s"]}, replications=2, store=tmp_path / "store")) == 2
    )
    with pytest.raises(rl.BadInput, match="No such file"):
        rl.run("nowhere.toml")
    with pytest.raises(rl.BadInput, match=r"this is text, not a path(.|\n)*roamlab.Scenario\(text\)"):
        rl.run(HANDOVER)
    with pytest.raises(rl.BadInput, match="3 cannot be run"):
        rl.run(3)  # type: ignore[arg-type]


def test_a_bad_axis_is_named_in_an_error_that_can_be_caught(tmp_path: Path) -> None:
    base = rl.load(ROOT / "examples/handover.toml")
    for design, said in (
        ({"cells.bs9.rate": ["1 Mbit/s"]}, "axis `cells.bs9.rate`: the scenario cannot be used"),
        ({"cells.bs1.rate": ["1 Mbits"]}, "axis `cells.bs1.rate`: the scenario cannot be used"),
        ({"cells.bs1.rate": []}, "axis `cells.bs1.rate`: an axis without values"),
    ):
        with pytest.raises(rl.BadInput, match=re.escape(said)):
            rl.sweep(base, design, store=tmp_path)
    with pytest.raises(rl.BadInput, match="axis `points`: 0 points"):
        rl.Random(0, {"cells.bs1.rate": ["1 Mbit/s"]})


def test_a_sweep_and_a_scenario_are_told_apart(tmp_path: Path) -> None:
    from roamlab.sweeps.sweepfile import load_sweep

    with pytest.raises(
        rl.BadInput, match=r"buffers.toml:17, field `grid`: this is a sweep(.|\n)*`roamlab sweep "
    ):
        rl.load(ROOT / "examples/buffers.toml")
    with pytest.raises(
        rl.BadInput, match=r"handover.toml:11, field `links`: this is a scenario(.|\n)*`roamlab run "
    ):
        load_sweep(ROOT / "examples/handover.toml")


def test_nesting_without_end_is_reported(tmp_path: Path) -> None:
    from roamlab.sweeps.sweepfile import load_sweep

    path = tmp_path / "deep.toml"
    path.write_text(f"grid = {'[' * 1000}", encoding="utf-8")
    with pytest.raises(rl.BadInput, match=r"deep\.toml: brackets are nested"):
        load_sweep(path)
    with pytest.raises(rl.ScenarioError, match=r"deep\.toml:1:"):
        rl.load(path)


def test_a_metric_that_does_not_exist_has_its_line(tmp_path: Path) -> None:
    from roamlab.sweeps.sweepfile import load_sweep

    (tmp_path / "handover.toml").write_text(HANDOVER, encoding="utf-8")
    for name, said in (
        ("flows.moving.timeuots", r"sweep.toml:5, field `metrics\[1\]`: there is no metric"),
        ("flows.movnig.timeouts", r"sweep.toml:5, field `metrics\[1\]`: there is no flow 'movnig'"),
    ):
        (tmp_path / "sweep.toml").write_text(
            f'scenario = "handover.toml"\ngrid = {{ "cells.bs1.rate" = ["1 Mbit/s"] }}\n'
            f'metrics = [\n  "jain",\n  "{name}",\n]\n',
            encoding="utf-8",
        )
        with pytest.raises(rl.BadInput, match=said):
            load_sweep(tmp_path / "sweep.toml")
    (tmp_path / "sweep.toml").write_text(
        'scenario = "handover.toml"\ngrid = { "cells.bs1.rate" = ["1 Mbit/s"] }\n[replications]\n'
        'half_width = 1.0\nmetric = "flows.movnig.timeouts"\n',
        encoding="utf-8",
    )
    with pytest.raises(rl.BadInput, match=r"sweep.toml:5, field `replications.metric`: there is no flow"):
        load_sweep(tmp_path / "sweep.toml")
    (tmp_path / "sweep.toml").write_text(
        'scenario = "handover.toml"\n[[points]]\n"cells.bs1.rate" = "1 Mbit/s"\n[[points]]\n"cells.bs1.rate" = 7\n',
        encoding="utf-8",
    )
    with pytest.raises(rl.BadInput, match=r'sweep.toml:5, field `points\[1\]."cells.bs1.rate"`'):
        load_sweep(tmp_path / "sweep.toml")
