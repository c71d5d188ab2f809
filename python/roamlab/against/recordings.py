"""Recorded runs of a kernel, with what made them."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab.against.cases import SECONDS, Case, Phases
from roamlab.against.families import FAMILIES
from roamlab.against.measures import LAG_US, STEP_MS, Measures, measure
from roamlab.against.phases import found_phases
from roamlab.base.errors import BadInput
from roamlab.base.inputs import MAX_BYTES, open_regular, read_as
from roamlab.kernel import cache
from roamlab.running.run import simulate
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VERSION = "6.12"
"""Of the kernel."""

FILES = {name: Path(__file__).parent / f"linux-{VERSION}-{name}.jsonl.gz" for name in FAMILIES}
"""The recordings of the package, by family."""

STEPS = SECONDS * 1000 // STEP_MS - 1
"""Number of recorded windows of a flow."""


@dataclass(frozen=True)
class Recordings:
    """Runs of a kernel."""

    kernel: str
    """The name of the build: version, HZ, and a hash of source package, options and compiler."""
    family: str
    seed: int
    """Of the cases."""
    runs: list[tuple[Case, Measures]]


def recorded(case: Case) -> Measures:
    """The kernel's run of a case."""
    tables = case.scenario(kernel=True)
    tables["record"]["packets"] = case.control == "bbr"
    results = simulate(Scenario.from_dict(tables, name=f"case {case.number}"), 1)
    found = measure(results, SECONDS)
    phases = found_phases(case, results) if case.control == "bbr" else []
    return replace(
        found, first_phases=[drawn[0] for drawn in phases], later_phases=[drawn[-1] for drawn in phases]
    )


def made(case: Case, phases: Sequence[Phases] = (), later_us: int = 0) -> Measures:
    """Our run of a case, with these phases of BBR, and with a last flow that starts so much later."""
    tables = case.scenario(kernel=False, phases=phases, later_us=later_us)
    return measure(
        simulate(Scenario.from_dict(tables, name=f"case {case.number}"), 1), SECONDS, lag_us=LAG_US
    )


def record(family: str, count: int | None, seed: int, tell: Callable[[int, int], None]) -> Recordings:
    """Run the kernel in cases of a family: this number for each congestion control; `None`: the number in the package.

    `tell` gets how many are done, and of how many.
    """
    built = cache.built(VERSION)
    if built is None:
        raise BadInput(
            f"Linux {VERSION}",
            "it is not built on this machine",
            expected="a kernel in the cache",
            remedy=f"run `roamlab kernel build --version {VERSION}`",
        )
    kind = FAMILIES[family]
    each = kind.recorded if count is None else count
    wanted = [case for control in kind.controls for case in kind.make(each, control, seed)]
    runs = []
    for done, case in enumerate(wanted):
        tell(done, len(wanted))
        runs.append((case, recorded(case)))
    return Recordings(built.name, family, seed, runs)


def write(recordings: Recordings, path: Path) -> None:
    """Write recordings: a line about their origin, then a line for each run. Equal ones give equal bytes."""
    counts = Counter(case.control for case, _ in recordings.runs)
    origin = {"kernel": recordings.kernel, "family": recordings.family, "seed": recordings.seed}
    lines = [json.dumps({**origin, "cases": counts})]
    lines += [
        json.dumps({"number": case.number, "control": case.control, **measures.as_json()})
        for case, measures in recordings.runs
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


def read(path: Path) -> Recordings:
    """Read recordings. Raises `BadInput` for any other file."""
    with read_as(
        path, "recordings of a kernel", "record them with `roamlab check-against linux --live --record`"
    ):
        with open_regular(path) as file, gzip.open(file) as unpacked:
            content = unpacked.read(MAX_BYTES)
        head, *lines = content.decode().splitlines()
        kernel, family, seed, counts = _origin(json.loads(head), len(lines))
        drawn = {
            (case.control, case.number): case
            for control, count in counts.items()
            for case in FAMILIES[family].make(count, control, seed)
        }
        runs = []
        for number, line in enumerate(lines, start=2):
            with read_as(Path(f"{path}:{number}"), "a run of a kernel", "record it again"):
                found = json.loads(line)
                case = drawn[found.pop("control"), found.pop("number")]
                runs.append((case, Measures.from_json(found, case.flows, STEPS)))
        return Recordings(kernel, family, seed, runs)


def _origin(head: Any, lines: int) -> tuple[str, str, int, dict[str, int]]:
    """Content of the first line of a file: kernel, family, seed and cases.

    Raises `ValueError` if it is not one of our files.

    Number of drawn cases: it is that of the lines that follow, at most.
    """
    kernel, family, seed, counts = (head[name] for name in ("kernel", "family", "seed", "cases"))
    if not isinstance(kernel, str) or not isinstance(family, str) or family not in FAMILIES:
        raise ValueError(f"`kernel` is no text, or `family` none of {', '.join(FAMILIES)}")
    if type(seed) is not int or not 0 <= seed < 2**64:
        raise ValueError("`seed` is no whole number from 0 to 2^64 - 1")
    known = FAMILIES[family].controls
    if any(control not in known or type(count) is not int or count < 0 for control, count in counts.items()):
        raise ValueError(f"`cases` is no number of cases of each of {', '.join(known)}")
    if sum(counts.values()) != lines:
        raise ValueError(f"{lines} runs, not those of {counts}")
    return kernel, family, seed, counts
