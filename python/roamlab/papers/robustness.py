"""Where a paper's claims hold, as the last search of its space found it, for those who did not search.

`roamlab reproduce PAPER --explore` leaves what it found in the store. A paper's package may ship such a record,
`explored.json`, which counts where the store has none of this engine and this code.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar, cast

from roamlab import _roamlab
from roamlab.base import figures
from roamlab.base.errors import BadInput
from roamlab.base.inputs import unread
from roamlab.base.output import write_whole
from roamlab.papers import fitting, spaces
from roamlab.papers.stored import code
from roamlab.showing.matrix import Change, Matrix
from roamlab.showing.page import Table
from roamlab.statistics.claims import KINDS, VERDICTS, Searched, turned
from roamlab.statistics.stats import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from roamlab.base.figures import SavedFigure
    from roamlab.statistics.claims import Claim, Verdict

T = TypeVar("T")

KEPT, FIT = "explored", "fit"
"""In a store: the folders of what searches found, one file for each paper: all, and the setting that fits most."""
RECORD = f"{KEPT}.json"
"""In a paper's package: the first of these. The other may be there too."""


@dataclass(frozen=True)
class Known:
    """Result of a search."""

    settings: int
    """Number of tried settings."""
    runs: int
    """Of each experiment under each."""
    engine: str
    code: str
    """Hash of the space, the claims, and all that they import."""
    axes: Mapping[str, list[str]]
    """The labels of their values."""
    shares: Mapping[str, list[list[float | None]]]
    """Of each claim, by axis and value, the share of the settings tried with the value in which it holds."""
    defaults: Mapping[str, str]
    """Each claim's verdict under the default, from this number of runs."""
    lines: Mapping[str, str]
    """Each claim's robustness in one line."""
    found: Mapping[str, Searched]
    """Of each claim the setting in which its verdict turned, and the share of the space in which it holds; the values
    that the text rules out are not marked."""
    says: Mapping[str, str]
    """Statements of the paper about each axis."""
    nearest: Mapping[str, Mapping[str, Any]]
    """Of each claim the setting in which it comes nearest to holding, with its distance. Older records have none."""
    turns: Mapping[str, Sequence[str]]
    """Of each claim the changes that fresh runs confirm to turn it. Older records have none."""
    alone: Sequence[tuple[Mapping[str, str], Mapping[str, Verdict]]]
    """The default (no change), then each other value of an axis alone, with the claims' verdicts. Older records have
    none; a short search has not tried all."""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Known:
        """From what a search writes. Raises `KeyError`, `TypeError` and so on if it is something else."""
        return cls(
            int(data["settings"]),
            int(data["runs"]),
            str(data["engine"]),
            str(data["code"]),
            {str(what): [str(label) for label in labels] for what, labels in data["axes"].items()},
            {str(claim): [list(axis) for axis in shares] for claim, shares in data["map"].items()},
            {str(claim): str(each["default"]) for claim, each in data["claims"].items()},
            {str(claim): str(each["robustness"]) for claim, each in data["claims"].items()},
            {
                str(claim): _searched(each, int(data.get("drawn", 0)))
                for claim, each in data["claims"].items()
            },
            {str(what): str(text) for what, text in data.get("says", {}).items()},
            {
                str(claim): {
                    "line": str(each["nearest"]["line"]),
                    "setting": dict(each["nearest"]["setting"]),
                }
                for claim, each in data["claims"].items()
                if "nearest" in each
            },
            {str(claim): _confirmed(each) for claim, each in data["claims"].items()},
            [
                (
                    dict(each["setting"]),
                    {str(claim): _verdict(each["claims"][claim]["verdict"]) for claim in data["claims"]},
                )
                for each in data.get("alone", [])
            ],
        )

    def decide(self, paper: str, claims: Sequence[Claim]) -> list[Claim]:
        """The claims of a paper, each with what the search found on it, from which its final verdict is computed."""
        return [
            replace(claim, searched=replace(found, excluded=ruled_out(paper, found.turn)))
            if (found := self.found.get(claim.id))
            else claim
            for claim in claims
        ]

    def facts(self, paper: str, claim: Claim) -> dict[str, str]:
        """Text of a claim's card on what the search found, by names; `claim` is one of `decide`."""
        found = claim.searched
        if found is None:
            return {}
        told = {}
        if claim.final == "depends":
            told["depends on"] = found.changes
            told["with this change"] = f"{found.fresh} in {found.runs} further runs: {found.measured}"
            if others := [each for each in self.turns[claim.id] if each != found.changes]:
                told["or on"] = "; or ".join(others)
        elif found.excluded:
            told["turn that does not count"] = (
                f"{found.changes}. The text rules out: {', '.join(found.excluded)}"
            )
        if claim.final != "depends" and (alone := self._turned_alone(paper, claim)):
            told["not confirmed by further runs"] = (
                f"{turned(claim.verdict)} in {self.runs} runs with one of: {alone}"
            )
        if found.share is not None:
            told["holds in"] = _share_text(found.share)
        on = list(found.turn if claim.final == "depends" else ())
        if claim.final == "depends" or claim.verdict == "contradicted":
            near = self.nearest.get(claim.id, {"line": "not on record", "setting": {}})
            out = ruled_out(paper, near["setting"])
            told["nearest setting"] = near["line"] + (
                f". The text rules out: {', '.join(out)}" if out else ""
            )
            on = on or list(near["setting"])
        said = "; ".join(f"{what}: {self.says[what]}" for what in on if what in self.says)
        return told | ({"the paper on it": said} if said else {})

    def _turned_alone(self, paper: str, claim: Claim) -> str:
        """The values that the text permits and that alone gave the other verdict on record."""
        return ", ".join(
            f"{what}: {value}"
            for changed, verdicts in self.alone
            for what, value in changed.items()
            if verdicts.get(claim.id) == turned(claim.verdict) and not ruled_out(paper, changed)
        )

    def line(self, claim: Claim) -> str | None:
        """A claim's robustness with its verdict; another verdict from this number of runs is reported as theirs."""
        line = self.lines.get(claim.id)
        if line is None or self.defaults[claim.id] == claim.verdict:
            return line
        return f"with {self.runs} runs: {line}"

    def source(self, paper: str) -> str:
        """Where the lines are from, for people."""
        tried = f"from {self.settings} settings with {self.runs} runs of each experiment"
        again = f"`roamlab reproduce {paper} --explore` searches with this one"
        if self.engine != _roamlab.build_hash():
            return f"Robustness: {tried}, on record from engine build {self.engine[:12]}; {again}."
        if self.code != code(f"roamlab.papers.{paper}.space"):
            return f"Robustness: {tried}, on record from this engine and other measures or claims; {again}."
        return f"Robustness: {tried}, by this engine."

    def one_changed(self, paper: str) -> Table:
        """The verdicts when one choice changes: a row for each value of an axis, a column for each claim."""
        rows = [
            (
                *next(iter(changed.items()), ("none", "the default")),
                *(verdicts[name] for name in self.defaults),
            )
            for changed, verdicts in self.alone
        ]
        names = (name.partition(".")[2] for name in self.defaults)
        title = f"The claims when one choice changes. {self.source(paper)}"
        return Table(title.replace("`", ""), ("choice", "value", *names), rows)

    def matrix(self, paper: str, claims: Sequence[Claim]) -> Matrix:
        """The same with marks, below the final verdicts of `claims`, which are those of `decide`."""
        columns = [claim for kind in KINDS for claim in claims if claim.kind == kind]
        rows = [
            Change(
                "".join(f"{what}: {value}" for what, value in changed.items()) or "the default, on record",
                bool(ruled_out(paper, changed)),
                [verdicts.get(claim.id) for claim in columns],
            )
            for changed, verdicts in self.alone
        ]
        return Matrix([(claim.id, claim.final) for claim in columns], rows, self.source(paper))

    def draw_map(self, folder: Path) -> SavedFigure:
        """Of the settings with a value, the share in which a claim holds."""
        import numpy as np

        labels = [f"{what} {label}" for what, values in self.axes.items() for label in values]
        names = list(self.shares)
        shares = np.array(
            [[np.nan if at is None else at for axis in self.shares[name] for at in axis] for name in names]
        ).T
        with figures.new_figure(row_inches=0.22 * len(labels) + 1.6) as (figure, (axes,)):
            axes.imshow(shares * 100, cmap="Blues", vmin=0, vmax=100, aspect="auto")
            for (row, column), share in np.ndenumerate(shares):
                told = "-" if np.isnan(share) else str(round(share * 100))
                colour = "white" if share > 0.6 else "black"
                axes.text(column, row, told, ha="center", va="center", fontsize=7, color=colour)
            axes.set_xticks(
                range(len(names)), [name.partition(".")[2] for name in names], rotation=60, ha="right"
            )
            axes.set_yticks(range(len(labels)), labels)
            at = 0.0
            for values in list(self.axes.values())[:-1]:
                at += len(values)
                axes.axhline(at - 0.5, color="black", linewidth=0.6)
            axes.set_xlabel("claim")
            axes.set_ylabel("interpretation")
            axes.grid(visible=False)
            caption = (
                f"Of the settings with the interpretation in the row, {self.settings} in all, the share [%] in which "
                "the claim in the column holds."
            )
            return figures.save(figure, folder, "map", caption)


def _searched(claim: Mapping[str, Any], drawn: int) -> Searched:
    """The result of a search for a claim, from its record. An older one has no shares and no turning points."""
    fresh = claim.get("fresh_runs") or {}
    share = claim.get("shares", {}).get("holds")
    return Searched(
        turn={str(what): str(value) for what, value in (claim.get("turns_under") or {}).items()},
        fresh=_verdict(fresh["verdict"]) if fresh else None,
        measured=str(fresh.get("measured", "")),
        runs=int(fresh.get("runs", 0)),
        share=Interval(float(share[0]), float(share[1]), float(share[2]), drawn) if share else None,
    )


def _confirmed(claim: Mapping[str, Any]) -> list[str]:
    """The changes of a claim's record that fresh runs confirm, for people."""
    other = turned(_verdict(claim["default"]))
    return [
        Searched({str(what): str(value) for what, value in each["setting"].items()}).changes
        for each in claim.get("turns", [])
        if each["fresh_runs"]["verdict"] == other
    ]


def _verdict(word: str) -> Verdict:
    """Raises `ValueError` if it is none."""
    return VERDICTS[VERDICTS.index(cast("Verdict", word))]


def ruled_out(paper: str, setting: Mapping[str, str]) -> tuple[str, ...]:
    """The choices of a setting with a value that the text of the paper rules out."""
    return tuple(
        axis.what
        for axis in (spaces.axes(paper) if setting else ())
        for value in axis.values
        if value.ruled_out and setting.get(axis.what) == value.label
    )


def _share_text(share: Interval) -> str:
    effect, low, high = (round(each * 100) for each in (share.effect, share.low, share.high))
    return f"{effect} % ({low} … {high}) of the {share.runs} settings that were drawn at random"


def known(paper: str, store: Path) -> Known | None:
    """Recorded robustness of a paper's claims, or `None`.

    From the store if a search by this engine and this code left it there, else from the package's record. Raises
    `BadInput` if the store has something else there.
    """
    return _known(paper, store, KEPT, Known.of, lambda found: (found.engine, found.code))


def fitted(paper: str, store: Path) -> Table | None:
    """The one setting under which most of a paper's results hold, on record in the same places, or `None`."""
    found = _known(paper, store, FIT, _fit, lambda found: found[:2])
    return found[2] if found else None


def shipped_turns(paper: str) -> list[dict[str, str]]:
    """The changes that turn a claim in the record that the paper's package ships; nothing without a record."""
    found: list[dict[str, str]] = []
    for claim in (_shipped(paper, KEPT) or {"claims": {}})["claims"].values():
        found += [turn for turn in (claim.get("turns_under"),) if turn]
        found += [each["setting"] for each in claim.get("turns", [])]
    return found


def _fit(data: Mapping[str, Any]) -> tuple[str, str, Table]:
    return str(data["engine"]), str(data["code"]), fitting.claims_table(data)


def _known(
    paper: str,
    store: Path,
    name: str,
    read: Callable[[Any], T],
    made_by: Callable[[T], tuple[str, str]],
) -> T | None:
    kept = store / name / f"{paper}.json"
    if kept.exists():
        found = _read(kept, read)
        if made_by(found) == (_roamlab.build_hash(), code(f"roamlab.papers.{paper}.space")):
            return found
    shipped = _shipped(paper, name)
    return None if shipped is None else read(shipped)


def _shipped(paper: str, name: str) -> Any:
    """The record of this name in the paper's package; None: it has none."""
    record = files("roamlab.papers") / paper / f"{name}.json"
    return json.loads(record.read_text(encoding="utf-8")) if record.is_file() else None


def _read(kept: Path, read: Callable[[Any], T]) -> T:
    try:
        return read(json.loads(kept.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            kept,
            f"it is not what a search writes: {unread(error)}",
            expected="`claims`, and for each of them `robustness`",
            remedy="search again with `roamlab reproduce PAPER --explore`, or move the file away",
        ) from error


def keep(paper: str, name: str, data: Mapping[str, Any], store: Path) -> None:
    """Keep the result of a search in the store, except the single settings; `name`: that of its record."""
    path = store / name / f"{paper}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text({part: of for part, of in data.items() if part != "tried"}).encode())


def text(data: Mapping[str, Any]) -> str:
    """Result of a search, as JSON."""
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
