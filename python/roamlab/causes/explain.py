"""The stalls of a flow with their chains of causes in sentences, and the results of reruns."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted
from roamlab.causes.removal import recorded
from roamlab.causes.trials import GAINS, Check, Gain, Reruns, Trial, by_gain, named
from roamlab.causes.trials import check as trying
from roamlab.records import analysis
from roamlab.records.analysis import NEEDED, Found
from roamlab.running.run import simulate
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from roamlab.records.results import Results


_TOLD_DELAY_S = 0.001
"""A change of the mean delay below it is not reported."""


@dataclass
class Explanation(Found):
    """A stall and why it was."""

    number: int
    """From 1: the longest of the stalls asked for."""
    check: Check | None = None
    """Result of reruns; None: not checked."""

    @property
    def word(self) -> str:
        """Explained stalls and slow periods."""
        return "slow period" if self.stall.is_slow else "stall"

    @property
    def named(self) -> str:
        """The kind of the first suspect or, if checked, of the cause that a rerun confirms; empty: none."""
        if self.check is None:
            return self.suspects[0].kind if self.suspects else ""
        found = named(self.check.trials)
        return found.kind if found else ""

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        stall, slow = self.stall, self.slow
        return {
            "number": self.number,
            "what": self.word,
            "flow": stall.flow,
            "start_s": stall.start_ns / 1e9,
            "end_s": stall.end_ns / 1e9,
            "length_s": stall.length_ns / 1e9,
            "cut_off": stall.cut_off,
            "slow_period": slow
            and {
                "start_s": slow.start_ns / 1e9,
                "end_s": slow.end_ns / 1e9,
                "length_s": slow.length_ns / 1e9,
                "before_bps": slow.before_bps,
                "rate_bps": slow.rate_bps,
            },
            "sentences": self.sentences,
            "sender": [
                {"kind": each.kind, "time_s": each.time_ns / 1e9, "role": each.role} for each in self.sender
            ],
            "suspects": [
                {
                    "kind": each.kind,
                    "name": each.name,
                    "place": each.place,
                    "time_s": each.time_ns / 1e9,
                    "rows": each.count,
                    "chain": list(each.chain),
                }
                for each in self.suspects
            ],
            "timer": self.wait
            and {
                "path_back_s": self.wait.back_ns / 1e9,
                "expired_s": self.wait.expired_ns / 1e9,
                "waited_s": self.wait.length_ns / 1e9,
            },
            **_checked(self),
        }


def _checked(told: Explanation) -> dict[str, Any]:
    """Results of reruns, for programs."""
    if told.check is None:
        return {"cause": None, "trials": None, "left_out": None, "remedy": None}
    remedy = told.check.remedy
    return {
        "cause": told.named,
        "trials": [_trial(trial) for trial in by_gain(told.check.trials)],
        "left_out": [{"what": each.what, "refused": each.refused} for each in told.check.left_out],
        "remedy": remedy and {"what": remedy.trial.what, **asdict(remedy.gain)},
    }


def _trial(trial: Trial) -> dict[str, Any]:
    """Its fields; the gains with the name of what is gained."""
    plain = ("kind", "what", "given", "gone", "halves", "ends_wait")
    gains = {f"gain_{name}": getattr(trial.gain, name) for name in GAINS}
    return {**{name: getattr(trial, name) for name in plain}, "left": asdict(trial.left), **gains}


def with_record(results: Results) -> tuple[Results, str]:
    """The run with the tables that are needed, made again where it lacks some; and a note on that, or "".

    It is made from the scenario, seed and number in its manifest; what is recorded does not change what happens. The
    note reports totals of flows that differ, as another build may give. Raises `BadInput` if the
    totals that were kept are damaged.
    """
    made = results.manifest
    lacking = [table for table in NEEDED if table not in set(made.outline.recorded)]
    if not lacking:
        return results, ""
    kept = results.flows
    again = simulate(recorded(Scenario(made.scenario_text, made.scenario_name)), made.seed, made.run)
    lines = ", ".join(f"`{table} = true`" for table in lacking)
    note = f"the run has no {' and no '.join(lacking)}: made again with {lines} under [record]"
    if not again.flows.equals(kept):
        note += f"; its flows have other totals than the folder, which roamlab {made.version} of another build wrote"
    return again, note


def explain(
    results: Results, flow: str | None = None, number: int | None = None, *, check: bool = False
) -> list[Explanation]:
    """The stalls of a run, or of one flow of it, longest first, then slow periods without a stall, longest first.

    With `number` only that one, counted from 1. `results` has the tables `NEEDED`. With `check`, each suspect is taken
    away, and the run is made again from the same seed. A remedy is tried in several runs.
    """
    known = [str(name) for name in results.flows["flow"]]
    if flow is not None and flow not in known:
        raise BadInput(
            f"--flow {flow}",
            "the run has no such flow",
            expected=f"one of {', '.join(known)}",
            remedy="leave --flow out to see the stalls of all",
        )
    found = analysis.explained(results, flow, None if number is None else number - 1)
    if number is not None and not found:
        count = analysis.troubles(results, flow)
        raise BadInput(
            f"--stall {number}",
            f"there {_are(count)}",
            expected=f"a number from 1 to {count}" if count else "a run with stalls or slow periods",
            remedy="leave --stall out to see all",
        )
    told = [Explanation.of(each, number=at) for at, each in enumerate(found, start=number or 1)]
    if check:
        reruns = Reruns(results, {each.stall.flow for each in told})
        for each in told:
            each.check = trying(reruns, each.stall, each.suspects, each.slow)
    return told


def _are(troubles: int) -> str:
    """How many there are."""
    verb = "is" if troubles == 1 else "are"
    return f"{verb} {counted(troubles, 'stall or slow period', 'stalls and slow periods')}"


def lines(told: list[Explanation]) -> list[str]:
    """Explanations as text."""
    if not told:
        return ["no stall and no slow period"]
    shown = []
    for each in told:
        said = "\n  · ".join([*each.sentences, *each.sender_sentences])
        shown.append(f"{each.word} {each.number}: {said}")
        if each.check is not None:
            shown += _told(each, each.check)
    return shown


def _told(each: Explanation, done: Check) -> list[str]:
    """The reruns, the cause and the remedy."""
    shown = [f"  rerun with {trial.what}: {_says(trial, each)}" for trial in by_gain(done.trials)]
    shown += [
        f"  no rerun with {left.what}: the scenario does not take it, {left.refused}"
        for left in done.left_out
    ]
    if not each.named:
        shown.append(f"  no rerun took the {each.word} away: no cause is named")
    for trial, gain in done.judged:
        if gain.is_loss:
            shown.append(f"  no remedy: {trial.what}, because {_over(gain)} {_gained(gain)}")
        else:
            part = "" if trial.helps else ", for what is the timer's"
            shown.append(f"  remedy: {trial.what}{part}; {_over(gain)} {_gained(gain)}")
    if not done.judged and each.named:
        shown.append("  no remedy found: no setting that was tried takes half of it away")
    return shown


def _over(gain: Gain) -> str:
    """The runs of which a gain is reported."""
    if gain.runs > 1:
        return f"over {gain.runs} whole runs, in the mean,"
    return "with every seed" if gain.same else "over the whole run"


def _says(trial: Trial, told: Explanation) -> str:
    """Stall that a rerun left at this time, whether the removed event was a cause, and the gain in the whole run."""
    left = trial.left.slow_s if told.stall.is_slow else trial.left.longest_s
    word = told.word
    says = f"the {word} is gone" if trial.gone else f"a {word} of {left:.3f} s is left"
    if trial.helps:
        says += ": a cause" if trial.gone else ", but most of the slow period is gone: a cause"
    if told.slow:
        back = trial.left.back_s
        says += ", never slow" if back is None else f", rate back at {back:.3f} s"
    says += f"; over the whole run {_gained(trial.gain)}"
    return says + ("; no setting changes this" if trial.given else "")


def _gained(gain: Gain) -> str:
    """A gain or loss in words: of a run, or the mean of several."""
    times = ((gain.stall_s, "in stalls"), (gain.slow_s, "in slow periods"))
    parts = [f"{abs(each):.3f} s {'less' if each > 0 else 'more'} {where}" for each, where in times if each]
    rates = ((gain.goodput_bps, "goodput"), (gain.all_bps, "goodput of all flows"))
    shown = rates if gain.all_bps < 0.0 < gain.goodput_bps else rates[:1]
    parts += [
        f"{what} {abs(each) / 1e3:.4g} kbit/s {'higher' if each > 0 else 'lower'}"
        if each
        else f"the same {what}"
        for each, what in shown
    ]
    if abs(gain.delay_s) >= _TOLD_DELAY_S:
        parts.append(
            f"mean delay {abs(gain.delay_s) * 1e3:.3g} ms {'shorter' if gain.delay_s > 0 else 'longer'}"
        )
    return ", ".join(parts)
