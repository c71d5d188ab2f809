"""`roamlab why CAPTURE` against the truth of runs with a planted event, captured at both ends."""

from __future__ import annotations

import pytest

import captured
from conftest import of_today

CASES = [(kind, number) for number in range(8) for kind in captured.KINDS]


@pytest.mark.parametrize(("kind", "number"), of_today(CASES, 24), ids=str)
def test_planted_causes_are_named_and_none_is_invented(kind: str, number: int) -> None:
    """A few runs each day; `make deep` has all, and counts them (`captured.py`)."""
    wrong, _ = captured.measure(range(number, number + 1), (kind,))
    assert wrong == []
