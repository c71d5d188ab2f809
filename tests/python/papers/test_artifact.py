"""The artifact appendices of the papers' pages: written from the packages' data, and complete."""

from __future__ import annotations

import pytest

import artifact_rows
from roamlab.papers import reproducing

CLAIM = {
    "verdict": "depends",
    "verdict_default": "holds",
    "what": "depth | width",
    "effect": 2.0,
    "interval": [1.0, 3.0],
    "unit": "m",
    "claimed": "> 0",
    "runs": 5,
    "made": 40,
}
DATA = {
    "engine": "0123456789abcdef",
    "hardware": "2 cores of a processor, 8 GB",
    "seconds": 90,
    "cpu_s": 170,
    "memory_mb": 300,
    "store_mb": 2.5,
    "report_mb": 3.0,
    "claims": {
        "moby.swims": CLAIM,
        "moby.dives": CLAIM | {"interval": [2.0, 2.0], "verdict": "holds", "unit": "1"},
        "moby.most": CLAIM | {"interval": [None, 3.0], "verdict": "holds"},
    },
}


def test_an_appendix_has_what_a_claim_takes_and_what_to_expect() -> None:
    lines = artifact_rows.text("moby", DATA).splitlines()
    assert "| time | 1.5 min for the whole paper, 170 s of processor time |" in lines
    assert "| disk | 2.5 MB for the runs' measures, 3 MB for the report |" in lines
    swims, dives, most = lines[-3:]
    assert swims == (
        "| swims | `roamlab reproduce moby --claim swims` | 40 | **depends**, holds by default; "
        "depth / width: 2 m, claimed > 0 | ± 1.4 m |"
    )
    assert dives.endswith("| **holds**; depth / width: 2, claimed > 0 | 0 |")
    assert most.endswith("| the claimed range |")


@pytest.mark.parametrize("paper", artifact_rows.measured())
def test_a_page_has_its_appendix(paper: str) -> None:
    data = artifact_rows.recorded(paper)
    stands = artifact_rows.between(artifact_rows.folder(paper) / "README.md")
    assert stands == artifact_rows.text(paper, data), (
        "write it with `python tests/python/shared/rows/artifact_rows.py`"
    )
    assert set(data["claims"]) == set(reproducing.claim_ids(paper))
