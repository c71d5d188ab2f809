"""Errors of the models of silence and goodput on fresh random runs of one flow through one LTE handover.

    python tests/python/shared/theory/moves.py --first SEED --runs COUNT

draws scenarios from the seeds SEED, SEED + 1 and on, makes each run, and prints for each sender the shares within
10 % of the models, with the median of the errors.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import roamlab as rl
from roamlab.formulas import goodputs
from roamlab.formulas.compare import recorded
from roamlab.formulas.facts import Facts
from roamlab.formulas.silences import observed, silence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator

SENDERS = {
    "reno-rfc": ("rfc", 'variant = "sack"'),
    "cubic-linux-6": ("linux-6", 'variant = "cubic"'),
    "cubic-rfc": ("rfc", 'variant = "cubic"'),
}
"""Profile and transport of each sender."""
TOML = """
[run]
duration = "{end} s"
profile = "{profile}"
[[links]]
between = ["server", "gw"]
rate = "1 Gbit/s"
delay = "{wired} ms"
[[links]]
between = ["gw", "r1"]
rate = "1 Gbit/s"
delay = "2 ms"
[[links]]
between = ["gw", "r2"]
rate = "1 Gbit/s"
delay = "{far} ms"
[[links]]
between = ["r1", "r2"]
rate = "1 Gbit/s"
delay = "2 ms"
[[links]]
between = ["gw", "mme"]
rate = "1 Gbit/s"
delay = "1 ms"
[cells.a]
router = "r1"
rate = "{r1} Mbit/s"
delay = "2 ms"
queue = {{ kind = "droptail", limit = "{b1} pkt" }}
backhaul = {{ rate = "1 Gbit/s", delay = "1 ms" }}
[cells.b]
router = "r2"
rate = "{r2} Mbit/s"
delay = "2 ms"
queue = {{ kind = "droptail", limit = "{b2} pkt" }}
backhaul = {{ rate = "1 Gbit/s", delay = "1 ms" }}
[radio]
kind = "hard"
measurement = {{}}
[mobility]
kind = "lte-x2"
mme = "mme"
forwarding = "{forwarding}"
detach_time = "{gap} ms"
buffer_limit = "{held} pkt"
timers = {{ t304 = "10 s", joining = "10 s", reloc_overall = "10 s", forwarding_hold = "10 s" }}
measurement = {{ hysteresis_db = 0.0, time_to_trigger = "0 ms", filter_coefficient = 0 }}
[[hosts]]
name = "phone"
home = "gw"
visits = [{{ cell = "a", at = "0 s" }}, {{ cell = "b", at = "{at} ms" }}]
[[flows]]
name = "f"
path = ["server", "phone"]
transport = {{ kind = "tcp", {transport}, window = "20000 pkt", segment = "1460 B" }}
app = {{ kind = "ftp", start = "0.1 s" }}
[record]
queues = ["a/air", "b/air"]
"""


class Seen(NamedTuple):
    """A run next to the model."""

    seed: int
    sender: str
    drawn: dict[str, Any]
    measured_s: float
    expected_s: float
    way: str
    arrived_pkts: float
    """New packets of the ten seconds behind the loss of the link."""
    volume_pkts: float
    """Those of the model."""
    outside: str
    """The test of the domain for goodput that fails."""

    @property
    def error_of_volume(self) -> float:
        """Relative error of the model of goodput."""
        return self.volume_pkts / self.arrived_pkts - 1

    @property
    def error(self) -> float:
        """Relative error of the model."""
        return self.expected_s / self.measured_s - 1


def drawn(seed: int) -> dict[str, Any]:
    """The parameters of a random scenario."""
    random: Generator = np.random.default_rng(seed)
    sender = str(random.choice(list(SENDERS)))
    profile, transport = SENDERS[sender]
    at = 20_000 + int(random.integers(0, 8000))
    gap = int(random.choice([30, 60, 100, 200, 300, 500, 1000, 2000]))
    return {
        "sender": sender,
        "profile": profile,
        "transport": transport,
        "wired": int(random.choice([4, 14, 34, 74])),
        "far": 2 + int(random.choice([0, 20, 60])),
        "r1": int(random.choice([5, 10, 20, 40])),
        "r2": int(random.choice([5, 10, 20, 40])),
        "b1": int(random.choice([50, 100, 200, 400])),
        "b2": int(random.choice([50, 100, 200, 400])),
        "forwarding": str(random.choice(["lossless", "none"])),
        "held": int(random.choice([2000, 50])),
        "gap": gap,
        "at": at,
        "end": at // 1000 + 14,
    }


def seen(seeds: range) -> Iterator[Seen]:
    """The runs of these seeds."""
    for seed in seeds:
        of = drawn(seed)
        scenario = rl.Scenario(TOML.format(**of), f"move-{seed}.toml")
        facts = Facts(rl.run(recorded(scenario), seed=seed))
        (flow,) = facts.flows
        found = observed(facts, flow, facts.gaps[0])
        if isinstance(found, str):
            raise AssertionError(f"seed {seed}: {found}")
        move, ends, measured = found
        expected, way = silence(move, ends)
        through = goodputs.observed(facts, flow, facts.gaps[0])
        if isinstance(through, str):
            raise AssertionError(f"seed {seed}: {through}")
        move, ends, path, window, arrived = through
        broken = goodputs.outside(move, ends, path, window, sack=bool(flow.transport["sack_blocks"]))
        volume = goodputs.volume_pkts(move, ends, path, window)
        yield Seen(seed, of["sender"], of, measured, expected, way, arrived, volume, broken)


def told(errors: list[float]) -> str:
    """How many errors are within 10 %, and their median and 90 % quantile."""
    sizes = np.abs(errors)
    middle, high = np.quantile(sizes, [0.5, 0.9])
    inside = (sizes <= 0.1).sum()
    return f"{inside} of {sizes.size} within 10 % ({inside / sizes.size:.0%}), median {middle:.2%}, p90 {high:.1%}"


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--runs", type=int, default=60)
    given = parser.parse_args()
    runs = list(seen(range(given.first, given.first + given.runs)))
    for sender in SENDERS:
        of = [each for each in runs if each.sender == sender]
        inside = [each for each in of if not each.outside]
        print(f"{sender}, silence: {told([each.error for each in of])}")
        print(f"{sender}, goodput: {told([each.error_of_volume for each in of])}")
        print(f"{sender}, goodput in the domain: {told([each.error_of_volume for each in inside])}")
    for each in runs:
        if not each.outside and abs(each.error_of_volume) > 0.1:
            print(
                each.seed,
                each.sender,
                f"{each.arrived_pkts:.0f} {each.volume_pkts:.0f} {each.way}",
                each.drawn,
            )
        if abs(each.error) > 0.1:
            print(
                each.seed,
                each.sender,
                f"{each.measured_s:.3f} {each.expected_s:.3f} {each.way}",
                each.drawn,
            )


if __name__ == "__main__":
    main()
