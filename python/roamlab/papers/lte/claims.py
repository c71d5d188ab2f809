"""The paper's claims, decided from the runs. A verdict is computed; the sentences are in `paper.toml`."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.deciding import claim, difference, mean, most
from roamlab.papers.lte import model, modelfit
from roamlab.papers.lte.evidence import NARROW_PKTS, PEAKS, PREDICTIVE
from roamlab.papers.lte.experiments import TARGETS
from roamlab.statistics.claims import Measure, at_least, at_most, greater, less
from roamlab.statistics.stats import Interval, exact, paired, share_interval, student, unpaired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from roamlab.papers.lte.evidence import Active12, Anatomy, Evidence
    from roamlab.papers.lte.experiments import Aqm, Scheme
    from roamlab.papers.lte.measures import Active, Forwarded, Handover
    from roamlab.papers.lte.model import Case
    from roamlab.papers.lte.model import Interpretation as Equation
    from roamlab.statistics.claims import Claim, Claimed

CURVE = range(8, 101, 2)
"""Fig. 4: the values of cwnd_MAX at which the model is drawn."""
ALWAYS = 0.05
"""What "always" and "at most" leave to chance: the share of runs that may differ."""
SYNS = 0.1
"""Packets of an ECN-capable flow that are dropped at the tunnel's end are SYNs: at most so many in a run, of some 30
marked packets."""
_NOTHING = Interval(0.5, 0.0, 1.0, 0)
"""The share of a set without runs: anything."""


def _share(what: str, count: int, runs: int, claimed: Claimed) -> Measure:
    return Measure(what, share_interval(count, runs) if runs else _NOTHING, "1", claimed)


def _more_often(what: str, often: int, seldom: int) -> Measure:
    """Whether one case is at least as frequent as another: its share of the runs that are either."""
    return _share(what, often, often + seldom, at_least(0.5))


def _is(case: Case, runs: Sequence[Handover]) -> list[float]:
    return [float(run.congestion.outcome == case) for run in runs]


def share_of(case: Case, runs: Sequence[Handover]) -> Interval:
    """How often a case occurs."""
    return share_interval(int(sum(_is(case, runs))), len(runs))


def _spurious(run: Handover) -> bool:
    return run.congestion.spurious > 0


def spurious(runs: Sequence[Handover]) -> Interval:
    """The share of runs with a spurious timeout."""
    return share_interval(sum(map(_spurious, runs)), len(runs))


def _chart(found: Evidence) -> Claim:
    what = "runs in which a message of the chart is missing or early"
    runs = found.forwarding["standard", 5]
    missing = most(what, runs, lambda run: float(not run.in_order), "of one run", at_most(0))
    return claim("lte.chart", (missing,), found.interpretation)


def _defined(what: str, values: Sequence[float], claimed: Claimed) -> Measure:
    """The mean of the runs that define a value, in ms. If none does, nothing is known of it."""
    defined = [value for value in values if math.isfinite(value)]
    mean = student(defined) if defined else Interval(0.0, -math.inf, math.inf, 0)
    return Measure(what, mean, "ms", claimed)


def _double(anatomy: Anatomy) -> Claim:
    def once(run: Forwarded) -> float:
        return run.packets - run.queued_twice

    def name(n: int) -> str:
        return f"{n} mobiles in the target cell"

    rises = {n: [run.round_trip_rise_s * 1e3 for run in runs] for n, runs in anatomy.double.items()}
    few, many = TARGETS[0], TARGETS[-1]
    not_twice, grows = (
        "forwarded packets that did not queue twice",
        "round trip of forwarded packets minus that before",
    )
    measures = (
        *(most(f"{name(n)}: {not_twice}", anatomy.double[n], once, "pkt", at_most(0)) for n in TARGETS),
        *(_defined(f"{name(n)}: {grows}", rises[n], greater()) for n in TARGETS),
        _defined(
            f"rise with {many} mobiles minus rise with {few}",
            [after - before for after, before in zip(rises[many], rises[few], strict=True)],
            greater(),
        ),
    )
    return claim("lte.double", measures)


def curve(case: Case, part: float, interpretation: Equation, peaks: Iterable[int] = CURVE) -> list[float]:
    """Fig. 4: normalised data by cwnd_MAX; `part` places cwnd_HO from SSthresh (0) to cwnd_MAX (1)."""
    place = Fraction(part).limit_denominator(4)
    return [
        float(model.delivered(most, (1 + place) * most / 2, interpretation).normalised(case))
        for most in peaks
    ]


def _model(anatomy: Anatomy) -> Claim:
    def highest(what: str, values: NDArray[np.float64], bound: float = 0.0) -> Measure:
        return Measure(what, exact(values.max()), "1", less(bound))

    costly: tuple[Case, ...] = ("halving", "timeout")
    orders: tuple[tuple[Case, Case], ...] = (("halving", "ideal"), ("timeout", "halving"))
    at = {
        (case, part): np.array(curve(case, part, "literal", PEAKS)) for case in costly for part in (1.0, 0.5)
    }
    runs: dict[Case, list[float]] = {case: [] for case in model.CASES}
    for window in PEAKS:
        for case, values in modelfit.after_command(anatomy, window).items():
            runs[case] += values
    measures = []
    for case in costly:
        top = at[case, 1.0]
        measures += [
            highest(f"{case}, handover at cwnd_MAX: highest of the curve", top, 1),
            highest(f"{case}: mid-interval minus at cwnd_MAX, highest over the curve", at[case, 0.5] - top),
        ]
    for part, name in ((1.0, "at cwnd_MAX"), (0.5, "mid-interval")):
        behind = at["timeout", part] - at["halving", part]
        measures.append(highest(f"timeout minus halving, {name}: highest over the curve", behind))
    for after, before in orders:
        if runs[after] and runs[before]:
            what = f"simulated, {after} minus {before}, after the command"
            measures.append(Measure(what, unpaired(runs[after], runs[before]), "1", less()))
    return claim("lte.model", measures, peaks=PEAKS)


def _fig8(found: Evidence) -> Claim:
    measures = []
    for n in TARGETS:
        outcomes = [run.congestion.outcome for run in found.forwarding["standard", n]]
        ideal, halving, timeout = (outcomes.count(case) for case in model.CASES)
        measures += [
            _more_often(f"{n} mobiles: halvings among halvings and ideal runs", halving, ideal),
            _more_often(f"{n} mobiles: timeouts among timeouts and halvings", timeout, halving),
        ]
    return claim("lte.fig8", measures, found.interpretation)


def _fig9(found: Evidence) -> Claim:
    standard, fast, predictive = (
        found.forwarding[scheme, 5] for scheme in ("standard", "fast", "predictive")
    )

    def share(
        what: str, runs: Sequence[Handover], happened: Callable[[Handover], bool], claimed: Claimed
    ) -> Measure:
        return _share(what, sum(map(happened, runs)), len(runs), claimed)

    def halved_again(run: Handover) -> bool:
        return run.congestion.halvings > 1

    timed_out = [run for run in standard if run.congestion.timeouts]
    of_timeouts = "standard: runs with a spurious timeout among those with a timeout"
    apart = "runs with a spurious timeout, fast path switch minus standard"
    measures = (
        share(of_timeouts, timed_out, _spurious, greater(0.5)),
        difference(apart, fast, standard, lambda run: float(_spurious(run)), "1", less()),
        share("fast path switch: runs with a spurious timeout", fast, _spurious, greater(ALWAYS)),
        share("prediction: runs with a spurious timeout", predictive, _spurious, less(ALWAYS)),
        share("prediction: runs with more than one halving", predictive, halved_again, less(ALWAYS)),
    )
    return claim("lte.fig9", measures, found.interpretation)


def _fig11(found: Evidence) -> Claim:
    def pooled(scheme: Scheme, case: Case) -> list[float]:
        by_n = [_is(case, found.forwarding[scheme, n]) for n in TARGETS]
        return [float(np.mean(values)) for values in zip(*by_n, strict=True)]

    def apart(what: str, case: Case, claimed: Claimed) -> Measure:
        what = f"{what}, prediction minus standard, 2 to 5 mobiles"
        return Measure(what, paired(pooled("predictive", case), pooled("standard", case)), "1", claimed)

    measures = (
        apart("runs with a timeout", "timeout", less()),
        apart("runs with a halving alone", "halving", greater()),
    )
    return claim("lte.fig11", measures, found.interpretation)


def _tab4(found: Evidence) -> Claim:
    def apart(what: str, after: Aqm, before: Aqm) -> Measure:
        one, other = found.active["standard", after], found.active["standard", before]
        what = f"R to target, {what}"
        return difference(what, one, other, lambda run: run.drops.rate["r->enb2"], "%", greater())

    measures = (
        apart("drop-tail minus RED dropping", "droptail", "red"),
        apart("RED dropping minus RED marking", "red", "mark"),
    )
    return claim("lte.tab4", measures, found.interpretation)


def _ecn(anatomy: Anatomy) -> Claim:
    able, unable = anatomy.tunnels["always-ect, ECN"], anatomy.tunnels["always-ect, no ECN"]

    def answers(run: Active) -> float:
        return run.drops.answers

    def dropped(run: Active) -> float:
        return run.drops.tunnel_drops

    at_the_end = "packets dropped at the tunnel's end"
    measures = (
        mean("ECN-capable: answers to marks", able, answers, "per run", greater()),
        mean(f"ECN-capable: {at_the_end}", able, dropped, "per run", at_most(SYNS)),
        mean(f"not ECN-capable: {at_the_end}", unable, dropped, "pkt", greater()),
        most("not ECN-capable: answers to marks", unable, answers, "per run", at_most(0)),
    )
    return claim("lte.ecn", measures)


def fig12(found: Evidence) -> Claim:
    """More data with prediction, and with AQM, than with the standard procedure."""
    cases: dict[str, Active12] = {
        "standard": ("standard", "droptail"),
        "AQM": ("standard", "red"),
        "prediction": ("predictive", "droptail"),
        "prediction and AQM": ("predictive", "red"),
    }

    def apart(one: str, other: str) -> Measure:
        more = {cases[one], cases[other]} == set(PREDICTIVE)
        after, before = (
            found.active[case] + (found.more_predictive[case] if more else [])
            for case in (cases[one], cases[other])
        )
        return difference(
            f"{one} minus {other}",
            after,
            before,
            lambda run: run.handover.handover_bytes / 1e3,
            "kB",
            greater(),
        )

    standard, *others = cases
    measures = (
        *(apart(name, standard) for name in others),
        *(apart(others[-1], name) for name in others[:-1]),
    )
    return claim("lte.fig12", measures, found.interpretation, narrow_pkts=NARROW_PKTS)


def _mispredict(anatomy: Anatomy) -> Claim:
    wrong, none = (anatomy.predictions[name, False] for name in ("130 ms ahead", "none"))
    # A flow that receives nothing at all has no silence: its window was cut long before.
    silences = [(one.silence_s - other.silence_s) * 1e3 for one, other in zip(wrong, none, strict=True)]
    received = "segments received in 1.5 s, wrong prediction minus none"
    measures = (
        _defined("longest silence, wrong prediction minus none", silences, greater()),
        difference(received, wrong, none, "received", "pkt", less()),
    )
    return claim("lte.mispredict", measures)


BY_EVIDENCE = (_fig8, _fig9, _fig11, _tab4, fig12)


def alone(anatomy: Anatomy) -> list[Claim]:
    """Those on single experiments."""
    return [_double(anatomy), _model(anatomy), _ecn(anatomy), _mispredict(anatomy)]


def beside(found: Evidence, anatomy: Anatomy) -> list[Claim]:
    """Those that few of the axes touch."""
    return [_chart(found), *alone(anatomy)]


def read(found: Evidence) -> list[Claim]:
    """Those that depend on an interpretation, under one."""
    return [of(found) for of in BY_EVIDENCE]


def decide(anatomy: Anatomy, found: Evidence) -> list[Claim]:
    """All claims."""
    return beside(found, anatomy) + read(found)
