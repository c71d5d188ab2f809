"""The stalls of a flow with their chains of causes in sentences, and the results of reruns."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab.base.errors import BadInput
from roamlab.causes import early
from roamlab.causes.removal import recorded
from roamlab.causes.senders import Part, parts
from roamlab.causes.stalls import NEEDED, Stall, round_trip_ns, stalls
from roamlab.causes.suspects import Suspect, begin_of_losses, losses, suspects, timeouts
from roamlab.causes.trials import Trial, by_gain, named, trials
from roamlab.records.slow import SlowPeriod, slow_periods
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from roamlab.records.results import Results


@dataclass
class Explanation:
    """A stall and why it was."""

    number: int
    """From 1: the longest of the stalls asked for."""
    stall: Stall
    suspects: list[Suspect]
    sentences: list[str]
    trials: list[Trial] | None = field(default=None)
    """In the order of their suspects; None: not checked."""
    slow: SlowPeriod | None = None
    """The slow period that the stall is part of, or that is explained."""
    sender: list[Part] = field(default_factory=list)
    """What the sender had to do with it, in order of time."""

    @property
    def word(self) -> str:
        """What is explained."""
        return "slow period" if self.stall.is_slow else "stall"

    @property
    def named(self) -> str:
        """The kind of the first suspect or, if checked, of the cause that a rerun confirms; empty: none."""
        if self.trials is None:
            return self.suspects[0].kind if self.suspects else ""
        found = named(self.trials)
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
                    "chain": [row["id"] for row in each.chain],
                }
                for each in self.suspects
            ],
            "cause": self.named if self.trials is not None else None,
            "trials": None if self.trials is None else [asdict(trial) for trial in by_gain(self.trials)],
        }


def with_record(results: Results) -> tuple[Results, str]:
    """The run with the tables that are needed, made again where it lacks some; and a note that says so, or "".

    It is made from the scenario, seed and number in its manifest; what is recorded does not change what happens.
    """
    made = results.manifest
    lacking = [table for table in NEEDED if table not in set(made.outline.recorded)]
    if not lacking:
        return results, ""
    again = run(recorded(Scenario(made.scenario_text, made.scenario_name)), made.seed, made.run)
    lines = ", ".join(f"`{table} = true`" for table in lacking)
    return again, f"the run has no {' and no '.join(lacking)}: made again with {lines} under [record]"


def explain(
    results: Results, flow: str | None = None, number: int | None = None, *, check: bool = False
) -> list[Explanation]:
    """The stalls of a run, or of one flow of it, longest first, then slow periods without a stall, longest first.

    With `number` only that one, counted from 1. `results` has the tables `NEEDED`. With `check`, each suspect is taken
    away, and the run is made again from the same seed.
    """
    known = [str(name) for name in results.flows["flow"]]
    if flow is not None and flow not in known:
        raise BadInput(
            f"--flow {flow}",
            "the run has no such flow",
            expected=f"one of {', '.join(known)}",
            remedy="leave --flow out to see the stalls of all",
        )
    found = [each for name in ([flow] if flow else known) for each in _troubles(results, name)]
    found.sort(key=lambda each: (each[0].is_slow, -each[0].length_ns, each[0].start_ns))
    if number is not None and number > len(found):
        raise BadInput(
            f"--stall {number}",
            f"there are {len(found)} stalls and slow periods",
            expected=f"a number from 1 to {len(found)}" if found else "a run with stalls or slow periods",
            remedy="leave --stall out to see all",
        )
    chosen = range(1, len(found) + 1) if number is None else [number]
    return [_explain(results, *found[each - 1], each, check=check) for each in chosen]


def _troubles(results: Results, flow: str) -> list[tuple[Stall, SlowPeriod | None]]:
    """Each stall of a flow, with the slow period that it is part of; and each slow period without a stall."""
    silent, slow = stalls(results, flow), slow_periods(results, flow)
    found: list[tuple[Stall, SlowPeriod | None]] = []
    for stall in silent:
        meets = [each for each in slow if each.start_ns < stall.end_ns and stall.start_ns < each.end_ns]
        found.append((stall, max(meets, key=lambda each: each.length_ns, default=None)))
    met = [each for _, each in found]
    alone = [each for each in slow if each not in met]
    round_trip = round_trip_ns(results, flow) if alone else 0
    for each in alone:
        as_stall = Stall(flow, each.start_ns, each.end_ns, round_trip, each.cut_off, is_slow=True)
        found.append((as_stall, each))
    return found


def _explain(
    results: Results, stall: Stall, slow: SlowPeriod | None, number: int, *, check: bool
) -> Explanation:
    suspected = suspects(results, stall)
    told = Explanation(number, stall, suspected, _sentences(results, stall, slow, suspected), slow=slow)
    told.sender = parts(results, stall, slow)
    if check:
        told.trials = trials(results, stall, suspected, slow)
    return told


def _sentences(
    results: Results, stall: Stall, slow: SlowPeriod | None, suspected: list[Suspect]
) -> list[str]:
    """The chain of a stall: what the receiver saw, the sender's timer, the losses, and what led to them."""
    row = results.flows.filter(pl.col("flow").cast(pl.String) == stall.flow)
    receiver = row["destination"].item()
    told = []
    if not stall.is_slow:
        told.append(
            f"{receiver} received nothing new of {stall.flow} for {stall.length_ns / 1e9:.3f} s, {_span(stall)}"
        )
    if slow:
        told.append(
            f"{receiver} received less than half of {stall.flow} for {slow.length_ns / 1e9:.3f} s, {_span(slow)}: "
            f"{slow.rate_bps / 1e6:.3g} instead of {slow.before_bps / 1e6:.3g} Mbit/s"
        )
    expired = timeouts(results, stall)
    if expired.height:
        rto, times = expired["rto_ns"].to_list(), expired["time_ns"].to_list()
        judged = expired["timeout"].cast(pl.String).to_list()
        at = ", ".join(f"{_s(time)} s ({kind})" for time, kind in zip(times, judged, strict=True))
        told.append(f"the retransmission timer went off at {at}; RTO then {rto[-1] / 1e9:.3g} s")
    lost = losses(results, stall).group_by("place", "reason", maintain_order=True)
    groups = lost.agg(pl.len(), first=pl.col("time_ns").min(), last=pl.col("time_ns").max())
    told += [
        f"{each['len']} packets of it were lost at {each['place']}: {each['reason']}, "
        f"{_s(each['first'])} to {_s(each['last'])} s"
        for each in groups.sort("len", descending=True).iter_rows(named=True)
    ]
    dropped = [each.time_ns for each in suspected if each.kind == "early drop"]
    told += early.sentences(results, stall, min([begin_of_losses(stall), *dropped]))
    if not suspected:
        return [*told, "the record names nothing that led to it"]
    first = suspected[0]
    told.append(f"suspected first: {_named(first)}")
    told += [f"because {_step(step)}" for step in first.chain if step["time_ns"] <= stall.end_ns]
    return told


def _named(suspect: Suspect) -> str:
    subject = f"{suspect.kind}: {suspect.name}" if suspect.name else suspect.kind
    place = f" at {suspect.place}" if suspect.place else ""
    about = f" of {suspect.host}" if suspect.host else ""
    return f"{subject}{place}{about}, {_s(suspect.time_ns)} s"


def _step(step: dict[str, Any]) -> str:
    parts = [step["kind"], step["name"], f"at {step['place']}" if step["place"] else ""]
    about = f", host {step['host']}" if step["host"] else ""
    return f"{' '.join(filter(None, parts))}{about}, {_s(step['time_ns'])} s"


def _span(span: Stall | SlowPeriod) -> str:
    end = f"{_s(span.end_ns)} s" + (", the end of the run" if span.cut_off else "")
    return f"{_s(span.start_ns)} to {end}"


def _s(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.3f}"


def lines(told: list[Explanation]) -> list[str]:
    """Explanations as text."""
    if not told:
        return ["no stall and no slow period"]
    shown = []
    for each in told:
        told_of_sender = [part.sentence for part in each.sender]
        shown.append(f"{each.word} {each.number}: " + "\n  · ".join([*each.sentences, *told_of_sender]))
        if each.trials is None:
            continue
        shown += [f"  rerun with {trial.what}: {_says(trial, each)}" for trial in by_gain(each.trials)]
        if not each.named:
            shown.append(f"  no rerun took the {each.word} away: no cause is named")
        remedies = [trial.what for trial in by_gain(each.trials) if trial.helps and not trial.given]
        if remedies:
            shown.append(f"  remedy: {remedies[0]}")
        elif each.named:
            shown.append("  no remedy found: no setting that was tried takes half of it away")
    return shown


def _says(trial: Trial, told: Explanation) -> str:
    """What a rerun gained, and whether what it took away was a cause."""
    left = trial.left.slow_s if told.stall.is_slow else trial.left.longest_s
    word = told.word
    says = f"the {word} is gone: a cause" if trial.gone else f"a {word} of {left:.3f} s is left"
    if trial.halves and not trial.gone:
        says += ", but most of the slow period is gone: a cause"
    gains = [f"{trial.gain_stall_s:.3f} s of stall"]
    if told.slow:
        gains.append(f"{trial.gain_slow_s:.3f} s of slow period")
        back = trial.left.back_s
        gains.append("never slow" if back is None else f"rate back at {back:.3f} s")
    gains.append(f"goodput {trial.gain_goodput_bps / 1e3:+.4g} kbit/s")
    return f"{says}; gained {', '.join(gains)}" + ("; no setting changes this" if trial.given else "")
