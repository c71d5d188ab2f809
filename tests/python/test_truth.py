"""Random runs: each metric is what plain loops over the event tables count."""

from __future__ import annotations

import os

import pytest

import truth

COUNT = int(os.environ.get("ROAMLAB_TRUTH", "300"))
_PARTS = 6


@pytest.mark.parametrize("part", range(_PARTS))
def test_each_metric_is_what_is_counted(part: int) -> None:
    wrong = [line for seed in range(part, COUNT, _PARTS) for line in truth.differences(seed)]
    assert not wrong, "\n".join(wrong)


def test_the_random_runs_have_what_metrics_count() -> None:
    """Handovers, timeouts of both kinds of count, losses, calls with late packets, whole files and others."""
    seen: dict[str, int] = dict.fromkeys(truth.OF_FLOW, 0)
    for seed in range(60):
        counted = truth.Count(truth.generate(seed).run(seed=seed))
        for what in truth.OF_FLOW:
            seen[what] += any(getattr(counted, what)(flow) > 0 for flow in counted.flows)
    rare = {what: count for what, count in seen.items() if count < 2}
    assert not rare
