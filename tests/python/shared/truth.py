"""Every metric of random runs, counted by hand from the event tables with plain loops.

python tests/python/shared/truth.py 1000 [SEED]    compares this number
"""

from __future__ import annotations

import math
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import roamlab as rl
from counted import Counted, Row
from roamlab.running.summary import Measurement, names
from roamlab.studies.procedures.cases import procedures

ROOT = Path(__file__).parents[3]
BASES = (
    *("handover", "lte", "nr", "bcmp", "applications", "real-time", "access-network", "roaming", "quic") * 2,
    *("applications", "asymmetric", "busy-cell", "today/congestion-controls", "today/fair-queues"),
    *("today/path-change", "imported/drive", "beside-ns2/reno", "beside-ns2/single"),
    *(f"gallery/{name}" for name in ("call", "crowd", "domain", "car", "street", "two-cells")),
    *(f"papers/{name}/scenario" for name in ("lte", "mblue", "ripple")),
    *("papers/bcmp/tree-planned", "papers/bcmp/mesh-unplanned", "studies/network"),
)
APPLICATIONS = ROOT / "examples/applications.toml"
RELATIVE = 1e-9


def _load(base: str) -> rl.Scenario:
    return rl.load(
        ROOT / ("python/roamlab" if base.startswith(("papers", "studies")) else "examples") / f"{base}.toml"
    )


def generate(seed: int, bases: tuple[str, ...] = BASES) -> rl.Scenario:
    """A short run of what is shipped, with random rates, queues, gaps, moves, sizes and losses, and all tables."""
    rng = random.Random(f"truth {seed}")
    base = _load(rng.choice(bases))
    length = rng.choice((1.5, 2.5, 4.0))
    record = {
        "run.duration": f"{length} s",
        "record.deliveries": True,
        "record.tcp": True,
        "record.packets": True,
    }
    base = base.set_all(record)
    data = base.to_dict()
    if base.name.endswith("nr.toml"):
        # The functions of the core network are at the user plane function, as in the file.
        chosen = rng.choice([each.tables["mobility"] for each in procedures()[2:]])
        data["mobility"] = {key: value for key, value in chosen.items() if key not in ("amf", "smf")}
    for cell in data.get("cells", {}).values() if all(map(_is_table, data.get("cells", {}).values())) else ():
        cell["rate"] = f"{rng.choice((0.3, 1, 2, 8))} Mbit/s"
        if rng.random() < 0.5:
            cell["queue"] = {"kind": "droptail", "limit": f"{rng.choice((4, 12, 50))} pkt"}
    for host in data.get("hosts", []):
        cells = [visit["cell"] for visit in host.get("visits", [])]
        times = sorted(rng.uniform(0.3, length) for _ in cells[1:])
        for visit, at in zip(host.get("visits", [])[1:], times, strict=False):
            visit["at"] = f"{at:.3f} s"
    data["flows"] = [*data.get("flows", []), *_more_flows(data, rng)]
    for flow in data["flows"]:
        app = flow["app"]
        app["start"] = f"{rng.uniform(0.0, 0.5) * length if rng.random() < 0.95 else 1.5 * length:.3f} s"
        app.pop("start_within", None)
        if app["kind"] == "ftp" and rng.random() < 0.6 and "packets" not in app:
            size = rng.choice((3, 40, 400, 4000))
            app.update(
                {"packets": f"{size} pkt"}
                if rng.random() < 0.3 and "size" not in app
                else {"size": f"{size} kB"}
            )
        elif app["kind"] in ("ftp", "cbr", "voip") and rng.random() < 0.4:
            app["stop"] = f"{float(app['start'].split()[0]) + rng.uniform(0.0, 0.8) * length:.3f} s"
    if data.get("links"):
        link = rng.choice(data["links"])
        if rng.random() < 0.5:
            late = {"packets": rng.sample(range(80), 6), "delay": f"{rng.choice((4, 30, 300))} ms"}
            link["drops"] = [late, {"packets": rng.sample(range(80, 200), 4)}]
        elif rng.random() < 0.5:
            link["loss"] = rng.choice((0.003, 0.03))
    for changed in (data, {**data, "flows": base.to_dict().get("flows", [])}):
        try:
            return rl.Scenario.from_dict(changed, base.name)
        except rl.ScenarioError:
            continue
    return base


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _more_flows(data: dict[str, Any], rng: random.Random) -> list[Row]:
    """Another application between the ends of a flow that is there."""
    paths = [flow["path"] for flow in data.get("flows", []) if "path" in flow and "count" not in flow]
    if not paths or rng.random() < 0.5:
        return []
    flow: Row = rng.choice(rl.load(APPLICATIONS).to_dict()["flows"])
    return [{**flow, "name": "another", "path": rng.choice(paths)}]


MOVES = ("motion", "measurement", "out-of-range", "on-air", "prediction")


class Count(Counted):
    """The metrics of one run: those of handovers and of order, and the others of `Counted`."""

    def of_flow(self, flow: str, what: str) -> float:
        """A metric of a flow by its name."""
        value = float(getattr(self, "flow_goodput_bps" if what == "goodput_bps" else what)(flow))
        # The table has -1 for what never happened; as a metric that is undefined.
        return math.nan if what in ("start_ns", "finish_ns", "completed_ns") and value < 0 else value

    def of_run(self, what: str) -> float:
        """A metric of the run by its name."""
        return float(getattr(self, what)())

    def handovers(self, flow: str) -> list[Row]:
        ends = (self.flows[flow]["source"], self.flows[flow]["destination"])
        return [row for row in self.phases if row["phase"] == "link-down" and row["host"] in ends]

    def root(self, row: int) -> int:
        while self.causes[row]["cause"] >= 0:
            row = self.causes[row]["cause"]
        return row

    def expired(self, flow: str) -> list[Row]:
        return [row for row in self.events[flow] if row["event"] == "timeout"]

    def loss_ratio(self, flow: str) -> float:
        arrived = {(row["seq"], row["sent_ns"]) for row in self.came[flow]}
        lost = {(row["seq"], row["sent_ns"]) for row in self.lost_data[flow]} - arrived
        sent = self.flows[flow]["sent_pkts"]
        return len(lost) / sent if sent else math.nan

    def extents(self, flow: str) -> list[int]:
        order: dict[tuple[int, int], None] = {}
        for row in self.came[flow]:
            order.setdefault((row["sent_ns"], row["seq"]))
        packets, found, largest = list(order), [], (-1, -1)
        for at, packet in enumerate(packets):
            reordered = packet < largest
            largest = max(largest, packet)
            found.append(
                at - next(place for place in range(at) if packets[place] > packet) if reordered else 0
            )
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
        found = 0
        for row in self.expired(flow):
            root = self.causes[self.root(row["cause"])]
            ours = root["host"] in hosts and root["host"] in entered
            found += ours and root["kind"] in MOVES and root["time_ns"] > entered[root["host"]]
        return found

    def handovers_without_timeout_ratio(self, flow: str) -> float:
        begun = self.handovers(flow)
        roots = [self.root(row["cause"]) for row in begun]
        hit = set()
        for row in self.expired(flow):
            root = self.root(row["cause"])
            cause = self.causes[root]
            if root in roots:
                hit.add(roots.index(root))
            elif cause["kind"] in MOVES:
                before = [
                    at
                    for at, move in enumerate(begun)
                    if move["host"] == cause["host"] and move["time_ns"] <= cause["time_ns"]
                ]
                hit.update(before[-1:])
        return 1 - len(hit) / len(begun) if begun else math.nan

    def _by_time(self, flow: str) -> list[int]:
        begun = sorted(row["time_ns"] for row in self.handovers(flow))
        found = [0] * len(begun)
        for row in self.expired(flow):
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
        if file and completed >= 0:
            end = completed
        under_way = self._under_way(flow)
        for row in self.handovers(flow):
            at = row["time_ns"]
            if (end != self.end and at >= end) or not times or times[0] > at:
                continue
            for before, after in zip(times, [*times[1:], max(end, times[-1])], strict=True):
                if before >= at + 1_000_000_000 or after <= at:
                    continue
                since = before if file else self._waits(flow, under_way, before, after)
                if since is not None and since < at + 1_000_000_000:
                    longest = max(after - since, -1 if math.isnan(longest) else longest)
        return longest / 1e9

    def _under_way(self, flow: str) -> list[tuple[int, float]]:
        """From when until when each packet is under way; of a lost segment until its repair arrives."""
        fresh = self.fresh[flow]
        found: list[tuple[int, float]] = [(row["sent_ns"], row["time_ns"]) for row in fresh]
        arrived: dict[int, list[int]] = defaultdict(list)
        for row in fresh:
            arrived[row["seq"]].append(row["time_ns"])
        for row in self.lost_data[flow]:
            repairs = [time for time in arrived[row["seq"]] if time >= row["sent_ns"]]
            until = (repairs[0] if repairs else math.inf) if self.connected(flow) else row["time_ns"]
            found.append((row["sent_ns"], until))
        return found

    def _waits(self, flow: str, pending: list[tuple[int, float]], before: int, after: int) -> int | None:
        left = self.flows[flow]["sent_pkts"] - len(self.came[flow]) - len(self.lost_data[flow])
        if after >= self.end and left > 0:
            return before
        begins = [since for since, until in pending if since < after and until > before]
        if not begins:
            return None
        pause = max(200_000_000, 2 * min(row["time_ns"] - row["sent_ns"] for row in self.fresh[flow]))
        return before if min(begins) - before <= pause else min(begins)

    def completion_s(self, flow: str) -> float:
        row = self.flows[flow]
        return (row["completed_ns"] - row["start_ns"]) / 1e9 if row["completed_ns"] >= 0 else math.nan

    def completed_ratio(self, flow: str) -> float:
        row, app = self.flows[flow], self.apps[flow]
        ends = app.get("kind") == "ftp" and (app.get("size") or app.get("packets")) and row["start_ns"] >= 0
        return float(row["completed_ns"] >= 0) if ends else math.nan


OF_FLOW = tuple(name.removeprefix("flows.FLOW.") for name in names() if name.startswith("flows."))
"""All metrics of flows."""
OF_RUN = tuple(name for name in names() if "." not in name)
"""All metrics of runs."""
NOT_COUNTED = ("events", "packet-hops", "duplicated", "delivered", "inside", "odd-tunnel-ecn")
"""Lines of the census that no table has the rows of; their sum is checked."""


def differences(seed: int, bases: tuple[str, ...] = BASES) -> list[str]:
    """The metrics of a random run that are not what is counted, or the error that ended it."""
    try:
        results = generate(seed, bases).run(seed=seed)
    except rl.SimulationError as error:
        return [f"seed {seed}: {error}"]
    counted, found = Count(results), []
    wanted = [f"flows.*.{what}" for what in OF_FLOW]
    measured = dict(Measurement((*wanted, *OF_RUN)).of_results(results))
    pairs = {what: (measured[what], counted.of_run(what)) for what in OF_RUN}
    for flow in counted.flows:
        for what in OF_FLOW:
            name = f"flows.{flow}.{what}"
            pairs[name] = (measured.pop(name), counted.of_flow(flow, what))
    assert measured.keys() == set(OF_RUN), "each is compared"
    pairs |= _of_census(results, counted)
    for name, (value, true) in pairs.items():
        alike = math.isnan(value) == math.isnan(true)
        if not alike or abs(value - true) > RELATIVE * max(1.0, abs(true)):
            found.append(f"seed {seed}, {results.manifest.scenario_name}, {name}: {value}, counted {true}")
    return found


def _of_census(results: rl.Results, counted: Count) -> dict[str, tuple[float, float]]:
    """Each reason of a loss; and all packets that were made arrived, are lost, or are still there."""
    census = dict(results.census.rows())
    reasons = [name for name in census if name not in (*NOT_COUNTED, "created")]
    true = counted.census()
    made = census["created"] + census["duplicated"]
    ended = census["delivered"] + census["inside"] + sum(census[name] for name in reasons)
    pairs = {f"census.{name}": (float(census[name]), true.get(name, 0.0)) for name in (*reasons, "created")}
    return pairs | {"packets that ended": (float(ended), float(made))}


def main() -> int:
    """Compare many."""
    count, first = int(sys.argv[1]), int((sys.argv[2:] or ["1"])[0])
    wrong = [line for seed in range(first, first + count) for line in differences(seed)]
    print("\n".join([*wrong, f"{count} runs, {len(wrong)} metrics differ"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
