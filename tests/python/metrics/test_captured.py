"""`roamlab why CAPTURE` against the truth of runs with a planted event, captured at both ends."""

from __future__ import annotations

import pytest

import captured
from conftest import of_today

CASES = [(kind, number) for number in range(8) for kind in captured.KINDS]


@pytest.mark.parametrize(("kind", "number"), of_today(CASES, 8), ids=str)
def test_planted_causes_are_named_and_none_is_invented(kind: str, number: int) -> None:
    """The kinds of a day are one number of each; `make deep` has all."""
    wrong, _ = captured.measure(range(number, number + 1), (kind,))
    assert wrong == [], wrong
