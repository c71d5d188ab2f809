"""What `roamlab explore` does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from roamlab.base.errors import within
from roamlab.base.output import write_chart
from roamlab.causes import explain as explaining
from roamlab.explorer import page
from roamlab.records.store import open_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def write(folders: Sequence[Path], out: Path) -> None:
    """Writes the page of one run, or of two, to `out`. Runs that lack tables for stalls are made again with them."""
    runs = []
    for folder in folders:
        with within(folder):
            results, note = explaining.with_record(open_run(folder))
        if note:
            print(f"note: {note}", file=sys.stderr)
        runs.append(results)
    write_chart(out, page.html(runs))
