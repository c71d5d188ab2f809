"""Formulas on the rate of one flow in the steady state: window over RTT, the link, the sawtooth, loss, BBR, slow start.

A flow is measured over its longest stay in one cell, without the first two seconds of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.formulas.table import Case, Formula

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from roamlab.formulas.facts import Facts, FlowFacts, Hop, Ints, Stay

_FEWEST_LOSSES = 30
"""Loss events from which the formulas for loss are compared."""
_BETA = {"reno": 0.5, "cubic": 0.7}
"""Share of the window that a loss leaves."""


@dataclass(frozen=True)
class Steady:
    """A flow in its stay: what the path is and what was measured. Rates are of payload, in bit/s."""

    facts: Facts
    flow: FlowFacts
    stay: Stay
    path: list[Hop]
    back: list[Hop]

    @property
    def bottleneck(self) -> Hop:
        """The slowest hop, the first of them."""
        return min(self.path, key=lambda hop: hop.rate_bps)

    @property
    def base_rtt_s(self) -> float:
        """Propagation and transmission of a full segment and of its ACK (R)."""
        there = sum(hop.time_s(self.flow.wire_bytes) for hop in self.path)
        return there + sum(hop.time_s(40.0) for hop in self.back)

    @property
    def pipe_pkts(self) -> float:
        """Packets that the path holds without a queue (Lambda)."""
        return self.base_rtt_s * self.bottleneck.rate_bps / (8 * self.flow.wire_bytes)

    @property
    def most_bps(self) -> float:
        """The payload that the bottleneck can carry."""
        return self.bottleneck.rate_bps * self.flow.segment_bytes / self.flow.wire_bytes

    def rows(self, table: str) -> Ints:
        """Rows of the flow in the stay, by their numbers."""
        times = self.facts.columns(table)["time_ns"].astype(np.int64)
        inside = (times >= self.stay.start_ns) & (times < self.stay.end_ns)
        return np.flatnonzero(inside & self.facts.of_flow(table, self.flow))

    def goodput_bps(self) -> float:
        """New payload that arrived."""
        rows = self.rows("deliveries")
        fresh = self.facts.columns("deliveries")["fresh"][rows]
        return float(8 * self.flow.segment_bytes * fresh.sum() / self.stay.length_s)

    def weighted(self, name: str) -> tuple[Ints, Ints]:
        """Values of a variable of the sender, and for how long each held, in ns."""
        rows = self.rows("variables")
        table = self.facts.columns("variables")
        times = np.append(table["time_ns"][rows].astype(np.int64), self.stay.end_ns)
        return table[name][rows], np.diff(times)

    def rtt_s(self) -> tuple[float, float]:
        """Mean of the samples of the round-trip time, and their 90 % over their 10 % quantile."""
        rows = self.rows("variables")
        samples = self.facts.columns("variables")["rtt_ns"][rows].astype(np.float64)
        samples = samples[samples > 0] / 1e9
        if not samples.size:
            return math.nan, math.nan
        low, high = np.quantile(samples, [0.1, 0.9])
        return float(samples.mean()), float(high / low)

    def count(self, name: str) -> int:
        """How often a counter of the sender was raised."""
        values, _ = self.weighted(name)
        return int(values[-1]) - int(values[0]) if values.size else 0

    def queue_pkts(self) -> tuple[float, float]:
        """Mean queue at the bottleneck, and the share of the time in which it was not empty; NaN: not recorded."""
        name = self.bottleneck.name
        table = self.facts.columns("queue")
        rows = np.flatnonzero(self.facts.rows("queue", queue=name))
        if not rows.size:
            return math.nan, math.nan
        start, end = self.stay.start_ns, self.stay.end_ns
        times = np.append(np.clip(table["time_ns"][rows].astype(np.int64), start, end), end)
        held, length = np.diff(times), table["packets"][rows].astype(np.float64)
        return float((held * length).sum() / held.sum()), float(held[length > 0].sum() / held.sum())

    def alone(self) -> bool:
        """No other flow has data on the bottleneck."""
        return not self.facts.shared(self.flow, self.bottleneck)


def steady(facts: Facts, flow: FlowFacts) -> Steady | str:
    """The flow in the steady state, or the assumption that it breaks."""
    if not flow.is_tcp:
        return "no flow of TCP"
    if not flow.endless:
        return "the application does not always have data"
    if broken := facts.unsteady():
        return broken
    stay = facts.stay(flow)
    if stay is None or stay.length_s < 1.0:
        return "no stay in a cell is longer than three seconds"
    there = facts.path(flow.source, flow.destination, flow.wire_bytes, stay.cell)
    back = facts.path(flow.destination, flow.source, 40.0, stay.cell)
    if not there or not back:
        return "no path is known"
    found = Steady(facts, flow, stay, there, back)
    table = facts.columns("deliveries")
    rows = found.rows("deliveries")
    rows = rows[table["bytes"][rows] == flow.wire_bytes]
    if rows.size < 100:
        return "fewer than 100 full segments arrived in the stay"
    least = float((table["time_ns"][rows].astype(np.int64) - table["sent_ns"][rows].astype(np.int64)).min())
    base = sum(hop.time_s(flow.wire_bytes) for hop in there)
    queued, _ = found.queue_pkts()
    if least / 1e9 > 1.05 * base and not queued > 0.0:
        return "its packets take a longer way"
    return found


def _judged(judge: Callable[[Steady], Case]) -> Callable[[Facts], Iterator[Case]]:
    """The formula of a steady flow for all flows of a run."""

    def judged(facts: Facts) -> Iterator[Case]:
        for flow in facts.flows:
            found = steady(facts, flow)
            yield Case(flow.name, broken=found) if isinstance(found, str) else judge(found)

    return judged


def _window(run: Steady) -> Case:
    """Window over RTT."""
    window = run.flow.window_pkts
    cwnd, held = run.weighted("cwnd")
    open_for = float(held[cwnd >= window].sum() / held.sum()) if held.size else 0.0
    if open_for < 0.98:
        return Case(
            run.flow.name, broken=f"cwnd has reached the receive window in {open_for:.0%} of the time"
        )
    rtt, _ = run.rtt_s()
    expected = 8 * run.flow.segment_bytes * window / max(rtt, run.base_rtt_s)
    return Case(run.flow.name, min(expected, run.most_bps), run.goodput_bps())


def _link(run: Steady) -> Case:
    """The rate of the bottleneck."""
    _, used = run.queue_pkts()
    if math.isnan(used):
        return Case(
            run.flow.name, broken=f"the queue of the bottleneck {run.bottleneck.name} is not recorded"
        )
    if used < 0.98:
        return Case(run.flow.name, broken=f"the bottleneck's queue holds packets in {used:.0%} of the time")
    if not run.alone():
        return Case(run.flow.name, broken="other flows share the bottleneck")
    return Case(run.flow.name, run.most_bps, run.goodput_bps())


def _limit(run: Steady) -> float:
    limit = run.bottleneck.queue.get("limit", "")
    return float(limit.split()[0]) if str(limit).endswith(" pkt") else math.nan


def _sawtooth(run: Steady) -> Case:
    """Use of the link by the sawtooth of one flow."""
    name, queue = run.flow.name, run.bottleneck.queue
    if run.flow.control not in _BETA:
        return Case(name, broken=f"{run.flow.control} makes no sawtooth")
    if queue.get("kind") != "droptail" or math.isnan(limit := _limit(run)):
        return Case(name, broken="the bottleneck's queue is not droptail in packets")
    if not run.alone():
        return Case(name, broken="other flows share the bottleneck")
    if random := _random(run):
        return Case(name, broken=f"random loss at {random}")
    if run.count("timeouts") or run.count("reductions") < 3:
        return Case(name, broken="fewer than 3 cuts, or a timeout among them")
    beta, pipe, top = _BETA[run.flow.control], run.pipe_pkts, run.pipe_pkts + limit
    use = 1.0
    if beta * top < pipe:
        if run.flow.control != "reno":
            return Case(name, broken="the queue is too short for a closed form of CUBIC")
        b = run.flow.acked_each
        lacking = b * (pipe - beta * top) ** 2 / 2
        volume = b * (pipe**2 - (beta * top) ** 2) / 2 + b * (top**2 - pipe**2) / 2
        use = 1 - lacking / (volume + lacking)
    return Case(name, use * run.most_bps, run.goodput_bps())


def _random(run: Steady) -> str:
    """The first hop of the path with random loss."""
    lossy = set()
    for link in run.facts.network.get("links", ()):
        first, second = link["between"]
        lossy |= {f"{first}->{second}"} if link.get("loss") else set()
        lossy |= {f"{second}->{first}"} if link.get("reverse_loss") else set()
    for name, cell in run.facts.network.get("cells", {}).items():
        lossy |= {f"{name}/air"} if cell.get("loss") else set()
    return next((hop.name for hop in run.path if hop.name in lossy), "")


def _loss_events(run: Steady) -> tuple[float, str]:
    """Cuts of the window per packet, or what forbids a formula for random loss."""
    if not _random(run):
        return math.nan, "no random loss on the path"
    events = run.count("reductions")
    if events < _FEWEST_LOSSES:
        return math.nan, f"{events} cuts of the window, not {_FEWEST_LOSSES}"
    _, spread = run.rtt_s()
    if spread > 1.3:
        return math.nan, "the round-trip time varies by more than 30 %"
    cwnd, held = run.weighted("cwnd")
    if float(held[cwnd >= run.flow.window_pkts].sum()) > 0.01 * float(held.sum()):
        return math.nan, "the receive window limits the flow"
    return events / run.rows("deliveries").size, ""


def mathis(segment_bytes: float, rtt_s: float, p: float, b: float) -> float:
    """Rate of Reno under random loss in bit/s: S/R sqrt(3/(2 b p)) (Mathis et al. 1997)."""
    return 8 * segment_bytes / rtt_s * math.sqrt(3 / (2 * b * p))


def pftk(segment_bytes: float, rtt_s: float, p: float, b: float, rto_s: float) -> float:
    """Rate of Reno with timeouts in bit/s (Padhye et al. 1998; RFC 5348 section 3.1)."""
    timeouts = rto_s * min(1.0, 3 * math.sqrt(3 * b * p / 8)) * p * (1 + 32 * p**2)
    return 8 * segment_bytes / (rtt_s * math.sqrt(2 * b * p / 3) + timeouts)


def cubic_window(rtt_s: float, p: float) -> float:
    """Mean window of CUBIC in packets (RFC 9438 section 5.1, with C = 0.4 and beta = 0.7), at least Reno's."""
    return max(1.054 * math.pow(rtt_s / p, 0.75), math.sqrt(3 / (2 * p)))


def _of_loss(control: str, rate: Callable[[Steady, float, float], float]) -> Callable[[Steady], Case]:
    def judge(run: Steady) -> Case:
        if run.flow.control != control:
            return Case(run.flow.name, broken=f"its congestion control is {run.flow.control}")
        p, broken = _loss_events(run)
        rtt, _ = run.rtt_s()
        return Case(run.flow.name, broken=broken) if broken else _compared(run, rate(run, rtt, p))

    return judge


def _compared(run: Steady, expected: float) -> Case:
    if expected > 0.9 * run.most_bps:
        return Case(run.flow.name, broken="the formula's rate is that of the bottleneck")
    return Case(run.flow.name, expected, run.goodput_bps())


def _mathis(run: Steady, rtt: float, p: float) -> float:
    return mathis(run.flow.segment_bytes, rtt, p, run.flow.acked_each)


def _pftk(run: Steady, rtt: float, p: float) -> float:
    values, held = run.weighted("rto_ns")
    backoff, _ = run.weighted("backoff")
    rto = float((values / backoff * held).sum() / held.sum()) / 1e9
    return pftk(run.flow.segment_bytes, rtt, p, run.flow.acked_each, rto)


def _cubic(run: Steady, rtt: float, p: float) -> float:
    return 8 * run.flow.segment_bytes * cubic_window(rtt, p) / rtt


def _no_timeouts(judge: Callable[[Steady], Case]) -> Callable[[Steady], Case]:
    def judged(run: Steady) -> Case:
        if run.count("timeouts") > 0.05 * run.count("reductions"):
            return Case(run.flow.name, broken="more than one cut of 20 is a timeout")
        return judge(run)

    return judged


def _bbr(run: Steady) -> Case:
    """BBR alone at a bottleneck: the link's rate except in ProbeRTT."""
    if not run.flow.control.startswith("bbr"):
        return Case(run.flow.name, broken=f"its congestion control is {run.flow.control}")
    if not run.alone():
        return Case(run.flow.name, broken="other flows share the bottleneck: no formula is known")
    limit = _limit(run)
    if not limit > 1.5 * run.pipe_pkts:
        return Case(run.flow.name, broken="the queue is shorter than 1.5 of the path's packets")
    if _random(run):
        return Case(run.flow.name, broken="random loss")
    share = 0.2 / (10.0 if run.flow.control == "bbr" else 5.0)
    return Case(run.flow.name, (1 - share) * run.most_bps, run.goodput_bps())


def _fill(facts: Facts) -> Iterator[Case]:
    """Time in which slow start fills the path."""
    for flow in facts.flows:
        found = steady(facts, flow)
        if isinstance(found, str):
            yield Case(flow.name, broken=found)
            continue
        table = facts.columns("variables")
        rows = facts.of_flow("variables", flow)
        times, cwnd = table["time_ns"][rows].astype(np.int64), table["cwnd"][rows]
        first = [each for each in facts.gaps if each[0] in (flow.source, flow.destination)]
        until = min((each[1] for each in first), default=facts.duration_ns)
        initial = float(flow.transport["initial_window"].split()[0])
        begun = np.flatnonzero(cwnd >= initial)
        pipe = min(found.pipe_pkts, flow.window_pkts)
        full = np.flatnonzero((cwnd >= pipe) & (times < until))
        cut = np.flatnonzero((table["reductions"][rows] > 0) | (cwnd >= table["ssthresh"][rows]))
        broken = ""
        if not found.alone():
            broken = "other flows share the bottleneck"
        elif not begun.size or pipe <= initial:
            broken = "the first window fills the path"
        elif not full.size or (cut.size and cut[0] < full[0]) or flow.control.startswith("bbr"):
            broken = "slow start ends before the path is full"
        if broken:
            yield Case(flow.name, broken=broken)
            continue
        rounds = math.log(pipe / initial) / math.log(1 + 1 / flow.acked_each)
        expected = found.base_rtt_s * math.ceil(rounds)
        took = (times[full[0]] - times[begun[0]]) / 1e9
        yield Case(flow.name, expected, float(took), accuracy=found.base_rtt_s)


FORMULAS = (
    Formula("window over RTT", "X = S W/R", "definition", "bit/s", 0.01, _judged(_window)),
    Formula("link", "X = r S/(S + H)", "definition", "bit/s", 0.01, _judged(_link)),
    Formula(
        "sawtooth",
        "use = 1 - b (L - beta C)^2/2 / volume of a cycle",
        "derived, docs/theory.md",
        "bit/s",
        0.02,
        _judged(_sawtooth),
    ),
    Formula(
        "Mathis",
        "X = S/R sqrt(3/(2 b p))",
        "Mathis et al. 1997",
        "bit/s",
        0.2,
        _judged(_no_timeouts(_of_loss("reno", _mathis))),
    ),
    Formula(
        "PFTK",
        "X = S/(R sqrt(2bp/3) + RTO min(1, 3 sqrt(3bp/8)) p (1 + 32p^2))",
        "Padhye et al. 1998",
        "bit/s",
        0.3,
        _judged(_of_loss("reno", _pftk)),
    ),
    Formula(
        "CUBIC",
        "W = max(1.054 (R/p)^(3/4), sqrt(3/(2p)))",
        "RFC 9438 5.1",
        "bit/s",
        0.2,
        _judged(_no_timeouts(_of_loss("cubic", _cubic))),
    ),
    Formula(
        "BBR alone", "X = r S/(S + H) (1 - ProbeRTT)", "Cardwell et al. 2016", "bit/s", 0.05, _judged(_bbr)
    ),
    Formula("slow start", "t = R ceil(ln(L/IW)/ln(1 + 1/b))", "derived, docs/theory.md", "s", 0.0, _fill),
)
