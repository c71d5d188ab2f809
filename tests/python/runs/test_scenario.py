"""Scenarios: what is refused, and that writing and reading TOML loses nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
import tomli
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roamlab import _roamlab
from roamlab.base.errors import BadInput
from roamlab.base.inputs import MAX_BYTES
from roamlab.scenarios.scenario import Scenario, load

if TYPE_CHECKING:
    from pathlib import Path

_TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
_SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=12,
)


@given(cells=st.dictionaries(_TEXT, _VALUES, max_size=4))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("engine")
def test_dictionaries_survive_toml(cells: dict[str, Any]) -> None:
    data = {"run": {"duration": "1 s"}, "cells": cells}
    assert tomli.loads(Scenario.from_dict(data).text) == data


def test_set_changes_one_field_and_leaves_the_original(scenario: Scenario) -> None:
    changed = (
        scenario.set("cells.bs2.queue.kind", "mblue").set("flows.moving.start", "2 s").set("run.seed", 4)
    )
    expected = tomli.loads(scenario.text)
    expected["cells"]["bs2"]["queue"]["kind"] = "mblue"
    expected["flows"][0]["start"] = "2 s"
    expected["run"]["seed"] = 4
    assert tomli.loads(changed.text) == expected
    assert scenario.parameters["cells"]["bs2"]["queue"]["kind"] == "red"


def test_set_goes_through_lists_by_position(scenario: Scenario) -> None:
    assert scenario.set("flows.0.start", "3 s").parameters["flows"][0]["start"] == "3 s"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("flows.resident.start", "no element 'resident'"),
        ("flows.1.start", "no element '1'"),
        ("run.duration.seconds", "nothing below str"),
    ],
)
def test_set_refuses_a_path_that_leads_nowhere(scenario: Scenario, path: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        scenario.set(path, 1)


def test_set_reads_toml_1_1(engine: pytest.MonkeyPatch) -> None:
    text = 'cells = {\n  bs1 = { kind = "red" },\n}\n'
    assert Scenario(text).set("cells.bs1.kind", "blue").parameters["cells"] == {"bs1": {"kind": "blue"}}


def test_from_dict_is_checked_and_names_what_cannot_be_written(engine: pytest.MonkeyPatch) -> None:
    with pytest.raises(_roamlab.ScenarioError, match="unknown field flaws"):
        Scenario.from_dict({"flaws": []})
    with pytest.raises(BadInput, match="cannot be written as TOML"):
        Scenario.from_dict({"run": {"duration": object()}})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b" \n\t\n", "the file is empty"),
        (b'[run]\nduration = "1\xff s"\n', r"bad.toml:2:14: byte 0xff is not UTF-8"),
        (b"\xff\xfe[\x00r\x00", r"bad.toml:1:1: byte 0xff is not UTF-8"),
    ],
)
def test_load_says_what_is_wrong_and_where(
    engine: pytest.MonkeyPatch, tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=said) as caught:
        load(path)
    assert "expected: " in str(caught.value)
    assert "help: " in str(caught.value)


def test_load_refuses_a_huge_file_without_reading_it(engine: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "huge.toml"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES * 100_000)  # 10 TB of zeros that occupy nothing
    with pytest.raises(BadInput, match="larger than"):
        load(path)


def test_load_refuses_what_is_not_a_file(engine: pytest.MonkeyPatch, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(BadInput, match="not a regular file"):
            load(path)
    with pytest.raises(BadInput, match="No such file"):
        load(tmp_path / "missing.toml")
    with pytest.raises(BadInput, match="null byte"):
        load("a\0b")
