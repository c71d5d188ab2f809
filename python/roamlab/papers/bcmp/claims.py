"""The paper's claims, decided from the runs. A verdict is computed; the sentences are in `paper.toml`."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roamlab.papers.bcmp.experiments import HIGH, LOW, STREAMS, TCPS, TOPOLOGIES
from roamlab.papers.bcmp.measures import STEPS_MS
from roamlab.papers.deciding import claim, defined, mean
from roamlab.statistics.claims import (
    Measure,
    as_printed,
    at_least,
    at_least_as_printed,
    at_most,
    at_most_as_printed,
    greater,
    less,
    within,
)
from roamlab.statistics.stats import share_interval, smallest, student

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from roamlab.papers.bcmp.evidence import Case, Evidence, Point
    from roamlab.papers.bcmp.measures import Download, Streams
    from roamlab.statistics.claims import Claim, Claimed
    from roamlab.statistics.stats import Interval

Values: TypeAlias = NDArray[np.float64]
"""One entry per run."""

MOVING = ("planned", "unplanned")
LINK_BPS = 10e6
"""The maximum that throughput is a share of: the link from a correspondent to the home agent."""
LIKELY = 0.5
"""Numbers of packets have a "high probability" if at least half of all handovers lose that number."""
RARELY = 0.01
"""Limit for an event of at most one handover, or packet, in a hundred: the paper examined 100 handovers."""
ALIKE = 0.01
"""Throughputs are "alike", and so are distributions of jitter, if they differ by at most a hundredth."""
JITTER_MS = 1.0
"""A "large" jitter."""
WAIT_MS = 0.5
"""The delay variance that the paper names for the mesh."""
GATEWAY = {26, 27}
"""Between these access routers of the tree, neighbours, the way leads through the gateway."""
MOSTLY = 0.5
"""Losses "happen" at some handovers if at least half of all lost packets are lost there."""
CLOSELY = 0.1
"""NewReno and Tahoe follow "closely" within a tenth of the maximum."""

NAMES = dict(zip(TCPS, ("Tahoe", "Reno", "NewReno", "SACK", "FACK", "Vegas"), strict=True))


def share(runs: Sequence[Download]) -> Values:
    """Throughput as a share of the maximum, run by run."""
    return np.array([run.throughput_bps / LINK_BPS for run in runs])


def above(runs: Sequence[Streams], of: str, step_ms: float) -> Values:
    """Share of the call's packets with a `variance` or `jitter` above one of `STEPS_MS`, run by run."""
    at = STEPS_MS.index(step_ms)
    return np.array([getattr(run, of)[at] for run in runs])


def lost(found: Evidence, case: Case) -> list[NDArray[np.int64]]:
    """Packets that each handover loses, run by run: a run may have fewer handovers than another."""
    return [np.array(run.lost) for run in found.streams[case]]


def _share(what: str, values: Values, claimed: Claimed) -> Measure:
    return Measure(what, student(values.tolist()), "1", claimed)


def _best(values: Iterable[Values]) -> Values:
    return np.asarray(np.max(list(values), axis=0))


def login(found: dict[Case, list[dict[str, int]]], moves: int) -> Claim:
    """Each procedure of section 2.1 is done in each network; `moves`: of the host with streams."""
    asked = (
        ("logins with an address from the anchor", "logged-in", 24, MOVING),
        ("temporary tunnels of planned handovers", "temporary-tunnel-started", moves, ("planned",)),
        ("tunnels moved to a new access router", "anchor-path-switched", moves, ("unplanned",)),
        ("registrations of anchors at the home agent", "home-agent-registered", 25, MOVING),
        ("ends of sessions", "logged-out", 1, MOVING),
        ("idle hosts that were paged", "host-paged", 1, MOVING),
    )

    def most(phase: str, ways: Sequence[str]) -> list[int]:
        return [max(run.get(phase, 0) for run in found[case]) for case in product(TOPOLOGIES, ways)]

    measures = (
        Measure(
            f"{what}, most of a run, in the network with fewest",
            smallest(most(phase, ways)),
            "1",
            at_least(bound),
        )
        for what, phase, bound, ways in asked
    )
    return claim("bcmp.login", measures, moves=moves)


def handovers_that(found: Evidence, case: Case, fewest: int, most: float = math.inf) -> Interval:
    """The share of handovers that lose this number of packets."""
    runs = lost(found, case)
    counts = np.concatenate(runs)
    return share_interval(int(((counts >= fewest) & (counts <= most)).sum()), counts.size, len(runs))


def _losing(found: Evidence, case: Case, what: str, claimed: Claimed, *counts: int) -> Measure:
    topology, way = case
    what = f"{topology}: share of the {way} handovers that lose {what}"
    return Measure(what, handovers_that(found, case, *counts), "1", claimed)


def _lost(name: str, found: Evidence, measures: Iterable[Measure]) -> Claim:
    return claim(
        name, measures, found.interpretation, streams=", ".join(STREAMS), likely=LIKELY, rarely=RARELY
    )


def _planned(found: Evidence) -> Claim:
    measures = (
        _losing(found, (topology, "planned"), "a packet", at_most(RARELY), 1) for topology in TOPOLOGIES
    )
    return _lost("bcmp.fig4.planned", found, measures)


def _losses(found: Evidence, topology: str, likely: tuple[int, int], most: int) -> list[Measure]:
    case, (first, last) = (topology, "unplanned"), likely
    return [
        _losing(found, case, f"{first} to {last} packets", at_least(LIKELY), first, last),
        _losing(found, case, f"more than {most} packets", at_most(RARELY), most + 1),
    ]


def _fig4_tree(found: Evidence) -> Claim:
    many = _losing(found, ("tree", "unplanned"), "6 to 14 packets", greater(), 6, 14)
    return _lost("bcmp.fig4.tree", found, (*_losses(found, "tree", (2, 5), 14), many))


def _fig4_mesh(found: Evidence) -> Claim:
    return _lost("bcmp.fig4.mesh", found, _losses(found, "mesh", (1, 2), 5))


def _delay(found: Evidence) -> Claim:
    def forwarding(topology: str) -> Measure:
        what = f"{topology}: forwarding delay, mean over the stays"
        runs = found.streams[topology, "planned"]
        return mean(what, runs, lambda run: 1e3 * run.forwarding_s, "ms", as_printed("15", "16"))

    def more(topology: str, way: str, step_ms: float = WAIT_MS) -> Values:
        return above(found.streams[topology, way], "variance", step_ms)

    def increase(topology: str, way: str, most: str) -> Measure:
        what = f"{topology}, {way}: packets that wait more than {WAIT_MS:g} ms, minus without handovers"
        return _share(what, more(topology, way) - more(topology, "none"), at_most_as_printed(most))

    def apart(topology: str, claimed: Claimed) -> Measure:
        what = f"{topology}: packets that wait more than {WAIT_MS:g} ms, planned minus unplanned"
        return _share(what, more(topology, "planned") - more(topology, "unplanned"), claimed)

    longest = at_most_as_printed("4").high
    measures = (
        *(forwarding(topology) for topology in TOPOLOGIES),
        increase("mesh", "planned", "0.05"),
        increase("mesh", "unplanned", "0.05"),
        apart("mesh", less()),
        increase("tree", "planned", "0.10"),
        increase("tree", "unplanned", "0.10"),
        _share(
            f"tree, planned: packets that wait more than {longest:g} ms",
            more("tree", "planned", longest),
            at_most(RARELY),
        ),
        apart("tree", greater()),
    )
    return claim("bcmp.delay", measures, found.interpretation)


def _fig5(found: Evidence) -> Claim:
    def jitter(topology: str, way: str) -> Values:
        return above(found.streams[topology, way], "jitter", JITTER_MS)

    def apart(topology: str, way: str, other: str, claimed: Claimed) -> Measure:
        what = f"{topology}: packets with a jitter above {JITTER_MS:g} ms, {way} minus {other}"
        return _share(what, jitter(topology, way) - jitter(topology, other), claimed)

    measures = (
        *(apart("mesh", way, "none", within(-ALIKE, ALIKE)) for way in MOVING),
        apart("tree", "planned", "none", greater()),
        apart("tree", "planned", "unplanned", greater()),
    )
    return claim("bcmp.fig5", measures, found.interpretation, jitter_ms=JITTER_MS, alike=ALIKE)


def nomove(found: dict[Point, list[Download]], interpretation: str) -> Claim:
    """Decided in the networks and with the variants that were run."""
    networks, _, tcps, _ = (list(dict.fromkeys(values)) for values in zip(*found, strict=True))

    def spread(case: Case) -> Measure:
        values = [share(found[*case, tcp, LOW]) for tcp in tcps]
        what = f"{', '.join(case)}: throughput at window {LOW}, best minus worst variant"
        return _share(what, _best(values) + _best(-each for each in values), at_most(ALIKE))

    def full(case: Case) -> Measure:
        """Of the variant with the lowest mean."""
        worst = min((share(found[*case, tcp, HIGH]) for tcp in tcps), key=np.mean)
        return _share(
            f"{', '.join(case)}: throughput at window {HIGH}, worst variant",
            worst,
            at_least_as_printed("0.98"),
        )

    cases = list(product(networks, ("none", "planned")))
    return claim("bcmp.nomove", (*map(spread, cases), *map(full, cases)), interpretation, alike=ALIKE)


def _fig6(found: Evidence) -> Claim:
    at = _unplanned(found, "mesh")

    def gap(first: str, second: str, claimed: Claimed) -> Measure:
        return _share(f"throughput, {NAMES[first]} minus {NAMES[second]}", at[first] - at[second], claimed)

    measures = (
        *(gap(best, next_, greater()) for best in ("fack", "sack") for next_ in ("newreno", "tahoe")),
        *(gap(last, "sack", at_least(-CLOSELY)) for last in ("newreno", "tahoe")),
        *(gap(middle, low, greater()) for middle in ("newreno", "tahoe") for low in ("reno", "vegas")),
    )
    return claim("bcmp.fig6", measures, found.interpretation, closely=CLOSELY)


def _fig7(found: Evidence) -> Claim:
    at = _unplanned(found, "tree")
    ranges = dict.fromkeys(("fack", "sack"), as_printed("0.98", "0.99"))
    ranges |= dict.fromkeys(("newreno", "tahoe"), as_printed("0.95"))
    ranges |= dict.fromkeys(("reno", "vegas"), as_printed("0.65", "0.70"))
    measures = (_share(f"{NAMES[tcp]}: throughput", at[tcp], claimed) for tcp, claimed in ranges.items())
    return claim("bcmp.fig7", measures, found.interpretation, link_mbps=LINK_BPS / 1e6)


def over_the_gateway(run: Streams) -> tuple[list[int], list[int]]:
    """Losses of each handover between `GATEWAY`, and those of each other one.

    The run's last handover is left out: no later one leaves the access router that it reaches.
    """
    steps = zip(run.lost, pairwise(run.left), strict=False)
    lost = [({before, after} == GATEWAY, count) for count, (before, after) in steps]
    return [count for there, count in lost if there], [count for there, count in lost if not there]


def _links(found: Evidence) -> Claim:
    runs = [over_the_gateway(run) for run in found.streams["tree", "unplanned"]]
    beyond = [sum(there) - MOSTLY * (sum(there) + sum(others)) for there, others in runs]
    apart = [
        float(np.mean(there) - np.mean(others)) if there and others else math.nan for there, others in runs
    ]
    measures = (
        Measure(
            f"tree, unplanned: packets lost between 26 and 27, minus {MOSTLY:g} of all lost",
            student(beyond),
            "pkt",
            greater(),
        ),
        defined(
            "tree, unplanned: packets lost in a handover between 26 and 27, minus in another",
            apart,
            "pkt",
            greater(),
        ),
    )
    crossings = sum(len(there) for there, _ in runs)
    return claim(
        "bcmp.links", measures, found.interpretation, mostly=MOSTLY, crossings=crossings, runs=len(runs)
    )


def _mesh(found: Evidence) -> Claim:
    def apart(what: str, values: Callable[[Case], Values], way: str, claimed: Claimed, unit: str) -> Measure:
        of = values(("mesh", way)) - values(("tree", way))
        return Measure(f"{what}, {way}, mesh minus tree", student(of.tolist()), unit, claimed)

    def more(of: str, step_ms: float, case: Case) -> Values:
        return above(found.streams[case], of, step_ms)

    def losses(case: Case) -> Values:
        return np.array([counts.mean() for counts in lost(found, case)])

    tcp = {topology: _unplanned(found, topology) for topology in TOPOLOGIES}
    waits = f"packets that wait more than {WAIT_MS:g} ms"
    late = f"packets with a jitter above {JITTER_MS:g} ms"
    measures = (
        apart("packets lost in a handover", losses, "unplanned", less(), "pkt"),
        *(apart(waits, partial(more, "variance", WAIT_MS), way, less(), "1") for way in MOVING),
        *(apart(late, partial(more, "jitter", JITTER_MS), way, less(), "1") for way in MOVING),
        *(
            _share(
                f"throughput, {NAMES[each]}, unplanned, mesh minus tree",
                values - tcp["tree"][each],
                greater(),
            )
            for each, values in tcp["mesh"].items()
        ),
    )
    return claim("bcmp.mesh", measures, found.interpretation, wait_ms=WAIT_MS, jitter_ms=JITTER_MS)


def _unplanned(found: Evidence, topology: str) -> dict[str, Values]:
    return {
        tcp: share(found.downloads[topology, "unplanned", tcp, found.interpretation.window]) for tcp in TCPS
    }


OF_INTERPRETATION = {
    "bcmp.fig4.planned": _planned,
    "bcmp.fig4.tree": _fig4_tree,
    "bcmp.fig4.mesh": _fig4_mesh,
    "bcmp.links": _links,
    "bcmp.delay": _delay,
    "bcmp.fig5": _fig5,
    "bcmp.fig6": _fig6,
    "bcmp.fig7": _fig7,
    "bcmp.mesh": _mesh,
}
"""The claims that depend on an interpretation."""


def read(found: Evidence) -> list[Claim]:
    """Those that depend on an interpretation, under one."""
    return [decide(found) for decide in OF_INTERPRETATION.values()]
