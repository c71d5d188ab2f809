"""Texts of a paper's report, and the sentences of its claims: the data of its package, `paper.toml`.

* `title` and `paper`, what the report is about; `main`, the claims of the paper's abstract, which are its headline;
  `lead`, the figure that carries them;
* `parameters` and `assumptions`, lists of rows: what, the value, and its source or the reason;
* `claims`, by their names: `statement`; `kind`, "result" if it has none; `interpretation`, of the points that the
  paper leaves open; `why`, the mechanism behind the outcome; `figures`, the names of those that show it;
* `captions` of figures, by the figures' names, or a name that several share.

An interpretation, a reason and a caption may have fields in braces, which `deciding.claim` and `drawing.saved` fill.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DATA = "paper.toml"


@dataclass(frozen=True)
class Texts:
    """The texts of a paper's report."""

    title: str
    paper: str
    main: Sequence[str]
    lead: str
    parameters: Sequence[Sequence[str]]
    assumptions: Sequence[Sequence[str]]
    claims: Mapping[str, Mapping[str, Any]]
    captions: Mapping[str, str]

    @property
    def shows(self) -> dict[str, tuple[str, ...]]:
        """The figures of each claim that has any."""
        return {name: tuple(of["figures"]) for name, of in self.claims.items() if "figures" in of}


@cache
def texts(paper: str) -> Texts:
    """The texts of a paper. Raises `TypeError` for keys that they do not have."""
    return Texts(**tomllib.loads((files("roamlab.papers") / paper / DATA).read_text(encoding="utf-8")))
