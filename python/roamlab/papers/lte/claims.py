"""The paper's claims, decided from the runs. A verdict is computed; the sentences are in `paper.toml`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.papers.deciding import claim, defined, difference, each, mean, most
from roamlab.papers.lte import model, modelfit
from roamlab.papers.lte.evidence import NARROW_PKTS, OTHER_SCHEDULERS, PEAKS, TABLE_IV
from roamlab.papers.lte.experiments import TARGETS
from roamlab.papers.lte.measures import PLACES
from roamlab.statistics.claims import Measure, as_printed, at_least, at_most, greater, less, within
from roamlab.statistics.stats import Interval, exact, paired, share_interval, unpaired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from roamlab.papers.lte.evidence import Active12, Anatomy, Evidence, Scheduled
    from roamlab.papers.lte.experiments import Aqm, Scheme
    from roamlab.papers.lte.measures import Active, Forwarded, Handover, Place
    from roamlab.papers.lte.model import Case
    from roamlab.papers.lte.model import Interpretation as Equation
    from roamlab.statistics.claims import Claim, Claimed

CURVE = range(8, 101, 2)
"""Fig. 4: the values of cwnd_MAX at which the model is drawn."""
ALWAYS = 0.05
"""Share of runs that may differ by chance, for "always" and "at most"."""
SYNS = 0.1
"""Packets of an ECN-capable flow that are dropped at the tunnel's end are SYNs: at most this number in a run,
of some 30 marked packets."""
SUBSTANTIALLY = 0.25
"""A "substantial increase" of what is delivered: by a quarter at least."""
ALIKE_PERCENT = 10.0
"""Schedulers give "basically same" results if these differ by at most a tenth: of what WFQ gives, or of all runs."""
SOURCE_RATES: dict[Aqm, tuple[str, str]] = {
    "droptail": ("drop-tail", "2.2"),
    "red": ("RED dropping", "2.2"),
    "mark": ("RED marking", "2.1"),
}
"""Table IV: what the paper prints of the link to the source, in percent."""
TARGET_RATES: dict[Aqm, float] = {"droptail": 3.9, "red": 3.6, "mark": 3.3}
"""The same of the link to the target."""
FIG12_NAMES: dict[str, Active12] = {
    "AQM": ("standard", "red"),
    "prediction": ("predictive", "droptail"),
    "prediction and AQM": ("predictive", "red"),
}
"""Fig. 12: the improvements of the standard procedure."""
_NOTHING = Interval(0.5, 0.0, 1.0, 0)
"""The share of a set without runs: anything."""


def _share(what: str, count: int, runs: int, claimed: Claimed) -> Measure:
    return Measure(what, share_interval(count, runs) if runs else _NOTHING, "1", claimed)


def _more_often(what: str, often: int, seldom: int) -> Measure:
    """Test that one case is at least as frequent as another: its share of the runs that are either."""
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
        *(defined(f"{name(n)}: {grows}", rises[n], "ms", greater()) for n in TARGETS),
        defined(
            f"rise with {many} mobiles minus rise with {few}",
            [after - before for after, before in zip(rises[many], rises[few], strict=True)],
            "ms",
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
        claimed = greater(printed=TARGET_RATES[after] - TARGET_RATES[before])
        what = f"R to target, {what}"
        return difference(what, one, other, lambda run: run.drops.rate["r->enb2"], "%", claimed)

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


def _tab4_source(found: Evidence) -> Claim:
    measures = (
        mean(
            f"R to source, {name}: drop rate",
            found.active["standard", aqm],
            partial(_rate, "r->enb1"),
            "%",
            as_printed(printed),
        )
        for aqm, (name, printed) in SOURCE_RATES.items()
    )
    return claim("lte.tab4.source", measures, found.interpretation)


def _rate(place: Place, run: Active) -> float:
    return run.drops.rate[place]


def _delivered(run: Active) -> float:
    return run.handover.handover_bytes / 1e3


def fig12_more(found: Evidence) -> Claim:
    """Substantially more data with AQM, with prediction and with both than with the standard procedure."""
    standard = each(found.active["standard", "droptail"], _delivered)
    least = [(1 + SUBSTANTIALLY) * before for before in standard]
    measures = (
        Measure(
            f"{name} minus {1 + SUBSTANTIALLY:g} of standard",
            paired(each(found.active[case], _delivered), least),
            "kB",
            greater(),
        )
        for name, case in FIG12_NAMES.items()
    )
    return claim("lte.fig12.more", measures, found.interpretation, substantially=SUBSTANTIALLY)


def fig12_both(found: Evidence) -> Claim:
    """More data with prediction and AQM together than with either."""
    *others, both = FIG12_NAMES
    measures = [
        difference(
            f"{both} minus {name}",
            found.active[FIG12_NAMES[both]],
            found.active[FIG12_NAMES[name]],
            _delivered,
            "kB",
            greater(),
        )
        for name in others
    ]
    return claim("lte.fig12.both", measures, found.interpretation, narrow_pkts=NARROW_PKTS)


def _schedulers(anatomy: Anatomy) -> Claim:
    """Each result under another scheduler less that under WFQ, in percent of it; of shares of runs in points."""
    alike = within(-ALIKE_PERCENT, ALIKE_PERCENT)
    wfq = anatomy.schedulers["wfq"]

    def apart(
        what: str, after: Sequence[Any], before: Sequence[Any], pick: Callable[[Any], float], of: float = 0.0
    ) -> Measure:
        """In percent of `of`, or, without it, of the mean of what WFQ gives."""
        base = of or float(np.mean(each(before, pick))) or 1.0
        return difference(what, after, before, lambda run: 100 * pick(run) / base, "%", alike)

    def timed_out(run: Handover) -> float:
        return float(run.congestion.outcome == "timeout")

    def measures(name: str, other: Scheduled) -> Iterator[Measure]:
        for scheme, runs in other.forwarding.items():
            what = f"{name} minus WFQ: runs with a timeout, {scheme}, {TARGETS[-1]} mobiles"
            yield apart(what, runs, wfq.forwarding[scheme], timed_out, 1.0)
        for case, delivered in other.active.items():
            what = f"{name} minus WFQ: delivered, {', '.join(case)}"
            yield apart(what, delivered, wfq.active[case], _delivered)
        for (scheme, aqm), place in product(TABLE_IV[:2], PLACES):
            what = f"{name} minus WFQ: drop rate, {aqm}, {place}"
            after, before = other.active[scheme, aqm], wfq.active[scheme, aqm]
            yield apart(what, after, before, partial(_rate, place))

    of_all = [one for name in OTHER_SCHEDULERS for one in measures(name, anatomy.schedulers[name])]
    return claim("lte.schedulers", of_all, alike=ALIKE_PERCENT)


def _mispredict(anatomy: Anatomy) -> Claim:
    wrong, none = (anatomy.predictions[name, False] for name in ("130 ms ahead", "none"))
    # A flow that receives nothing at all has no silence: its window was cut long before.
    silences = [(one.silence_s - other.silence_s) * 1e3 for one, other in zip(wrong, none, strict=True)]
    received = "segments received in 1.5 s, wrong prediction minus none"
    measures = (
        defined("longest silence, wrong prediction minus none", silences, "ms", greater()),
        difference(received, wrong, none, "received", "pkt", less()),
    )
    return claim("lte.mispredict", measures)


BY_EVIDENCE = {
    "lte.fig8": _fig8,
    "lte.fig9": _fig9,
    "lte.fig11": _fig11,
    "lte.tab4": _tab4,
    "lte.tab4.source": _tab4_source,
    "lte.fig12.more": fig12_more,
    "lte.fig12.both": fig12_both,
}
BY_ANATOMY = {
    "lte.double": _double,
    "lte.model": _model,
    "lte.ecn": _ecn,
    "lte.mispredict": _mispredict,
    "lte.schedulers": _schedulers,
}


def beside(found: Evidence, anatomy: Anatomy) -> list[Claim]:
    """Those that few of the axes touch."""
    return [_chart(found), *(of(anatomy) for of in BY_ANATOMY.values())]


def read(found: Evidence) -> list[Claim]:
    """Those that depend on an interpretation, under one."""
    return [of(found) for of in BY_EVIDENCE.values()]


def every(anatomy: Anatomy, found: Evidence) -> dict[str, Callable[[], Claim]]:
    """All claims, each to be decided alone."""
    of_anatomy = {name: partial(of, anatomy) for name, of in BY_ANATOMY.items()}
    of_evidence = {name: partial(of, found) for name, of in BY_EVIDENCE.items()}
    return {"lte.chart": partial(_chart, found), **of_anatomy, **of_evidence}


def decide(anatomy: Anatomy, found: Evidence) -> list[Claim]:
    """All claims."""
    return [of() for of in every(anatomy, found).values()]
