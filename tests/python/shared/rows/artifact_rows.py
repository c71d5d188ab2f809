"""The artifact appendix of each paper's page, written from the package's `artifact.json`.

    python tests/python/shared/rows/artifact_rows.py --measure PAPER

reproduces the paper into an empty folder and measures time, memory, space and, for each claim, the runs that it needs
alone; without `--measure PAPER` only the pages are written. Needs the package, an idle machine and Linux.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import marked
from roamlab import _roamlab, papers
from roamlab.papers import Part, Session, reproducing, runs

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA = "artifact.json"
SECTION = """
## Artifact appendix

How to evaluate this reproduction. `roamlab reproduce PAPER --claim ID` makes only the runs of that claim, and
`roamlab reproduce PAPER --figure N` only those of that figure. Each writes its own folder below `out/`. A claim is
reproduced if its verdict is the expected one. With this engine build each number is the same to the last digit. The
tolerance is for as many other runs: their mean differs by more in 5 of 100 cases. `roamlab reproduce PAPER --blocks 20`
makes such runs. The tables are written by `python tests/python/shared/rows/artifact_rows.py`.

"""
COMMAND = Path(sys.executable).with_name("roamlab")
_MB = 1e6


def folder(paper: str) -> Path:
    """The paper's package."""
    return Path(papers.__path__[0]) / paper


def _hardware() -> str:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{len(os.sched_getaffinity(0))} cores of {model[1] if model else 'a processor'}, {memory:.0f} GB"


def _size_mb(path: Path) -> float:
    return round(sum(each.stat().st_size for each in path.rglob("*") if each.is_file()) / _MB, 1)


def made(paper: str, out: Path, store: Path, used: Mapping[str, Any]) -> dict[str, Any]:
    """The data from a whole reproduction in `out` with its `store`; `used`: what it took."""
    claims = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    session = Session(
        out / "figures", out / "tables", store, papers.paper(paper).RUNS, len(os.sched_getaffinity(0))
    )
    counts = {claim["id"]: _runs_of(paper, session, claim["id"]) for claim in claims}
    return {
        "engine": _roamlab.build_hash(),
        "hardware": _hardware(),
        **used,
        "store_mb": _size_mb(store),
        "report_mb": _size_mb(out),
        "claims": {claim["id"]: _claim(claim) | {"made": counts[claim["id"]]} for claim in claims},
    }


def _claim(claim: Mapping[str, Any]) -> dict[str, Any]:
    names = ("verdict", "verdict_default", "what", "effect", "interval", "unit", "claimed", "runs")
    return {name: claim[name] for name in names}


def _runs_of(paper: str, session: Session, claim: str) -> int:
    """How many runs a claim needs; the store has them."""
    jobs = set()
    real = runs._make_missing

    def counted(wanted: Any, *rest: Any, **named: Any) -> None:
        jobs.update(wanted)
        real(wanted, *rest, **named)

    with tempfile.TemporaryDirectory() as place:
        runs._make_missing = counted
        try:
            alone = Session(
                Path(place), Path(place), session.store, session.runs, session.threads, Part((claim,))
            )
            reproducing.reproduce(paper, alone)
        finally:
            runs._make_missing = real
    return len(jobs)


def measure(paper: str) -> dict[str, Any]:
    """Reproduce the paper from an empty store, and measure."""
    with tempfile.TemporaryDirectory() as place:
        out, store = Path(place, "out"), Path(place, "store")
        began = time.monotonic()
        subprocess.run(
            [COMMAND, "reproduce", paper, "--out", out, "--store", store], check=True, capture_output=True
        )
        took = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = {
            "seconds": round(time.monotonic() - began),
            "cpu_s": round(took.ru_utime + took.ru_stime),
            "memory_mb": round(took.ru_maxrss * 1024 / _MB),
        }
        return made(paper, out, store, used)


def text(paper: str, data: Mapping[str, Any]) -> str:
    """The appendix as Markdown."""
    minutes = data["seconds"] / 60
    about = {
        "hardware": f"measured on {data['hardware']}; no graphics processor, no special network",
        "software": "Linux, Python 3.11 or later, this package; no other simulator, no network",
        "time": f"{minutes:.1f} min for the whole paper, {data['cpu_s']} s of processor time"
        + (f" ({note})" if (note := data.get("note")) else ""),
        "memory": f"{data['memory_mb']} MB",
        "disk": f"{data['store_mb']:g} MB for the runs' measures, {data['report_mb']:g} MB for the report",
        "engine": f"build `{data['engine'][:12]}`",
        "whole paper": f"`roamlab reproduce {paper}`, then `out/{paper}/report.html` and `claims.json`",
    }
    lines = [("item", "value"), ("---", "---"), *about.items()]
    head = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    rows = [
        ("claim", "command", "runs", "expected", "tolerance"),
        ("---",) * 5,
        *(_row(paper, name, of) for name, of in data["claims"].items()),
    ]
    return head + "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(paper: str, name: str, of: Mapping[str, Any]) -> tuple[str, ...]:
    short = name.partition(".")[2]
    unit = "" if of["unit"] == "1" else f" {of['unit']}"
    default = f", {of['verdict_default']} by default" if of["verdict"] != of["verdict_default"] else ""
    expected = (
        f"**{of['verdict']}**{default}; {of['what']}: {of['effect']:.4g}{unit}, claimed {of['claimed']}"
    )
    return (
        short,
        f"`roamlab reproduce {paper} --claim {short}`",
        str(of["made"]),
        expected.replace("|", "/"),
        _tolerance(of, unit),
    )


def _tolerance(of: Mapping[str, Any], unit: str) -> str:
    """Of the mean of as many other runs, with 95 %: the difference of two such means varies by the root of 2 more."""
    low, high = of["interval"]
    if low is None or high is None:
        return "the claimed range"
    half = max(of["effect"] - low, high - of["effect"])
    return f"± {math.sqrt(2) * half:.2g}{unit}" if half > 0 else "0"


def between(page: Path) -> str:
    """The appendix on a page. Raises `LookupError` without marks."""
    return marked.between(page, DATA)


def recorded(paper: str) -> dict[str, Any]:
    """The paper's data."""
    found: dict[str, Any] = json.loads((folder(paper) / DATA).read_text(encoding="utf-8"))
    return found


def keep(paper: str, data: Mapping[str, Any]) -> None:
    """Write the paper's data, and its page."""
    written = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    (folder(paper) / DATA).write_text(written, encoding="utf-8")


def write(paper: str) -> None:
    """Write the section of the paper's page, at its end if it has none."""
    page = folder(paper) / "README.md"
    told, marks = page.read_text(encoding="utf-8"), marked.marks(DATA)
    if marks[0] not in told:
        page.write_text(told + SECTION.replace("PAPER", paper) + "".join(marks), encoding="utf-8")
    marked.put(page, DATA, text(paper, recorded(paper)))


def measured() -> list[str]:
    """The papers with data."""
    return [paper for paper in papers.names() if (folder(paper) / DATA).is_file()]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        for paper in sys.argv[2:]:
            keep(paper, measure(paper))
    for paper in measured():
        write(paper)
