"""Every metric of random runs, counted by hand from the event tables with plain loops.

python tests/python/truth.py 1000 [SEED]    compares so many
"""

from __future__ import annotations

import math
import random
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import roamlab as rl
from roamlab.running.summary import Measurement

ROOT = Path(__file__).parents[2]
BASES = ("handover", "lte", "bcmp", "applications", "real-time", "access-network", "roaming", "quic")
RELATIVE = 1e-9
Row = dict[str, Any]


def generate(seed: int, bases: tuple[str, ...] = BASES) -> rl.Scenario:
    """A short run of an example with random rates, queues, gaps, moves and sizes, and with all tables."""
    rng = random.Random(f"truth {seed}")
    base = rl.load(ROOT / f"examples/{rng.choice(bases)}.toml")
    data, length = base.tables, rng.choice((1.5, 2.5, 4.0))
    for cell in data.get("cells", {}).values():
        cell["rate"] = f"{rng.choice((0.3, 1, 2, 8))} Mbit/s"
        if rng.random() < 0.5:
            cell["queue"] = {"kind": "droptail", "limit": f"{rng.choice((4, 12, 50))} pkt"}
    for host in data.get("hosts", []):
        cells = [visit["cell"] for visit in host.get("visits", [])]
        times = sorted(rng.uniform(0.3, length) for _ in cells[1:])
        for visit, at in zip(host.get("visits", [])[1:], times, strict=False):
            visit["at"] = f"{at:.3f} s"
    for flow in data.get("flows", []):
        app = flow["app"]
        app["start"] = f"{rng.uniform(0.0, 0.5 * length):.3f} s"
        app.pop("start_within", None)
        if app["kind"] == "ftp" and rng.random() < 0.6:
            app["size"] = f"{rng.choice((3, 40, 400, 4000))} kB"
    if data.get("links") and rng.random() < 0.5:
        late = {"packets": rng.sample(range(80), 6), "delay": f"{rng.choice((4, 30, 300))} ms"}
        rng.choice(data["links"])["drops"] = [late, {"packets": rng.sample(range(80, 200), 4)}]
    data["run"] = {**data["run"], "duration": f"{length} s"}
    data["record"] = {**data.get("record", {}), "packets": True}
    try:
        return rl.Scenario.from_dict(data, base.name)
    except rl.ScenarioError:
        return base.set_all({"run.duration": f"{length} s", "record.packets": True})


class Count:
    """The metrics of one run."""

    def __init__(self, results: rl.Results) -> None:
        self.end = results.manifest.outline.duration_ns
        made = {
            name: results.table(name).to_dicts() for name in ("flows", "deliveries", "drops", "tcp", "causes")
        }
        self.flows = {row["flow"]: row for row in made["flows"]}
        self.causes: list[Row] = made["causes"]
        self.apps = {flow: self._app(results, flow) for flow in self.flows}
        self.came, self.lost, self.events = (defaultdict(list) for _ in range(3))
        for name, into in (("deliveries", self.came), ("drops", self.lost), ("tcp", self.events)):
            for row in made[name]:
                into[row["flow"]].append(row)
        self.phases: list[Row] = results.handovers.to_dicts()
        self.units: dict[str, list[Row]] = defaultdict(list)
        for row in results.units.to_dicts():
            self.units[row["flow"]].append(row)

    @staticmethod
    def _app(results: rl.Results, flow: str) -> Row:
        named = {each["name"]: each["app"] for each in results.manifest.parameters["flows"]}
        while flow not in named and "-" in flow:
            flow = flow.rpartition("-")[0]
        return named.get(flow, {})

    def connected(self, flow: str) -> bool:
        return self.flows[flow]["kind"] != "udp"

    def handovers(self, flow: str) -> list[Row]:
        ends = (self.flows[flow]["source"], self.flows[flow]["destination"])
        return [row for row in self.phases if row["phase"] == "link-down" and row["host"] in ends]

    def root(self, row: int) -> int:
        while self.causes[row]["cause"] >= 0:
            row = self.causes[row]["cause"]
        return row

    def timeouts(self, flow: str) -> list[Row]:
        return [row for row in self.events[flow] if row["event"] == "timeout"]

    def lost_data(self, flow: str) -> list[Row]:
        rows = [row for row in self.lost[flow] if row["reason"] not in ("copy-released", "duplicate")]
        return [row for row in rows if row["seq"] > 0] if self.connected(flow) else rows

    def loss_ratio(self, flow: str) -> float:
        arrived = {(row["seq"], row["sent_ns"]) for row in self.came[flow]}
        lost = {(row["seq"], row["sent_ns"]) for row in self.lost_data(flow)} - arrived
        sent = self.flows[flow]["sent_pkts"]
        return len(lost) / sent if sent else math.nan

    def extents(self, flow: str) -> list[int]:
        order: list[tuple[int, int]] = []
        for row in self.came[flow]:
            packet = (row["sent_ns"], row["seq"])
            if packet not in order[-400:] and packet not in set(order):
                order.append(packet)
        found = []
        for at, packet in enumerate(order):
            earlier = [place for place in range(at) if order[place] > packet]
            found.append(at - earlier[0] if earlier else 0)
        return found

    def reordered_ratio(self, flow: str) -> float:
        extents = self.extents(flow)
        return sum(each > 0 for each in extents) / len(extents) if extents else math.nan

    def rfc4737_extent_pkts(self, flow: str) -> float:
        return max(self.extents(flow), default=0)

    def handover_timeouts(self, flow: str) -> float:
        if not self.handovers(flow):
            return math.nan
        hosts = (self.flows[flow]["source"], self.flows[flow]["destination"])
        entered = {}
        for row in self.phases:
            if row["phase"] == "link-up":
                entered.setdefault(row["host"], row["time_ns"])
        moves = ("motion", "measurement", "out-of-range", "on-air", "prediction")
        found = 0
        for row in self.timeouts(flow):
            root = self.causes[self.root(row["cause"])]
            ours = root["host"] in hosts and root["host"] in entered
            found += ours and root["kind"] in moves and root["time_ns"] > entered[root["host"]]
        return found

    def handovers_without_timeout_ratio(self, flow: str) -> float:
        roots = [self.root(row["cause"]) for row in self.handovers(flow)]
        expired = {self.root(row["cause"]) for row in self.timeouts(flow)}
        return sum(root not in expired for root in roots) / len(roots) if roots else math.nan

    def _by_time(self, flow: str) -> list[int]:
        begun = sorted(row["time_ns"] for row in self.handovers(flow))
        found = [0] * len(begun)
        for row in self.timeouts(flow):
            before = [at for at, time in enumerate(begun) if time <= row["time_ns"]]
            if before and row["time_ns"] - begun[before[-1]] < 2_000_000_000:
                found[before[-1]] += 1
        return found

    def handover_timeouts_by_time(self, flow: str) -> float:
        counts = self._by_time(flow)
        return sum(counts) if counts else math.nan

    def handovers_without_timeout_by_time_ratio(self, flow: str) -> float:
        counts = self._by_time(flow)
        return counts.count(0) / len(counts) if counts else math.nan

    def disruption_s(self, flow: str) -> float:
        times = [row["time_ns"] for row in self.came[flow] if row["fresh"]]
        longest, file, end = math.nan, self.apps[flow]["kind"] == "ftp", self.end
        completed = self.flows[flow]["completed_ns"]
        if file and self.apps[flow].get("size") and completed >= 0:
            end = completed
        for row in self.handovers(flow):
            at = row["time_ns"]
            if (end != self.end and at >= end) or not times or times[0] > at:
                continue
            for before, after in zip(times, [*times[1:], max(end, times[-1])], strict=True):
                if before >= at + 1_000_000_000 or after <= at:
                    continue
                since = before if file else self._waits(flow, before, after)
                if since is not None and since < at + 1_000_000_000:
                    longest = max(after - since, -1 if math.isnan(longest) else longest)
        return longest / 1e9

    def _waits(self, flow: str, before: int, after: int) -> int | None:
        fresh = [row for row in self.came[flow] if row["fresh"]]
        open_ = [(row["sent_ns"], row["time_ns"]) for row in fresh]
        for row in self.lost_data(flow):
            repairs = [
                one["time_ns"]
                for one in fresh
                if one["seq"] == row["seq"] and one["time_ns"] >= row["sent_ns"]
            ]
            until = (repairs[0] if repairs else math.inf) if self.connected(flow) else row["time_ns"]
            open_.append((row["sent_ns"], until))
        under_way = self.flows[flow]["sent_pkts"] - len(self.came[flow]) - len(self.lost_data(flow))
        if after >= self.end and under_way > 0:
            return before
        begins = [since for since, until in open_ if since < after and until > before]
        if not begins:
            return None
        pause = max(200_000_000, 2 * min(row["time_ns"] - row["sent_ns"] for row in fresh))
        return before if min(begins) - before <= pause else min(begins)

    def completion_s(self, flow: str) -> float:
        row = self.flows[flow]
        return (row["completed_ns"] - row["start_ns"]) / 1e9 if row["completed_ns"] >= 0 else math.nan

    def completed_ratio(self, flow: str) -> float:
        row, app = self.flows[flow], self.apps[flow]
        ends = app.get("kind") == "ftp" and app.get("size") is not None and row["start_ns"] >= 0
        return float(row["completed_ns"] >= 0) if ends else math.nan

    def jitter_s(self, flow: str) -> float:
        fresh = [row for row in self.came[flow] if row["fresh"]]
        jitter = 0.0
        for one, other in pairwise(fresh):
            apart = abs((other["time_ns"] - one["time_ns"]) - (other["sent_ns"] - one["sent_ns"])) / 1e9
            jitter += (apart - jitter) / 16
        return jitter if len(fresh) > 1 else math.nan

    def late_ratio(self, flow: str) -> float:
        sent = self.flows[flow]["sent_pkts"]
        if self.apps[flow].get("kind") != "voip" or not sent:
            return math.nan
        base, late, run = math.inf, 0, []
        for row in self.came[flow]:
            if not row["fresh"]:
                continue
            delay = row["time_ns"] - row["sent_ns"]
            base = min(base, delay)
            if delay <= base + 60_000_000:
                run = []
                continue
            run.append((row["time_ns"], delay))
            if row["time_ns"] - run[0][0] >= 200_000_000:
                base, run = min(one for _, one in run), []
            late += delay > base + 60_000_000
        return late / sent

    def frame_loss_ratio(self, flow: str) -> float:
        units = self.units[flow]
        return sum(row["completed_ns"] < 0 for row in units) / len(units) if units else math.nan

    def goodput_bps(self) -> float:
        begun = [row["start_ns"] for row in self.flows.values() if row["start_ns"] >= 0]
        bits = 8 * sum(row["delivered_bytes"] for row in self.flows.values())
        return bits * 1e9 / (self.end - min(begun)) if begun and min(begun) < self.end else 0.0

    def jain(self) -> float:
        ours = [name for name in self.flows if not (name.endswith("-requests") and name[:-9] in self.flows)]
        elastic = [name for name in ours if self.connected(name)] or ours
        shares = [self.flows[name]["goodput_bps"] for name in elastic]
        squares = len(shares) * sum(share * share for share in shares)
        return sum(shares) ** 2 / squares if squares else math.nan


OF_FLOW = (
    "loss_ratio",
    "reordered_ratio",
    "rfc4737_extent_pkts",
    "handover_timeouts",
    "handovers_without_timeout_ratio",
    "handover_timeouts_by_time",
    "handovers_without_timeout_by_time_ratio",
    "disruption_s",
    "completion_s",
    "completed_ratio",
    "jitter_s",
    "late_ratio",
    "frame_loss_ratio",
)
OF_RUN = ("goodput_bps", "jain")


def differences(seed: int, bases: tuple[str, ...] = BASES) -> list[str]:
    """The metrics of a random run that are not what is counted, or the error that ended it."""
    try:
        results = generate(seed, bases).run(seed=seed)
    except rl.SimulationError as error:
        return [f"seed {seed}: {error}"]
    counted, found = Count(results), []
    wanted = [f"flows.{flow}.{what}" for flow in counted.flows for what in OF_FLOW]
    measured = dict(Measurement((*wanted, *OF_RUN)).of_results(results))
    for name, value in measured.items():
        _, _, rest = name.partition(".")
        flow, _, what = rest.rpartition(".")
        true = getattr(counted, what)(flow) if rest else getattr(counted, name)()
        alike = math.isnan(value) == math.isnan(true)
        if not alike or abs(value - true) > RELATIVE * max(1.0, abs(true)):
            found.append(f"seed {seed}, {results.manifest.scenario_name}, {name}: {value}, counted {true}")
    return found


def main() -> int:
    """Compare many."""
    count, first = int(sys.argv[1]), int((sys.argv[2:] or ["1"])[0])
    wrong = [line for seed in range(first, first + count) for line in differences(seed)]
    print("\n".join([*wrong, f"{count} runs, {len(wrong)} metrics differ"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
