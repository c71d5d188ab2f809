"""Parameters that `tc` of iproute2 gives the kernel's RED for `tc qdisc add red limit LIMIT avpkt 1000 ecn`.

Sources: `tc/q_red.c`, `tc/tc_red.c` and `tc/tc_core.c` of iproute2, and `struct tc_red_qopt` of the kernel.
"""

from __future__ import annotations

import math
import struct

_PACKET = 1000
_PROBABILITY = 0.02
_BYTES_PER_S = 10_000_000 // 8
_TICKS_PER_US = 1000 / 64
_ECN = 1


def _weight_log(low: int, burst: int) -> int:
    """The least k for which a burst brings an average with a weight of 1/2^k from 0 to the minimum at most."""
    return next(k for k in range(1, 32) if burst + 1 - low / _PACKET <= (1 - (1 - 0.5**k) ** burst) / 0.5**k)


def _decays(weight_log: int) -> tuple[int, bytes]:
    """Microseconds of an entry, as a power of two, and by which power of two each entry divides the average."""
    packet = int(int(1e6 * _PACKET / _BYTES_PER_S) * _TICKS_PER_US)
    each = -math.log(1 - 0.5**weight_log) / packet
    cell = next(k for k in range(32) if 31 / each / 2**k < 512)
    return cell, bytes([min(31, int((entry << cell) * each)) for entry in range(255)] + [31])


def options(limit: int) -> list[str]:
    """The netlink attributes of a queue of this number of bytes, as `queues.c` takes them."""
    high = limit // 4
    low = high // 3
    burst = (2 * low + high) // (3 * _PACKET)
    weight_log = _weight_log(low, burst)
    cell, table = _decays(weight_log)
    parameters = struct.pack("<IIIBBBB", limit, low, high, weight_log, 0, cell, 0)
    flags = struct.pack("<II", _ECN, _ECN)
    return [
        f"1:{parameters.hex()}",
        f"2:{table.hex()}",
        f"3={int(_PROBABILITY * 2**32)}",
        f"4:{flags.hex()}",
    ]
