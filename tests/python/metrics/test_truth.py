"""Random runs: each metric is what plain loops over the event tables count."""

from __future__ import annotations

import os
from collections import Counter

import pytest

import truth

COUNT = int(os.environ.get("ROAMLAB_TRUTH", "150"))
_PARTS = 6


@pytest.mark.parametrize("part", range(_PARTS))
def test_each_metric_is_what_is_counted(part: int) -> None:
    wrong = [line for seed in range(part, COUNT, _PARTS) for line in truth.differences(seed)]
    assert not wrong, "\n".join(wrong)


def test_the_random_runs_have_what_metrics_count() -> None:
    """Each metric is above 0 in at least two of them, and so are losses of the common reasons."""
    seen: Counter[str] = Counter()
    for seed in range(100):
        counted = truth.Count(truth.generate(seed).run(seed=seed))
        for what in truth.OF_FLOW:
            seen[what] += any(counted.of_flow(flow, what) > 0 for flow in counted.flows)
        seen.update(what for what in truth.OF_RUN if abs(counted.of_run(what)) > 0)
        seen.update(row["reason"] for row in counted.every_drop)
    wanted = (
        *truth.OF_FLOW,
        *truth.OF_RUN,
        "queue-overflow",
        "detached",
        "random-loss",
        "early-drop",
        "duplicate",
    )
    rare = [what for what in wanted if seen[what] < 2]
    assert not rare
