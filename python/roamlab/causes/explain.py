"""Why a flow stalled: its stalls with their chains of causes in sentences, and what reruns say of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab.base.errors import BadInput
from roamlab.causes.removal import recorded, removals
from roamlab.causes.stalls import NEEDED, Stall, stalls
from roamlab.causes.suspects import Suspect, losses, suspects, timeouts
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from roamlab.records.results import Results


@dataclass
class Trial:
    """A rerun with one suspect taken away."""

    kind: str
    what: str
    """What was changed."""
    gone: bool
    """The flow has no stall at this time any more."""
    left_s: float
    """The longest stall that is left there, in s."""


@dataclass
class Explanation:
    """A stall and why it was."""

    number: int
    """From 1: the longest of the stalls asked for."""
    stall: Stall
    suspects: list[Suspect]
    sentences: list[str]
    trials: list[Trial] | None = field(default=None)
    """None: not checked."""

    @property
    def named(self) -> str:
        """The kind of the first suspect or, if checked, of the cause that a rerun confirms; empty: none."""
        if self.trials is None:
            return self.suspects[0].kind if self.suspects else ""
        return next((trial.kind for trial in self.trials if trial.gone), "")

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        stall = self.stall
        return {
            "number": self.number,
            "flow": stall.flow,
            "start_s": stall.start_ns / 1e9,
            "end_s": stall.end_ns / 1e9,
            "length_s": stall.length_ns / 1e9,
            "cut_off": stall.cut_off,
            "sentences": self.sentences,
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
            "trials": None if self.trials is None else [vars(trial) for trial in self.trials],
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
    """The stalls of a run, or of one flow of it, longest first; with `number` only that one, counted from 1.

    `results` has the tables `NEEDED`. With `check`, suspects are taken away one by one, in the order of their rank,
    and the run is made again from the same seed, until the stall is gone.
    """
    known = [str(name) for name in results.flows["flow"]]
    if flow is not None and flow not in known:
        raise BadInput(
            f"--flow {flow}",
            "the run has no such flow",
            expected=f"one of {', '.join(known)}",
            remedy="leave --flow out to see the stalls of all",
        )
    found = [stall for name in ([flow] if flow else known) for stall in stalls(results, name)]
    found.sort(key=lambda stall: (-stall.length_ns, stall.start_ns))
    if number is not None and number > len(found):
        raise BadInput(
            f"--stall {number}",
            f"there are {len(found)} stalls",
            expected=f"a number from 1 to {len(found)}" if found else "a run with stalls",
            remedy="leave --stall out to see all",
        )
    chosen = range(1, len(found) + 1) if number is None else [number]
    return [_explain(results, found[each - 1], each, check=check) for each in chosen]


def _explain(results: Results, stall: Stall, number: int, *, check: bool) -> Explanation:
    suspected = suspects(results, stall)
    told = Explanation(number, stall, suspected, _sentences(results, stall, suspected))
    if check:
        told.trials = trials(results, stall, suspected)
    return told


def trials(results: Results, stall: Stall, suspected: list[Suspect]) -> list[Trial]:
    """Reruns with one suspect taken away each, up to the first in which the stall is gone."""
    made = results.manifest
    scenario = recorded(Scenario(made.scenario_text, made.scenario_name))
    tried: list[Trial] = []
    for suspect in suspected:
        for removal in removals(suspect, stall, results, scenario):
            if any(trial.what == removal.what for trial in tried):
                continue
            again = run(removal.scenario, made.seed, made.run)
            left = [each.length_ns for each in stalls(again, stall.flow) if each.overlaps(stall)]
            tried.append(Trial(suspect.kind, removal.what, not left, max(left, default=0) / 1e9))
            if not left:
                return tried
    return tried


def _sentences(results: Results, stall: Stall, suspected: list[Suspect]) -> list[str]:
    """The chain of a stall: what the receiver saw, the sender's timer, the losses, and what led to them."""
    row = results.flows.filter(pl.col("flow").cast(pl.String) == stall.flow)
    end = f"{_s(stall.end_ns)} s" + (", the end of the run" if stall.cut_off else "")
    told = [
        f"{row['destination'].item()} received nothing new of {stall.flow} for {stall.length_ns / 1e9:.3f} s, "
        f"{_s(stall.start_ns)} to {end}"
    ]
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
    if not suspected:
        return [*told, "the record names nothing that led to it"]
    first = suspected[0]
    told.append(f"suspected first: {_named(first)}")
    told += [f"because {_step(step)}" for step in first.chain if step["time_ns"] <= stall.end_ns]
    return told


def _named(suspect: Suspect) -> str:
    subject = " ".join(filter(None, (suspect.name, f"at {suspect.place}" if suspect.place else "")))
    about = f" of {suspect.host}" if suspect.host else ""
    return f"{suspect.kind}: {subject}{about}, {_s(suspect.time_ns)} s".replace(": ,", ",")


def _step(step: dict[str, Any]) -> str:
    parts = [step["kind"], step["name"], f"at {step['place']}" if step["place"] else ""]
    about = f", host {step['host']}" if step["host"] else ""
    return f"{' '.join(filter(None, parts))}{about}, {_s(step['time_ns'])} s"


def _s(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.3f}"


def lines(told: list[Explanation]) -> list[str]:
    """Explanations as text."""
    if not told:
        return ["no stall"]
    shown = []
    for each in told:
        shown.append(f"stall {each.number}: " + "\n  · ".join(each.sentences))
        for trial in each.trials or []:
            says = "the stall is gone: a cause" if trial.gone else f"a stall of {trial.left_s:.3f} s is left"
            shown.append(f"  rerun with {trial.what}: {says}")
        if each.trials is not None and not each.named:
            shown.append("  no rerun took the stall away: no cause is named")
    return shown
