"""The output of `ping` and `iperf3`."""

from __future__ import annotations

import json
import re
from typing import Any

PING = re.compile(r"(\[\d+\.\d+\] )?(PING |\d+ bytes from )")
"""The begin of a line in the output of `ping`, of the first one too."""
ANSWER = re.compile(r"\[(\d+\.\d+)\] \d+ bytes from (.*?):? icmp_[rs]eq=(\d+) .*?time=([\d.]+) ms")
"""An answer in the output of `ping -D` (iputils): time in s since 1970, host, number, and round trip in ms."""


def intervals(text: str, **numbers: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The document that `iperf3 -J` prints, and the `sum` of each of its intervals.

    `numbers`: `parse_float` and `parse_int` of `json.loads`. Raises `KeyError`, `TypeError` or `ValueError` for any
    other text.
    """
    document = json.loads(text[text.index("{") :], **numbers)
    return document, [{**interval["sum"]} for interval in document["intervals"]]
