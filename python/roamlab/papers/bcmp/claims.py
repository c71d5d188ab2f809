"""The paper's claims, decided from the runs. A verdict is computed; the sentence behind it is about the mechanism."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roamlab.papers.bcmp.experiments import HANDOVERS, HIGH, LOW, STREAMS, TCPS, TOPOLOGIES
from roamlab.papers.bcmp.measures import STEPS_MS
from roamlab.statistics.claims import Claim, Measure, at_least, at_most, greater, less, within
from roamlab.statistics.stats import largest, smallest, student

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roamlab.papers.bcmp.evidence import Case, Evidence, Point
    from roamlab.papers.bcmp.measures import Download
    from roamlab.statistics.claims import Claimed
    from roamlab.statistics.stats import Interval

Values: TypeAlias = NDArray[np.float64]
"""One entry per run."""

LINK_BPS = 10e6
"""The maximum that throughput is a share of: the link from a correspondent to the home agent."""
LIKELY = 0.5
"""A number of packets is "likely" if at least half of the handovers that lose any lose it."""
ALIKE = 0.01
"""Throughputs are "alike", and so are distributions of jitter, if they differ by at most a hundredth."""
JITTER_MS = 1.0
"""A "large" jitter."""
WAIT_MS = 0.5
"""The delay variance that the paper names for the mesh."""
CLOSELY = 0.1
"""NewReno and Tahoe follow "closely" within a tenth of the maximum."""

NAMES = dict(zip(TCPS, ("Tahoe", "Reno", "NewReno", "SACK", "FACK", "Vegas"), strict=True))


def share(runs: Sequence[Download]) -> Values:
    """Throughput as a share of the maximum, run by run."""
    return np.array([run.throughput_bps / LINK_BPS for run in runs])


def above(found: Evidence, case: Case, of: str, step_ms: float) -> Values:
    """Share of the call's packets with a `variance` or `jitter` above one of `STEPS_MS`, run by run."""
    at = STEPS_MS.index(step_ms)
    return np.array([getattr(run, of)[at] for run in found.streams[case]])


def lost(found: Evidence, case: Case) -> NDArray[np.int64]:
    """Packets that each handover loses, one row for each run."""
    return np.array([run.lost for run in found.streams[case]])


def _of(values: Values) -> Interval:
    return student(values.tolist())


def _best(values: Iterable[Values]) -> Values:
    return np.asarray(np.max(list(values), axis=0))


def login(found: dict[Case, list[dict[str, int]]]) -> Claim:
    """Each procedure of section 2.1 is done in each network."""
    asked = (
        ("logins with an address from the anchor", "logged-in", 24, ("planned", "unplanned")),
        ("temporary tunnels of planned handovers", "temporary-tunnel-started", HANDOVERS, ("planned",)),
        ("tunnels moved to a new access router", "anchor-path-switched", HANDOVERS, ("unplanned",)),
        ("registrations of anchors at the home agent", "home-agent-registered", 25, ("planned", "unplanned")),
        ("ends of sessions", "logged-out", 1, ("planned", "unplanned")),
        ("idle hosts that were paged", "host-paged", 1, ("planned", "unplanned")),
    )
    return Claim(
        "bcmp.login",
        "Login, an address from the anchor point, the tunnel to the access router, planned and unplanned handover, "
        "inter-anchor handover, logout and paging exist and run.",
        tuple(
            Measure(
                f"{what}, fewest of a run",
                smallest(
                    [
                        run.get(phase, 0)
                        for topology, way in product(TOPOLOGIES, ways)
                        for run in found[topology, way]
                    ]
                ),
                "1",
                at_least(bound),
            )
            for what, phase, bound, ways in asked
        ),
        kind="inventory",
        reading="one run of each network and either handover, with change of the anchor, paging and an hour of logout",
        why="24 hosts log in once, and again at each new anchor, which the home agent is told. The walker with streams "
        "changes access routers a hundred times; the other is idle, moves in silence within its area, and is paged.",
    )


def _planned(found: Evidence) -> Claim:
    return Claim(
        "bcmp.fig4.planned",
        "Planned handovers lose no packet in either topology.",
        tuple(
            Measure(
                f"{topology}: most packets that a handover loses",
                largest(lost(found, (topology, "planned")).max(axis=1).tolist()),
                "pkt",
                at_most(0),
            )
            for topology in TOPOLOGIES
        ),
        reading=str(found.reading),
        why="From the preparation on the old access router tunnels all to the new one, which keeps it until the host "
        "attaches.",
    )


def _losses(found: Evidence, topology: str, likely: tuple[int, int], most: Claimed) -> list[Measure]:
    counts = lost(found, (topology, "unplanned"))
    some = np.maximum((counts > 0).sum(axis=1), 1)
    inside = ((counts >= likely[0]) & (counts <= likely[1])).sum(axis=1)
    return [
        Measure(
            f"{topology}: of the handovers that lose packets those that lose {likely[0]} to {likely[1]}",
            _of(inside / some),
            "1",
            at_least(LIKELY),
        ),
        Measure(f"{topology}: most packets that a handover loses", largest([counts.max()]), "pkt", most),
    ]


def _fig4_tree(found: Evidence) -> Claim:
    return Claim(
        "bcmp.fig4.tree",
        "Unplanned handovers in the tree: losses of up to 5 packets are likely, and up to 14 occur.",
        tuple(_losses(found, "tree", (1, 5), within(6, 14))),
        reading=f'{found.reading}; packets of {", ".join(STREAMS)}; "likely": at least {LIKELY:g} of the handovers '
        'that lose any; "up to 14 occur": the most of all runs is 6 to 14',
        why="What leaves the anchor for the old access router until the path update has come is lost: 4 to 16 ms. "
        "Voice loses one packet in that time at most; more than that are frames of video, which leave back to back, so "
        "the longest loss is the largest frame that fits.",
    )


def _fig4_mesh(found: Evidence) -> Claim:
    return Claim(
        "bcmp.fig4.mesh",
        "Unplanned handovers in the mesh: 1 or 2 packets are likely, 5 at most.",
        tuple(_losses(found, "mesh", (1, 2), at_most(5))),
        reading=f"{found.reading}; packets of {', '.join(STREAMS)}",
        why="Ways to the anchor are shorter than in the tree, and none between neighbours leads through a gateway.",
    )


def _delay(found: Evidence) -> Claim:
    def forwarding(topology: str) -> Measure:
        values = [1e3 * run.forwarding_s for run in found.streams[topology, "planned"]]
        what = f"{topology}: forwarding delay, mean over the stays"
        return Measure(what, student(values), "ms", within(15, 16))

    def more(topology: str, way: str, step_ms: float) -> Values:
        return above(found, (topology, way), "variance", step_ms)

    def increase(topology: str, way: str, bound: float) -> Measure:
        return Measure(
            f"{topology}, {way}: packets that wait more than {WAIT_MS:g} ms, minus without handovers",
            _of(more(topology, way, WAIT_MS) - more(topology, "none", WAIT_MS)),
            "1",
            at_most(bound),
        )

    def apart(topology: str, claimed: Claimed) -> Measure:
        return Measure(
            f"{topology}: packets that wait more than {WAIT_MS:g} ms, planned minus unplanned",
            _of(more(topology, "planned", WAIT_MS) - more(topology, "unplanned", WAIT_MS)),
            "1",
            claimed,
        )

    return Claim(
        "bcmp.delay",
        "The forwarding delay is 15 to 16 ms. Mesh: up to 5 % of the packets wait some 0.5 ms more, fewer with planned "
        "than with unplanned handovers. Tree: up to 10 % wait more, up to 4 ms, more of them with planned handovers.",
        (
            *(forwarding(topology) for topology in TOPOLOGIES),
            increase("mesh", "planned", 0.05),
            increase("mesh", "unplanned", 0.05),
            apart("mesh", less()),
            increase("tree", "planned", 0.1),
            increase("tree", "unplanned", 0.1),
            Measure(
                "tree, planned: packets that wait more than 4 ms",
                _of(more("tree", "planned", 4.0)),
                "1",
                at_most(0),
            ),
            apart("tree", greater()),
        ),
        reading=f"{found.reading}; packets of the call; what a packet waits is its delay above the smallest of "
        "the stay",
        why="Anchors stay, so far from its anchor the host's way through the tree is up to 4 ms longer than at first. "
        "What comes between the preparation and the attach waits at the new access router for as long as the "
        "preparation is ahead, in both topologies.",
    )


def _fig5(found: Evidence) -> Claim:
    def jitter(topology: str, way: str) -> Values:
        return above(found, (topology, way), "jitter", JITTER_MS)

    def apart(topology: str, way: str, other: str, claimed: Claimed) -> Measure:
        return Measure(
            f"{topology}: packets with a jitter above {JITTER_MS:g} ms, {way} minus {other}",
            _of(jitter(topology, way) - jitter(topology, other)),
            "1",
            claimed,
        )

    return Claim(
        "bcmp.fig5",
        "Mobility does not affect the jitter in the mesh; in the tree planned handovers have a higher probability of "
        "large jitter.",
        (
            *(apart("mesh", way, "none", within(-ALIKE, ALIKE)) for way in ("planned", "unplanned")),
            apart("tree", "planned", "none", greater()),
            apart("tree", "planned", "unplanned", greater()),
        ),
        reading=f'{found.reading}; packets of the call; "large": above {JITTER_MS:g} ms; "not affected": within '
        f"{ALIKE:g}",
        why="A planned handover holds back what comes between preparation and attach, in the mesh as in the tree: the "
        "first packet held is late, and the temporary tunnel adds its way.",
    )


def nomove(found: dict[Point, list[Download]], reading: str) -> Claim:
    """Decided in the networks and with the variants that were run."""
    networks, _, tcps, _ = (list(dict.fromkeys(values)) for values in zip(*found, strict=True))

    def spread(topology: str, way: str) -> Values:
        values = [share(found[topology, way, tcp, LOW]) for tcp in tcps]
        return _best(values) + _best(-each for each in values)

    def full(topology: str, way: str) -> Values:
        return -_best(-share(found[topology, way, tcp, HIGH]) for tcp in tcps)

    cases = list(product(networks, ("none", "planned")))
    return Claim(
        "bcmp.nomove",
        "Without mobility all variants are alike up to a window of 30, and above reach 98 to 100 % of 10 Mbit/s; "
        "planned handovers give the same.",
        (
            *(
                Measure(
                    f"{topology}, {way}: throughput at window {LOW}, best minus worst variant",
                    _of(spread(topology, way)),
                    "1",
                    at_most(ALIKE),
                )
                for topology, way in cases
            ),
            *(
                Measure(
                    f"{topology}, {way}: throughput at window {HIGH}, worst variant",
                    _of(full(topology, way)),
                    "1",
                    at_least(0.98),
                )
                for topology, way in cases
            ),
        ),
        reading=f'{reading}; "alike": within {ALIKE:g}',
        why="Planned handovers lose nothing, but the way changes. The packets of the temporary tunnel come after those "
        "of a shorter new way, and three duplicate acknowledgements halve the window. Vegas never forgets the smallest "
        "round trip, and takes a longer way for a queue.",
    )


def _fig6(found: Evidence) -> Claim:
    at = _unplanned(found, "mesh")

    def gap(first: str, second: str, claimed: Claimed) -> Measure:
        return Measure(
            f"throughput, {NAMES[first]} minus {NAMES[second]}", _of(at[first] - at[second]), "1", claimed
        )

    return Claim(
        "bcmp.fig6",
        "Mesh, unplanned: FACK and SACK are best, closely followed by NewReno and Tahoe, which outperform Vegas and "
        "Reno.",
        (
            *(gap(best, next_, greater()) for best in ("fack", "sack") for next_ in ("newreno", "tahoe")),
            *(gap(last, "sack", at_least(-CLOSELY)) for last in ("newreno", "tahoe")),
            *(gap(middle, low, greater()) for middle in ("newreno", "tahoe") for low in ("reno", "vegas")),
        ),
        reading=f'{found.reading}; window {HIGH}; "closely": within {CLOSELY:g} of the maximum',
        why="Each handover loses several packets of one window. FACK and SACK send all of them again within a round "
        "trip, NewReno one each round trip, Tahoe starts slowly from the first hole, and Reno waits for its timer. "
        "Vegas grows by one packet in a round trip.",
    )


def _fig7(found: Evidence) -> Claim:
    at = _unplanned(found, "tree")
    ranges = dict.fromkeys(("fack", "sack"), within(0.98, 1.0))
    ranges |= dict.fromkeys(("newreno", "tahoe"), within(0.93, 0.97))
    ranges |= dict.fromkeys(("reno", "vegas"), within(0.63, 0.72))
    return Claim(
        "bcmp.fig7",
        "Tree, unplanned: FACK and SACK reach 98 to 99 % of the maximum, NewReno and Tahoe 95 %, Reno and Vegas 65 to "
        "70 %.",
        tuple(
            Measure(f"{NAMES[tcp]}: throughput", _of(at[tcp]), "1", claimed)
            for tcp, claimed in ranges.items()
        ),
        reading=f"{found.reading}; window {HIGH}, of {LINK_BPS / 1e6:g} Mbit/s; two points more to either side",
        why="A handover each second cuts the window each second. A window that is halved once a second, with a round "
        "trip of 30 to 50 ms, cannot fill a link that it did not overfill before; and a timeout with a floor of 1 s "
        "takes all of the second.",
    )


def _unplanned(found: Evidence, topology: str) -> dict[str, Values]:
    return {tcp: share(found.downloads[topology, "unplanned", tcp, HIGH]) for tcp in TCPS}


OF_READING = {
    "bcmp.fig4.planned": _planned,
    "bcmp.fig4.tree": _fig4_tree,
    "bcmp.fig4.mesh": _fig4_mesh,
    "bcmp.delay": _delay,
    "bcmp.fig5": _fig5,
    "bcmp.fig6": _fig6,
    "bcmp.fig7": _fig7,
}
"""The claims that depend on a reading."""


def read(found: dict[str, Evidence]) -> list[Claim]:
    """Those under the first of these readings, with the others beside each."""
    default, *others = found.values()
    return [
        replace(claim(default), others=tuple(claim(other) for other in others))
        for claim in OF_READING.values()
    ]
