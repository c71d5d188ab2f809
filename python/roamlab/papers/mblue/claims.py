"""The paper's claims, decided from the runs. A verdict is computed; the sentences are in `paper.toml`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.deciding import claim, difference, each, mean, most
from roamlab.papers.mblue.experiments import (
    ALONE_S,
    FLOWS,
    PROBE_INTERVAL_S,
    THRESHOLD_PKTS,
    VISITS_S,
    WINDOW_PKTS,
)
from roamlab.statistics.claims import Measure, at_least, at_most, greater, less, within
from roamlab.statistics.stats import bootstrap, exact, paired, student

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.deciding import Pick
    from roamlab.papers.mblue.evidence import Anatomy, Evidence
    from roamlab.papers.mblue.measures import ThreeHandoffs
    from roamlab.statistics.claims import Claim, Claimed

# Table I, in ms.
T_B, T_N, T_HA, T_CH, T_O, D_CH_FA, ALPHA = 50.0, 12.0, 60.0, 60.0, 1.0, 40.0, 8.0
D_HA_FA, D_CH_HA, D_FA_MH = 60.0, 60.0, 4.0

FORMULAS = {
    "T_loss, route optimisation": T_B + T_N + T_O,
    "T_h, route optimisation": T_B + T_N + T_HA + T_CH,
    "T_RTT, route optimisation": 2 * D_CH_FA + ALPHA,
    "T_loss, base protocol": T_B + T_N + T_HA + D_HA_FA,
    "T_h, base protocol": T_B + T_N + T_HA,
    "T_RTT, base protocol": D_CH_HA + D_HA_FA + D_CH_FA + ALPHA,
}
"""Equation 1 with the delays of table I, in ms."""

_AIR_BPS, _WIRE_BPS = 2e6, 10e6

NAMES = {"droptail": "drop-tail", "red": "RED", "blue": "BLUE", "mblue": "MBLUE"}
"""Queues as figures and measures name them."""

AXIS_PKTS = 256
"""Fig. 12's axis goes from 4400 to 4900 packets. With at least 4400 at 9.5 s and the 488 a second of the air
for the host alone, it has 4644 at 10 s, and then this number at most until 13 s."""


def _ms(size: int, rate: float) -> float:
    return size * 8 / rate * 1e3


def measured_delays(anatomy: Anatomy) -> dict[str, tuple[float, float]]:
    """Each quantity of eq. 1 as simulated, and one serialisation time for each hop on its path, in ms."""
    found = {}
    for on, name in ((True, "route optimisation"), (False, "base protocol")):
        (run,) = anatomy.outage[on]
        to_agent, to_home, update = _hops(run.sizes)
        notified = to_agent + (update if on else to_home + _ms(84, _WIRE_BPS))
        learnt = run.correspondent_s if on else run.agent_s
        probe = 2 * (_ms(64, _AIR_BPS) + 3 * _ms(84, _WIRE_BPS))
        # The last packet lost passed the old agent this long before it was lost on the air.
        passed = run.last_loss_s * 1e3 - D_FA_MH
        found[f"T_loss, {name}"] = (passed - ALONE_S * 1e3, notified + PROBE_INTERVAL_S * 1e3 + probe)
        found[f"T_h, {name}"] = (
            (learnt - ALONE_S) * 1e3,
            to_agent + to_home + (update if on else 0.0),
        )
        found[f"T_RTT, {name}"] = (run.round_trip_s * 1e3, probe)
    return found


def _hops(sizes: dict[str, int]) -> tuple[float, float, float]:
    """Serialisation on the way to the new agent, on to the home agent, and of a binding update over a hop, in ms."""
    air = ("beacon", "handoff-request", "agent-advertisement", "registration-request")
    wire = ("notification", "agent-advertisement", "registration-request")
    # Signalling overtakes data, but not the probe in service: one more probe for each hop.
    probe = len(air) * _ms(64, _AIR_BPS) + len(wire) * _ms(84, _WIRE_BPS)
    on_air = sum(_ms(sizes.get(name, 0), _AIR_BPS) for name in air)
    to_agent = on_air + sum(_ms(sizes.get(name, 0), _WIRE_BPS) for name in wire)
    to_home, update = (
        _ms(sizes.get(name, 0), _WIRE_BPS) + _ms(84, _WIRE_BPS)
        for name in ("registration-request", "binding-update")
    )
    return to_agent + probe, to_home, update


def _eq1(anatomy: Anatomy) -> Claim:
    measures = (
        Measure(
            f"{name}: simulated minus {FORMULAS[name]:g} ms",
            exact(value - FORMULAS[name]),
            "ms",
            within(-PROBE_INTERVAL_S * 1e3 if name.startswith("T_loss") else 0.0, tolerance),
        )
        for name, (value, tolerance) in measured_delays(anatomy).items()
    )
    return claim("mblue.eq1", measures)


def _reorder(anatomy: Anatomy) -> Claim:
    on, off = (anatomy.transfer[way] for way in ("detour", "no detour"))
    out_of_order = "detour: forwarded packets out of order among themselves"
    measures = (
        mean(out_of_order, on, "reordered_forwarded", "pkt", at_most(0)),
        mean("no detour: packets out of order", off, "reordered", "pkt", greater()),
        mean("no detour: duplicate ACKs", off, "duplicate_acks", "ACKs", greater()),
        difference("duplicate ACKs, detour minus no detour", on, off, "duplicate_acks", "ACKs", less()),
    )
    return claim("mblue.reorder", measures, beyond=np.mean(each(on, "reordered")))


def _perhost(anatomy: Anatomy) -> Claim:
    with_buffer, without = anatomy.many_flows[True], anatomy.many_flows[False]
    measures = (
        mean("buffers used", with_buffer, "buffers", "buffers", within(1, 1)),
        mean("flows in the buffer", with_buffer, "released_flows", "flows", at_least(3)),
        mean("packets lost with the buffer", with_buffer, "lost", "pkt", at_most(0)),
        difference("packets lost, with minus without", with_buffer, without, "lost", "pkt", less()),
    )
    return claim("mblue.perhost", measures)


def _local(anatomy: Anatomy) -> Claim:
    fast, slow = anatomy.detection[True], anatomy.detection[False]
    what = "detection, local handoff minus advertisement"

    def ms(at: float) -> float:
        return at * 1e3

    measures = (
        most("local handoff: latest detection", fast, ms, "ms", at_most(T_B + T_N + 1.5)),
        difference(what, fast, slow, ms, "ms", less()),
        most("advertisement: latest detection", slow, ms, "ms", at_most(1000 + T_N + 1.5)),
    )
    return claim("mblue.local", measures)


_HALF = float(len(FLOWS)) / 2
"""Synchronisation: more flows than this cut their windows."""
FEW_PKTS = WINDOW_PKTS / 4
""""A few packet drops": at most a quarter of the window of 64 packets that is forwarded."""


def _fig11(found: Evidence) -> Claim:
    red, blue, mblue = (found.one[queue] for queue in ("red", "blue", "mblue"))
    one_window = within(1, WINDOW_PKTS, printed=WINDOW_PKTS)
    measures = (
        mean(
            "packets of the first burst, from a buffer of three windows", found.wide, int, "pkt", one_window
        ),
        mean("packets forwarded within T_h", mblue, "forwarded", "pkt", one_window),
        mean(
            "MBLUE: P_m at the handoff minus the lowest after it",
            mblue,
            lambda run: run.probability_before - run.lowest_probability,
            "1",
            greater(),
        ),
        difference("forwarded packets lost, MBLUE minus RED", mblue, red, "forwarded_drops", "pkt", less()),
        difference("forwarded packets lost, MBLUE minus BLUE", mblue, blue, "forwarded_drops", "pkt", less()),
        mean("BLUE: packets lost to overflow", blue, "overflows", "pkt", greater()),
        mean(
            "RED: highest avg_q after the handoff minus that before",
            red,
            lambda run: run.peak_average - run.calm_average,
            "pkt",
            greater(),
        ),
        Measure(
            "RED: highest p_b after the handoff minus that before",
            bootstrap(each(red, lambda run: run.peak_probability - run.calm_probability)),
            "1",
            greater(),
        ),
        mean("BLUE: flows that cut their windows within 1 s", blue, "cutting", "flows", greater(_HALF)),
        mean("RED: flows that cut their windows within 1 s", red, "cutting", "flows", greater(_HALF)),
    )
    return claim("mblue.fig11", measures, found.interpretation)


def _means(found: Evidence, field: str) -> dict[str, float]:
    return {queue: float(np.mean(each(runs, field))) for queue, runs in found.one.items()}


def _fig12(found: Evidence) -> Claim:
    measures = (
        difference(
            f"packets received, MBLUE minus {queue.upper()}",
            found.one["mblue"],
            found.one[queue],
            "received",
            "pkt",
            greater(),
        )
        for queue in ("red", "blue")
    )
    after = _means(found, "received_after")
    return claim("mblue.fig12", measures, found.interpretation, after=after, axis_pkts=AXIS_PKTS)


def _later(runs: Sequence[ThreeHandoffs], pick: Callable[[ThreeHandoffs], Sequence[float]]) -> list[float]:
    return [float(np.mean(pick(run)[1:])) for run in runs]


def _fig13(found: Evidence) -> Claim:
    three = found.three
    few = [
        mean(
            f"{queue.upper()}: packets lost at the first handoff",
            three[queue],
            lambda run: run.drops[0],
            "pkt",
            at_most(FEW_PKTS),
        )
        for queue in ("red", "blue", "mblue")
    ]
    later = {queue: _later(three[queue], lambda run: run.cutting) for queue in ("red", "blue")}
    apart = [
        Measure(
            f"{queue.upper()}: flows that cut within 1 s of the first handoff minus of later ones",
            paired([run.cutting[0] for run in three[queue]], of_later),
            "flows",
            less(),
        )
        for queue, of_later in later.items()
    ]
    cut = [
        Measure(
            f"{queue.upper()}: flows that cut within 1 s of the second and third handoff",
            student(of_later),
            "flows",
            greater(_HALF),
        )
        for queue, of_later in later.items()
    ]
    between = "MBLUE: mean queue between handoffs"
    calm = mean(between, three["mblue"], "calm_queue", "pkt", less(THRESHOLD_PKTS))
    return claim("mblue.fig13", (*few, *apart, *cut, calm), found.interpretation, few_pkts=FEW_PKTS)


def _gain(found: Evidence, what: str, pick: Pick, unit: str, claimed: Claimed) -> Measure:
    """MBLUE minus RED over 40 s."""
    three = found.three
    return difference(f"{what}, MBLUE minus RED", three["mblue"], three["red"], pick, unit, claimed)


def _fig14(found: Evidence) -> Claim:
    goodput = _gain(
        found, "goodput of the moving host", lambda run: run.goodput_bps / 1e3, "kbit/s", greater()
    )
    return claim("mblue.fig14", (goodput,), found.interpretation)


DEVIATIONS: dict[str, tuple[Callable[[ThreeHandoffs], float], str]] = {
    "from the first handoff on": (lambda run: run.deviation, "pkt"),
    "the visits": (lambda run: run.visit_deviation, "pkt"),
    "relative": (lambda run: run.deviation / max(run.mean_queue, 1e-9), "1"),
}
"""By `Interpretation.stable`: how little stable the queue is, and its unit."""


def _overall(found: Evidence) -> Claim:
    def goodput_kbps(run: ThreeHandoffs) -> float:
        return (run.residents_bps + run.goodput_bps) / 1e3

    lost = "lost within 1 s of handoffs"
    deviation, unit = DEVIATIONS[found.interpretation.stable]
    measures = (
        _gain(found, f"packets of the moving host {lost}", "lost_moving", "pkt", less()),
        _gain(found, f"packets of the residents {lost}", "lost_residents", "pkt", less()),
        _gain(found, "goodput of all flows", goodput_kbps, "kbit/s", greater()),
        _gain(found, "standard deviation of the queue", deviation, unit, less()),
    )
    return claim("mblue.overall", measures, found.interpretation)


def _fig15(found: Evidence) -> Claim:
    measures = (
        Measure(
            f"fall of P_m at handoff {at + 1}: its value before minus the lowest within 1 s",
            student([run.fall[at] for run in found.three["mblue"]]),
            "1",
            greater(),
        )
        for at in range(len(VISITS_S))
    )
    return claim("mblue.fig15", measures, found.interpretation, threshold_pkts=THRESHOLD_PKTS)


def _sync(found: Evidence) -> Claim:
    looks = {
        "flows that cut within 1 s of the handoff": ("cutting", "flows"),
        "mean correlation of the flows' windows in the 3 s after the handoff": ("correlation", "1"),
    }
    one = found.one
    measures = (
        difference(f"{what}, MBLUE minus {NAMES[queue]}", one["mblue"], one[queue], field, unit, less())
        for what, (field, unit) in looks.items()
        for queue in ("droptail", "red", "blue")
    )
    return claim("mblue.sync", measures, found.interpretation, before=_means(found, "together_calm"))


BY_EVIDENCE = {
    "mblue.fig11": _fig11,
    "mblue.fig12": _fig12,
    "mblue.fig13": _fig13,
    "mblue.fig14": _fig14,
    "mblue.fig15": _fig15,
    "mblue.overall": _overall,
    "mblue.sync": _sync,
}
BY_ANATOMY = {
    "mblue.eq1": _eq1,
    "mblue.reorder": _reorder,
    "mblue.perhost": _perhost,
    "mblue.local": _local,
}


def read(found: Evidence) -> list[Claim]:
    """Those that depend on an interpretation, under one."""
    return [of(found) for of in BY_EVIDENCE.values()]


def alone(anatomy: Anatomy) -> list[Claim]:
    """Those on the moving host alone."""
    return [of(anatomy) for of in BY_ANATOMY.values()]


def every(anatomy: Anatomy, found: Evidence) -> dict[str, Callable[[], Claim]]:
    """All claims, each to be decided alone."""
    of_anatomy = {name: partial(of, anatomy) for name, of in BY_ANATOMY.items()}
    return {**of_anatomy, **{name: partial(of, found) for name, of in BY_EVIDENCE.items()}}


def decide(anatomy: Anatomy, found: Evidence) -> list[Claim]:
    """All claims."""
    return [of() for of in every(anatomy, found).values()]
