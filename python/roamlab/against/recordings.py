"""Recorded runs of a kernel, with what made them."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from roamlab.against.cases import CONTROLS, SECONDS, Case, Phases, cases
from roamlab.against.measures import LAG_US, Measures, measure
from roamlab.against.phases import found_phases
from roamlab.base.errors import BadInput
from roamlab.kernel import cache
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VERSION = "6.12"
"""Of the kernel."""

FILE = Path(__file__).parent / f"linux-{VERSION}.jsonl.gz"
"""The recordings of the package."""


@dataclass(frozen=True)
class Recordings:
    """Runs of a kernel."""

    kernel: str
    """The name of the build: version, HZ, and a hash of source package, options and compiler."""
    seed: int
    """Of the cases."""
    runs: list[tuple[Case, Measures]]


def recorded(case: Case) -> Measures:
    """The kernel's run of a case."""
    tables = case.scenario(kernel=True)
    tables["record"]["packets"] = case.control == "bbr"
    results = run(Scenario.from_dict(tables, name=f"case {case.number}"), 1)
    found = measure(results, SECONDS)
    phases = found_phases(case, results) if case.control == "bbr" else []
    return replace(
        found, first_phases=[drawn[0] for drawn in phases], later_phases=[drawn[-1] for drawn in phases]
    )


def made(case: Case, phases: Sequence[Phases] = (), later_us: int = 0) -> Measures:
    """Our run of a case, with these phases of BBR, and with a last flow that starts so much later."""
    tables = case.scenario(kernel=False, phases=phases, later_us=later_us)
    return measure(run(Scenario.from_dict(tables, name=f"case {case.number}"), 1), SECONDS, lag_us=LAG_US)


def record(count: int, seed: int, tell: Callable[[int, int], None]) -> Recordings:
    """Run the kernel in so many cases for each congestion control; `tell` gets how many are done, and of how many."""
    built = cache.built(VERSION)
    if built is None:
        raise BadInput(
            f"Linux {VERSION}",
            "it is not built on this machine",
            expected="a kernel in the cache",
            remedy=f"run `roamlab kernel build --version {VERSION}`",
        )
    wanted = [case for control in CONTROLS for case in cases(count, control, seed)]
    runs = []
    for done, case in enumerate(wanted):
        tell(done, len(wanted))
        runs.append((case, recorded(case)))
    return Recordings(built.name, seed, runs)


def write(recordings: Recordings, path: Path) -> None:
    """Write recordings: a line about their origin, then a line for each run. Equal ones give equal bytes."""
    counts = {control: sum(case.control == control for case, _ in recordings.runs) for control in CONTROLS}
    lines = [json.dumps({"kernel": recordings.kernel, "seed": recordings.seed, "cases": counts})]
    lines += [
        json.dumps({"number": case.number, "control": case.control, **measures.as_json()})
        for case, measures in recordings.runs
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


def read(path: Path = FILE) -> Recordings:
    """Read recordings."""
    head, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    origin = json.loads(head)
    drawn = {
        (case.control, case.number): case
        for control, count in origin["cases"].items()
        for case in cases(count, control, origin["seed"])
    }
    runs = []
    for line in lines:
        content = json.loads(line)
        case = drawn[content.pop("control"), content.pop("number")]
        runs.append((case, Measures.from_json(content)))
    return Recordings(origin["kernel"], origin["seed"], runs)
