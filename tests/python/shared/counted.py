"""Expected tables of totals, and metrics of users' quality: plain loops over the rows of events.

`truth.py` has the other metrics, and compares. Nothing here is taken from the product but its tables.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import roamlab as rl

Row = dict[str, Any]

CUTS = ("fast-retransmit", "timeout", "ecn-reduction", "persistent-congestion", "safe-retreat")
SPARE = ("copy-released", "duplicate", "suppressed-ack")
CODECS = {"g711": (0.0, 4.3, 0.0), "g711-plc": (0.0, 25.1, 0.0), "g729": (11.0, 19.0, 0.005)}
"""Ie, Bpl (ITU-T G.113) and the look-ahead in s."""
QUIC_HEADERS = 1 + 8 + 4 + 16 + 10
"""Short header with connection id and packet number, tag of AEAD, and the frame's header (docs/models/quic.md)."""
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def span(text: str) -> float:
    """A time of a scenario, in s."""
    return float(text.split()[0]) * UNITS[text.split()[1]]


def _is_data(row: Row) -> bool:
    return row["event"] == "send" and row["kind"] in ("data", "datagram")


def _bytes(text: str) -> int:
    number, unit = text.split()
    return int(float(number) * {"B": 1, "kB": 1000, "MB": 10**6, "GB": 10**9}[unit])


class Counted:
    """The totals of one run, and its quality for users."""

    def __init__(self, results: rl.Results) -> None:
        self.end = results.manifest.outline.duration_ns
        self.parameters = results.manifest.parameters
        names = ("flows", "deliveries", "drops", "tcp", "causes", "units", "packets")
        made = {name: results.table(name).to_dicts() for name in names}
        self.flows = {row["flow"]: row for row in made["flows"]}
        self.causes: list[Row] = made["causes"]
        self.apps = {flow: self._table(flow).get("app", {}) for flow in self.flows}
        self.came, self.lost, self.events, self.units, self.packets = (defaultdict(list) for _ in range(5))
        for name, into in (
            ("deliveries", self.came),
            ("drops", self.lost),
            ("tcp", self.events),
            ("units", self.units),
            ("packets", self.packets),
        ):
            for row in made[name]:
                into[row["flow"]].append(row)
        self.sends = {flow: [row for row in self.packets[flow] if _is_data(row)] for flow in self.flows}
        """The data that each flow's source sent."""
        self.fresh = {flow: [row for row in self.came[flow] if row["fresh"]] for flow in self.flows}
        """Data that arrived for the first time."""
        self.data = {flow: {row["serial"]: row for row in rows} for flow, rows in self.sends.items()}
        self.numbers = {
            flow: {(row["number"], row["time_ns"]) for row in rows.values()}
            for flow, rows in self.data.items()
        }
        self.others = {row["serial"] for row in made["packets"] if row["kind"] not in ("data", "datagram")}
        self.lost_data = {
            flow: [row for row in self._dropped(flow) if self.has_data(flow, row)] for flow in self.flows
        }
        self.phases: list[Row] = results.handovers.to_dicts()
        self.messages = results.signalling.height
        self.every_drop: list[Row] = made["drops"]
        self.every_packet: list[Row] = made["packets"]

    def _table(self, flow: str) -> Row:
        named = {each["name"]: each for each in self.parameters["flows"]}
        while flow not in named and "-" in flow:
            flow = flow.rpartition("-")[0]
        found: Row = named.get(flow, {})
        return found

    def connected(self, flow: str) -> bool:
        """True if it has acknowledgements."""
        return bool(self.flows[flow]["kind"] != "udp")

    # The columns of the table `flows`.

    def sent_pkts(self, flow: str) -> float:
        return len(self.sends[flow])

    def retransmitted_pkts(self, flow: str) -> float:
        return sum(row["retransmission"] for row in self.sends[flow])

    def delivered_pkts(self, flow: str) -> float:
        return len(self.fresh[flow])

    def delivered_bytes(self, flow: str) -> float:
        """Of UDP all but 28 B of headers; of TCP the segments that the scenario asks for."""
        if not self.connected(flow):
            return sum(row["bytes"] - 28 for row in self.fresh[flow])
        return len(self.fresh[flow]) * self._segment(flow)

    def _segment(self, flow: str) -> int:
        if self.flows[flow]["kind"] == "quic":
            return 1200 - QUIC_HEADERS
        return _bytes(self._table(flow)["transport"].get("segment") or "1000 B")

    def duplicate_pkts(self, flow: str) -> float:
        return sum(not row["fresh"] for row in self.came[flow])

    def _later(self, flow: str) -> list[int]:
        """How many of the 192 arrivals before each one were sent later."""
        order = [row["serial"] for row in self.came[flow]]
        found, largest = [], -1
        for at, serial in enumerate(order):
            before = order[max(0, at - 192) : at] if serial < largest else []
            found.append(sum(each > serial for each in before))
            largest = max(largest, serial)
        return found

    def reordered_pkts(self, flow: str) -> float:
        return sum(each > 0 for each in self._later(flow))

    def reordering_extent_pkts(self, flow: str) -> float:
        return max(self._later(flow), default=0)

    def _dropped(self, flow: str) -> list[Row]:
        return [row for row in self.lost[flow] if row["reason"] not in SPARE]

    def dropped_pkts(self, flow: str) -> float:
        return len(self._dropped(flow))

    def dropped_ack_pkts(self, flow: str) -> float:
        return sum(not self.has_data(flow, row) for row in self._dropped(flow))

    def has_data(self, flow: str, row: Row) -> bool:
        """True if a lost packet was data: by the sent packets, of a copy by its number and its time of sending."""
        if row["serial"] in self.others:
            return False
        return row["serial"] in self.data[flow] or (row["seq"], row["sent_ns"]) in self.numbers[flow]

    def timeouts(self, flow: str) -> float:
        return sum(row["event"] == "timeout" for row in self.events[flow])

    def spurious_timeouts(self, flow: str) -> float:
        """By the packets: an earlier transmission of the segment, over the same connection, arrived at any time."""
        arrived = {(row["seq"], row["sent_ns"]) for row in self.came[flow]}
        lost = {row["serial"] for row in self.lost[flow]}
        source, found = self.flows[flow]["source"], 0
        mine = [row for row in self.packets[flow] if row["event"] == "send" and row["place"] == source]
        for row in self.events[flow]:
            if row["event"] != "timeout":
                continue
            earlier: list[Row] = []
            for sent in mine:
                if sent["time_ns"] >= row["time_ns"]:
                    break
                if sent["kind"] not in ("data", "syn") or sent["number"] != row["seq"]:
                    continue
                # A first transmission of a number that was sent before is one of another connection.
                earlier = [*earlier, sent] if sent["retransmission"] else [sent]
            found += any(
                (sent["number"], sent["time_ns"]) in arrived
                if sent["kind"] == "data"
                else sent["serial"] not in lost
                for sent in earlier
            )
        return found

    def fast_retransmits(self, flow: str) -> float:
        return sum(row["event"] == "fast-retransmit" for row in self.events[flow])

    def flow_goodput_bps(self, flow: str) -> float:
        start = self.start_ns(flow)
        bits = 8 * self.delivered_bytes(flow)
        return bits * 1e9 / (self.end - start) if 0 <= start < self.end else 0.0

    def start_ns(self, flow: str) -> float:
        """When its source first sent anything."""
        source = self.flows[flow]["source"]
        sent = [row for row in self.packets[flow] if row["event"] == "send" and row["place"] == source]
        return sent[0]["time_ns"] if sent else -1

    def finish_ns(self, flow: str) -> float:
        return self.came[flow][-1]["time_ns"] if self.came[flow] else -1

    def completed_ns(self, flow: str) -> float:
        """When as many segments had arrived as hold the file."""
        app = self.apps[flow]
        if app.get("kind") != "ftp" or self.start_ns(flow) < 0:
            return -1
        whole = int(app["packets"].split()[0]) if app.get("packets") else 0
        if app.get("size"):
            whole = math.ceil(_bytes(app["size"]) / self._segment(flow))
        if app.get("stop") and span(app["stop"]) * 1e9 < self.end:
            # Nothing new is sent behind it: what has been sent is the file.
            source = self.flows[flow]["source"]
            rows = self.packets[flow]
            data = [
                row
                for row in rows
                if row["event"] == "send" and row["place"] == source and row["kind"] == "data"
            ]
            whole = len({row["number"] for row in data})
        fresh = self.fresh[flow]
        return fresh[whole - 1]["time_ns"] if whole and len(fresh) >= whole else -1

    def census(self) -> dict[str, float]:
        """Losses by reason, packets made, and that none vanished; hops and events have no rows."""
        reasons: dict[str, float] = defaultdict(float)
        for row in self.every_drop:
            reasons[row["reason"]] += 1
        sent = sum(row["event"] == "send" and row["kind"] != "signal" for row in self.every_packet)
        return reasons | {"created": sent + self.messages}

    # For users.

    def jitter_s(self, flow: str) -> float:
        fresh, jitter = self.fresh[flow], 0.0
        for one, other in pairwise(fresh):
            apart = abs((other["time_ns"] - one["time_ns"]) - (other["sent_ns"] - one["sent_ns"])) / 1e9
            jitter += (apart - jitter) / 16
        return jitter if len(fresh) > 1 else math.nan

    def _played(self, flow: str) -> tuple[list[int], int]:
        """The play-out delay, in ns, that each packet of a call meets, and how many come after it."""
        base, late, waiting, met = math.inf, 0, [], []
        for row in self.fresh[flow]:
            delay = row["time_ns"] - row["sent_ns"]
            base = min(base, delay)
            if delay <= base + 60_000_000:
                waiting = []
            else:
                waiting.append((row["time_ns"], delay))
                if row["time_ns"] - waiting[0][0] >= 200_000_000:
                    base, waiting = min(one for _, one in waiting), []
                late += delay > base + 60_000_000
            met.append(int(base) + 60_000_000)
        return met, late

    def late_ratio(self, flow: str) -> float:
        sent = self.flows[flow]["sent_pkts"]
        if self.apps[flow].get("kind") != "voip" or self.apps[flow]["codec"] not in CODECS or not sent:
            return math.nan
        return self._played(flow)[1] / sent

    def mos(self, flow: str) -> float:
        app, sent = self.apps[flow], len(self.sends[flow])
        if app.get("kind") != "voip" or app["codec"] not in CODECS or not sent:
            return math.nan
        ie, bpl, look_ahead = CODECS[app["codec"]]
        met, late = self._played(flow)
        percent = 100 * (sent - len(met) + late) / sent
        delay = 0.0
        if met:
            delay = 1e3 * (0.01 * (app.get("frames") or 2) + look_ahead) + sum(met) / len(met) / 1e6
        impaired = 0.024 * delay + (0.11 * (delay - 177.3) if delay > 177.3 else 0.0)
        r = 93.2 - impaired - (ie + (95 - ie) * percent / (percent + bpl))
        if r < 0:
            return 1.0
        return 4.5 if r > 100 else max(1.0, 1 + 0.035 * r + 7e-6 * r * (r - 60) * (100 - r))

    def frame_loss_ratio(self, flow: str) -> float:
        units = [row for row in self.units[flow] if row["kind"] in "IPB"]
        return sum(row["completed_ns"] < 0 for row in units) / len(units) if units else math.nan

    def freeze_s(self, flow: str) -> float:
        """A picture is frozen from a frame that is not shown to the next one that is."""
        units = [row for row in self.units[flow] if row["kind"] in "IPB"]
        if not units:
            return math.nan
        reference, frozen, since = False, 0, None
        for row in units:
            due = row["time_ns"] + 200_000_000
            shown = 0 <= row["completed_ns"] <= due and (row["kind"] == "I" or reference)
            if row["kind"] != "B":
                reference = shown
            if due > self.end:
                break
            if shown and since is not None:
                frozen, since = frozen + due - since, None
            elif not shown and since is None:
                since = due
        return (frozen + (self.end - since if since is not None else 0)) / 1e9

    def page_load_s(self, flow: str) -> float:
        pages: dict[int, list[Row]] = defaultdict(list)
        for row in self.units[flow]:
            if row["kind"] == "object":
                pages[row["group"]].append(row)
        whole, never = [], []
        for rows in pages.values():
            begun, ends = min(row["time_ns"] for row in rows), [row["completed_ns"] for row in rows]
            if len(rows) == self.apps[flow]["objects"] and min(ends) >= 0:
                whole.append((max(ends) - begun) / 1e9)
            else:
                never.append((self.end - begun) / 1e9)
        mean = sum(whole) / len(whole) if whole else -math.inf
        counted = whole + [each for each in never if each > mean]
        return sum(counted) / len(counted) if counted else math.nan

    def rebuffering_ratio(self, flow: str) -> float:
        """A player in steps: it shows a segment, or waits for the next one."""
        app, units = self.apps[flow], self.units[flow]
        if app.get("kind") != "dash" or not units:
            return math.nan
        length, end = span(app["segment"]), self.end / 1e9
        needed = max(1, math.ceil(span(app["startup"]) / length - 1e-9))
        came = [row["completed_ns"] / 1e9 for row in units if row["completed_ns"] >= 0]
        last = app.get("segments") == len(came)
        if len(came) < needed:
            return 1.0
        clock = begun = came[needed - 1]
        stalled, shown, ready = 0.0, 0, needed
        while shown < len(came):
            if shown < ready or came[shown] <= clock + 1e-9:
                clock, shown = clock + length, shown + 1
                continue
            ready = min(shown + needed, len(came))
            resumed = max(clock, came[ready - 1])
            stalled, clock = stalled + resumed - clock, resumed
        if clock < end and not last:
            stalled, clock = stalled + end - clock, end
        clock = min(clock, end)
        return stalled / (clock - begun) if clock > begun else 1.0

    def slow_s(self, flow: str) -> float:
        """Looked at in each instant at which a packet enters or leaves a window."""
        is_file, connected = self.apps[flow].get("kind") == "ftp", self.connected(flow)
        if (connected and not is_file) or self.flows[flow]["start_ns"] < 0:
            return math.nan
        fresh = self.fresh[flow]
        if len(fresh) < 4:
            return 0.0
        least = min(row["time_ns"] - row["sent_ns"] for row in fresh)
        limit = max(200_000_000, 2 * least)
        came = sorted((row["time_ns"], row["bytes"]) for row in fresh)
        base = (
            came
            if connected
            else sorted((row["time_ns"] + least, row["wire_bytes"]) for row in self.sends[flow])
        )
        end = self.flows[flow]["completed_ns"]
        end = end if end >= 0 else self.end
        begin = base[0][0]
        edges = {begin, end}
        for course in (came, base):
            edges |= {time + shift for time, _ in course for shift in (-limit, limit)}
        at = sorted(each for each in edges if begin <= each <= end)
        size = sum(each for _, each in base) / len(base)
        slow = _slow(at, (_Sum(came), _Sum(base)), (begin, end, limit, size), fixed=connected)
        return sum(stop - start for start, stop in slow) / 1e9

    # Of the run.

    def goodput_bps(self) -> float:
        begun = [row["start_ns"] for row in self.flows.values() if row["start_ns"] >= 0]
        bits = 8 * sum(row["delivered_bytes"] for row in self.flows.values())
        return bits * 1e9 / (self.end - min(begun)) if begun and min(begun) < self.end else 0.0

    def _elastic(self) -> list[str]:
        ours = [name for name in self.flows if not (name.endswith("-requests") and name[:-9] in self.flows)]
        return [name for name in ours if self.connected(name)]

    def jain(self) -> float:
        ours = [name for name in self.flows if not (name.endswith("-requests") and name[:-9] in self.flows)]
        shares = [self.flows[name]["goodput_bps"] for name in self._elastic() or ours]
        squares = len(shares) * sum(share * share for share in shares)
        return sum(shares) ** 2 / squares if squares else math.nan

    def synchronisation(self) -> float:
        every = [row for rows in self.came.values() for row in rows]
        delays = [row["time_ns"] - row["sent_ns"] for row in every]
        around = 2 * sum(delays) / len(delays) if delays else 0.0
        elastic = self._elastic()
        cuts = [
            (row["time_ns"], flow) for flow in elastic for row in self.events[flow] if row["event"] in CUTS
        ]
        most = max(
            (len({flow for time, flow in cuts if at <= time <= at + around}) for at, _ in cuts), default=0
        )
        return most / len(elastic) if elastic else math.nan

    def window_correlation(self) -> float:
        courses = []
        for flow in self._elastic():
            window, rows, course = 1.0, iter(self.events[flow]), []
            row = next(rows, None)
            for step in range(math.ceil(self.end / 50_000_000 - 1e-9)):
                while row is not None and row["time_ns"] <= step * 50_000_000:
                    window, row = row["cwnd"], next(rows, None)
                course.append(window)
            courses.append(course)
        pairs = [_pearson(one, other) for one, other in combinations(courses, 2)]
        return sum(pairs) / len(pairs) if pairs else math.nan


class _Sum:
    """Bytes until a time."""

    def __init__(self, course: list[tuple[int, int]]) -> None:
        self.course, self.at, self.total = course, [0] * 4, [0] * 4

    def until(self, hand: int, time: int) -> int:
        """Each hand only goes forward."""
        while self.at[hand] < len(self.course) and self.course[self.at[hand]][0] <= time:
            self.total[hand] += self.course[self.at[hand]][1]
            self.at[hand] += 1
        return self.total[hand]


def _slow(
    at: list[int], sums: tuple[_Sum, _Sum], limits: tuple[int, int, int, float], *, fixed: bool
) -> list[tuple[int, int]]:
    """Begin and end of each slow period, in ns."""
    (came, base), (begin, end, limit, size) = sums, limits
    spans: list[list[int]] = []
    reference = None
    for time in at:
        first, last = max(begin, time - limit), min(end, time + limit)
        width = max(1, last - first)
        now = (came.until(1, last) - came.until(0, first)) / width
        if fixed:
            past = max(begin, time - 5 * limit)
            before = (base.until(3, time) - base.until(2, past)) / max(1, time - past)
            before = before if time - begin >= limit else 0.0
        else:
            before = (base.until(3, last) - base.until(2, first)) / width
        before = before if before * 2 * limit >= 4 * size else 0.0
        if reference is not None:
            spans[-1][1] = time
            if now >= (reference if fixed else before) / 2:
                reference = None
        if reference is None and now < before / 2:
            spans.append([time, time])
            reference = before
    joined: list[list[int]] = []
    for start, stop in spans:
        if joined and start - joined[-1][1] < limit:
            joined[-1][1] = stop
        else:
            joined.append([start, stop])
    return [(start, stop) for start, stop in joined if stop - start > limit]


def _pearson(one: list[float], other: list[float]) -> float:
    if len(set(one)) == 1 or len(set(other)) == 1:
        return 0.0
    means = sum(one) / len(one), sum(other) / len(other)
    apart = [(left - means[0], right - means[1]) for left, right in zip(one, other, strict=True)]
    squares = sum(left * left for left, _ in apart) * sum(right * right for _, right in apart)
    return sum(left * right for left, right in apart) / math.sqrt(squares)
