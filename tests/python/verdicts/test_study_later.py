"""Twenty years later: quotations are of the papers, and sentences and verdicts are computed from searches and runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from roamlab import papers
from roamlab.papers.robustness import known
from roamlab.statistics.stats import Interval
from roamlab.studies.outcomes import later
from roamlab.studies.outcomes.cases import PRINTED, results

if TYPE_CHECKING:
    from roamlab.statistics.claims import FinalVerdict, Verdict

TEXTS = Path(os.environ.get("ROAMLAB_DATA", ""), "papers")
needs_texts = pytest.mark.skipif(not TEXTS.is_dir(), reason="$ROAMLAB_DATA has no papers")


def test_each_paper_is_listed_once_and_its_answers_are_pages() -> None:
    assert [of.paper for of in later.listed()] == [of.paper for of in results()]
    root = Path(papers.__path__[0]).parents[2]
    for of in later.listed():
        for each in of.wanted:
            page = each.answer.partition(":")[0]
            assert not page or (root / page).is_file()


@needs_texts
def test_quotations_are_of_the_papers() -> None:
    for of in later.listed():
        text = " ".join((TEXTS / f"{of.paper}.txt").read_text(encoding="utf-8").replace("*", "").split())
        for quote in (of.concluded, *(each.quote for each in of.wanted)):
            assert quote in text, (of.paper, quote)


def _worth(claim: str, over_all: FinalVerdict, **under: Verdict) -> later.Worth:
    of = {PRINTED: under.pop("printed"), **{name.replace("_", " "): each for name, each in under.items()}}
    return later.Worth("mblue", claim, over_all, "", Interval(0.5, 0.4, 0.6, 20), of)


def test_sentences_count_verdicts_and_name_conditions_that_turn_them() -> None:
    found = [
        _worth("mblue.a", "holds", printed="holds", signalling="holds", CUBIC="contradicted"),
        _worth("mblue.b", "depends", printed="contradicted", signalling="undecided", CUBIC="contradicted"),
        _worth("mblue.c", "depends", printed="undecided", signalling="holds", CUBIC="holds"),
    ]
    assert later.headline(found) == (
        "Of 3 main results 1 hold under each setting tried and 2 depend on what the text leaves open."
    )
    (mblue,) = (of for of in later.listed() if of.paper == "mblue")
    assert later.sentence(mblue, found) == (
        "Of its 3 main results 1 hold under each setting tried and 2 depend on what the text leaves open. "
        "With CUBIC: mblue.a (holds, then contradicted)."
    )


def test_verdicts_over_all_settings_are_those_of_the_shipped_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing_made(question: Any, *_: Any) -> dict[str, dict[str, Any]]:
        class _Claim:
            verdict = "undecided"

        names = [name for of in question.results() for name in of.claims]
        return {condition: dict.fromkeys(names, _Claim()) for condition in question.names}

    monkeypatch.setattr(later, "measure", nothing_made)
    found = later.worths(6, tmp_path, 1)
    assert [each.claim for each in found] == [name for of in results() for name in of.claims]
    for each in found:
        searched = known(each.paper, tmp_path)
        assert searched is not None
        record = searched.found[each.claim]
        assert each.share == record.share
        assert each.over_all in ("depends", searched.defaults[each.claim])
        assert bool(each.turn) == (each.over_all == "depends")
    assert {each.claim for each in found if "QUIC" not in each.under} == {"bcmp.fig6", "bcmp.fig7"}
