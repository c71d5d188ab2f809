"""`roamlab why CAPTURE` against the truth of runs with a planted event, captured at both ends."""

from __future__ import annotations

import pytest

import captured
from conftest import of_today

CASES = [(kind, number) for number in range(8) for kind in captured.KINDS]
KNOWN = {("step", 6): "pair"}
"""Views of runs that are answered wrongly: a longer path is taken for one that was silent."""


@pytest.mark.parametrize(("kind", "number"), of_today(CASES, 24), ids=str)
def test_planted_causes_are_named_and_none_is_invented(kind: str, number: int) -> None:
    """A few runs each day; `make deep` has all, and counts them (`captured.py`)."""
    wrong, _ = captured.measure(range(number, number + 1), (kind,))
    missed = KNOWN.get((kind, number), "none")
    assert [each for each in wrong if not each.startswith(f"{kind} {number}, {missed}")] == []
