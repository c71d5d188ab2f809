"""The lists of planted bugs fit the sources: a bug that can no longer be planted finds nothing out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

import mutants

if TYPE_CHECKING:
    from pathlib import Path


def test_each_planted_bug_has_one_place_a_name_and_tests() -> None:
    listed = mutants.read()
    names = Counter(mutant.name for mutant in listed)
    assert [name for name, count in names.items() if count > 1] == []
    assert [mutant.name for mutant in listed if mutant.old == mutant.new] == []
    assert all(mutant.steps for mutant in listed)


def test_a_bug_without_a_place_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    first = mutants.read_list("mutants.toml")[0]
    source = tmp_path / first.path
    source.parent.mkdir(parents=True)
    source.write_text("other", encoding="utf-8")
    with pytest.raises(SystemExit, match=f"{first.name}: its old text occurs 0 times in {first.path}"):
        mutants.check([first])
