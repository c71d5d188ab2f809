"""The paper's claims, decided from the runs. A verdict is computed; the sentence behind it is about the mechanism."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roamlab.papers.bcmp.experiments import HIGH, LOW, STREAMS, TCPS, TOPOLOGIES
from roamlab.papers.bcmp.measures import STEPS_MS
from roamlab.statistics.claims import Claim, Measure, at_least, at_most, greater, less, within
from roamlab.statistics.stats import share_interval, smallest, student

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
"""Numbers of packets have a "high probability" if at least half of all handovers lose so many."""
RARELY = 0.01
"""What at most one handover, or packet, in a hundred does: the paper looked at 100 handovers."""
ALIKE = 0.01
"""Throughputs are "alike", and so are distributions of jitter, if they differ by at most a hundredth."""
JITTER_MS = 1.0
"""A "large" jitter."""
WAIT_MS = 0.5
"""The delay variance that the paper names for the mesh."""
CLOSELY = 0.1
"""NewReno and Tahoe follow "closely" within a tenth of the maximum."""

DELAY_GIVEN = "the tree's forwarding delay is no test: anchors change because of the 15 to 16 ms"
FULL_GIVEN = "98 % without handovers is no test: each host has air of its own because of it"
"""Printed results that a default was chosen by."""

WHY = {
    "fig4.planned": "From the preparation on the old access router tunnels all to the new one, which keeps it until "
    "the host attaches.",
    "fig4.tree": "Most handovers lose no packet or one, and none of 400 loses more than 5. With anchors that stay "
    "they lose 1.26 packets instead of 0.63, so the distance of the anchor is a cause.",
    "fig4.mesh": "Most handovers lose no packet, and none of 400 loses more than 5. No rerun isolates the cause.",
    "delay": "The mean way is 15.2 ms in the tree and 14.7 ms in the mesh. With anchors that stay it is 17.6 and "
    "15.8 ms, so neither choice gives 15 to 16 ms in both networks.",
    "fig5": "In the tree 0.007 more of the call's packets have a large jitter with planned handovers than without any, "
    "and 0.002 more than with unplanned ones; in the mesh the differences are below 0.006. No rerun isolates the "
    "cause.",
    "nomove": "Without handovers all measures hold. With planned ones FACK is the lowest in the tree at a window of "
    "20, and Vegas in both networks at 60, in the mesh at 0.977 of the link. No rerun isolates the cause.",
    "fig6": "How far NewReno and Tahoe are behind depends on how often the window is cut: with a move of each host "
    "each second, 200 in total, they are 0.12 below SACK instead of 0.05. Reno waits for its timer: with a floor of "
    "200 ms it has 0.67 of the link instead of 0.31.",
    "fig7": "FACK reaches 0.98 of the link, SACK and the others are below. Reno's share depends on the floor of its "
    "timer: 0.23, with 200 ms 0.63, under ns-2 of 2001 0.67. No set-up tried that has losses brings Vegas to 0.65.",
}
"""The mechanism behind each claim under the default."""

NAMES = dict(zip(TCPS, ("Tahoe", "Reno", "NewReno", "SACK", "FACK", "Vegas"), strict=True))


def share(runs: Sequence[Download]) -> Values:
    """Throughput as a share of the maximum, run by run."""
    return np.array([run.throughput_bps / LINK_BPS for run in runs])


def above(found: Evidence, case: Case, of: str, step_ms: float) -> Values:
    """Share of the call's packets with a `variance` or `jitter` above one of `STEPS_MS`, run by run.

    The further runs are among them.
    """
    at = STEPS_MS.index(step_ms)
    return np.array([getattr(run, of)[at] for run in found.every(case)])


def lost(found: Evidence, case: Case) -> NDArray[np.int64]:
    """Packets that each handover loses, one row for each run."""
    return np.array([run.lost for run in found.streams[case]])


def _of(values: Values) -> Interval:
    return student(values.tolist())


def _best(values: Iterable[Values]) -> Values:
    return np.asarray(np.max(list(values), axis=0))


def login(found: dict[Case, list[dict[str, int]]], moves: int) -> Claim:
    """Each procedure of section 2.1 is done in each network; `moves`: of the host with streams."""
    asked = (
        ("logins with an address from the anchor", "logged-in", 24, ("planned", "unplanned")),
        ("temporary tunnels of planned handovers", "temporary-tunnel-started", moves, ("planned",)),
        ("tunnels moved to a new access router", "anchor-path-switched", moves, ("unplanned",)),
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
                f"{what}, most of a run, in the network with fewest",
                smallest(
                    [
                        max(run.get(phase, 0) for run in found[topology, way])
                        for topology, way in product(TOPOLOGIES, ways)
                    ]
                ),
                "1",
                at_least(bound),
            )
            for what, phase, bound, ways in asked
        ),
        kind="inventory",
        reading="each network with either handover, with change of the anchor, paging and an hour of logout",
        why="24 hosts log in once, and again at each new anchor, which the home agent is told. The walker with streams "
        f"changes access routers {moves} times; the other is idle, moves in silence within its area, and is paged.",
    )


def handovers_that(found: Evidence, case: Case, fewest: int, most: float = math.inf) -> Interval:
    """The share of handovers that lose so many packets."""
    counts = lost(found, case)
    return share_interval(int(((counts >= fewest) & (counts <= most)).sum()), counts.size, len(counts))


def _planned(found: Evidence) -> Claim:
    return Claim(
        "bcmp.fig4.planned",
        "Planned handovers lose no packet in either topology.",
        tuple(
            Measure(
                f"{topology}: share of the planned handovers that lose a packet",
                handovers_that(found, (topology, "planned"), 1),
                "1",
                at_most(RARELY),
            )
            for topology in TOPOLOGIES
        ),
        reading=f'{found.reading}; packets of {", ".join(STREAMS)}; "no packet": at most {RARELY:g} of the handovers '
        "lose any",
        why=WHY["fig4.planned"],
    )


def _losses(found: Evidence, topology: str, likely: tuple[int, int], most: int) -> list[Measure]:
    case = (topology, "unplanned")
    first, last = likely
    return [
        Measure(
            f"{topology}: share of the unplanned handovers that lose {first} to {last} packets",
            handovers_that(found, case, first, last),
            "1",
            at_least(LIKELY),
        ),
        Measure(
            f"{topology}: share of the unplanned handovers that lose more than {most} packets",
            handovers_that(found, case, most + 1),
            "1",
            at_most(RARELY),
        ),
    ]


def _fig4_tree(found: Evidence) -> Claim:
    return Claim(
        "bcmp.fig4.tree",
        "Unplanned handovers in the tree: losses of up to 5 packets are likely, and up to 14 occur.",
        (
            *_losses(found, "tree", (2, 5), 14),
            Measure(
                "tree: share of the unplanned handovers that lose 6 to 14 packets",
                handovers_that(found, ("tree", "unplanned"), 6, 14),
                "1",
                greater(),
            ),
        ),
        reading=f'{found.reading}; packets of {", ".join(STREAMS)}; "high probability of even up to 5": at least '
        f'{LIKELY:g} of all handovers lose 2 to 5; "up to 14": some lose 6 to 14, and at most {RARELY:g} more',
        why=WHY["fig4.tree"],
    )


def _fig4_mesh(found: Evidence) -> Claim:
    return Claim(
        "bcmp.fig4.mesh",
        "Unplanned handovers in the mesh: 1 or 2 packets are likely, 5 at most.",
        tuple(_losses(found, "mesh", (1, 2), 5)),
        reading=f'{found.reading}; packets of {", ".join(STREAMS)}; "high probability": at least {LIKELY:g} of all '
        f'handovers; "5 the higher value": at most {RARELY:g} of the handovers lose more',
        why=WHY["fig4.mesh"],
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
                at_most(RARELY),
            ),
            apart("tree", greater()),
        ),
        reading=f"{found.reading}; packets of the call; what a packet waits is its delay above the smallest of "
        f"the stay; {DELAY_GIVEN}",
        why=WHY["delay"],
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
        why=WHY["fig5"],
    )


def nomove(found: dict[Point, list[Download]], reading: str) -> Claim:
    """Decided in the networks and with the variants that were run."""
    networks, _, tcps, _ = (list(dict.fromkeys(values)) for values in zip(*found, strict=True))

    def spread(topology: str, way: str) -> Values:
        values = [share(found[topology, way, tcp, LOW]) for tcp in tcps]
        return _best(values) + _best(-each for each in values)

    def full(topology: str, way: str) -> Values:
        """Of the variant with the lowest mean: one has more runs than the others."""
        return min((share(found[topology, way, tcp, HIGH]) for tcp in tcps), key=np.mean)

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
        reading=f'{reading}; "alike": within {ALIKE:g}; {FULL_GIVEN}',
        why=WHY["nomove"],
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
        reading=f'{found.reading}; "closely": within {CLOSELY:g} of the maximum',
        why=WHY["fig6"],
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
        reading=f"{found.reading}; of {LINK_BPS / 1e6:g} Mbit/s; two points more to either side",
        why=WHY["fig7"],
    )


def _unplanned(found: Evidence, topology: str) -> dict[str, Values]:
    return {tcp: share(found.downloads[topology, "unplanned", tcp, found.reading.window]) for tcp in TCPS}


OF_READING = (_planned, _fig4_tree, _fig4_mesh, _delay, _fig5, _fig6, _fig7)
"""The claims that depend on a reading."""


def read(found: Evidence) -> list[Claim]:
    """Those that depend on a reading, under one."""
    return [claim(found) for claim in OF_READING]
