"""The captures of a kernel that are shipped: their causes, and that they can be made again."""

from __future__ import annotations

import json

import pytest

import kept
from capture_files import called
from conftest import only_deep
from roamlab.against import recordings
from roamlab.kernel import cache

CAUSES = {
    "held": "path-held",
    "lost": "path-lost",
    "lost-seen-by-the-host": "path-lost",
    "cut": "path-lost",
    "longer": "delay-spike",
    "longer-and-lost": "delay-step",
    "tail": "tail-loss",
}
"""The first cause of the longest stall; the others have no stall."""


@pytest.mark.parametrize("name", list(kept.KEPT))
def test_each_has_its_cause(name: str) -> None:
    (flow,) = json.loads(called("why", kept.FOLDER / f"{name}.pcapng.gz", "--json").out)["flows"]
    stalls = flow["stalls"]
    assert (stalls[0]["causes"][0]["kind"] if stalls else None) == CAUSES.get(name)


@only_deep
@pytest.mark.skipif(
    cache.built(recordings.VERSION) is None, reason="no kernel: `roamlab kernel build` builds one"
)
@pytest.mark.parametrize("name", list(kept.KEPT))
def test_each_is_made_again(name: str) -> None:
    assert kept.KEPT[name].content() == (kept.FOLDER / f"{name}.pcapng.gz").read_bytes()
