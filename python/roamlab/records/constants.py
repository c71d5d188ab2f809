"""Lists that the package shares with the engine's analyses of a record, and with the page."""

from __future__ import annotations

import json

from roamlab import _roamlab

_LISTS = json.loads(_roamlab.constants())

MOVES: tuple[str, ...] = tuple(_LISTS["moves"])
"""Roots of the table `causes` that begin a handover of their host."""

NO_LOSS: tuple[str, ...] = tuple(_LISTS["no_loss"])
"""Reasons in `drops` that lose no data: a spare copy, one that the host had got, a suppressed acknowledgement."""

WITHOUT_CONNECTION: tuple[str, ...] = tuple(_LISTS["without_connection"])
"""Kinds of flows that have no connection with acknowledgements."""

AMPLE: str = _LISTS["ample"]
"""A limit that nothing reaches."""

EXPIRIES: tuple[str, ...] = tuple(_LISTS["expiries"])
"""The fields of a protocol with times after which it drops waiting packets or ends a state."""

EXPLORED: dict[str, list[str]] = _LISTS["explored"]
"""The tables and columns that the explorer shows."""
