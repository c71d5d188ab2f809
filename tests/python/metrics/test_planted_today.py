"""The sender's part in a stall, in runs of today's senders in which it is planted."""

from __future__ import annotations

import planted_today


def test_planted_parts_are_named() -> None:
    told, right = planted_today.measure(len(planted_today.KINDS))
    assert right == len(planted_today.KINDS), told
