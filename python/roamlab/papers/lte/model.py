"""The analytic model of section IV: data delivered between two maxima of the window, equations 1 to 5.

The congestion window of a flow in the steady state climbs from `cwnd_max / 2` to `cwnd_max` by one segment a round
trip. A handover finds it at `cwnd_ho`. In the ideal case nothing happens; a window halving sets the window back to
`cwnd_ho / 2`; a timeout sets it to 1, from where it doubles each round trip up to `ssthresh = cwnd_ho / 2`. The model
counts the segments sent until the ideal flow is at `cwnd_max` again. All values are exact fractions; the paper's
factors f are all 1 here, as in its figure 4, and weigh the cases in `expected`.

Equation 3 can be read in three ways (`Interpretation`):

* `literal`: as it is printed. Near the end of slow start its terms `cwnd_ho/2 - k + i - 2^i` are negative, which gives
  the timed-out flow data that it does not send.
* `clamped`: a negative term counts as 0.
* `trajectory`: the areas of figure 3 themselves, round trip by round trip. Printed, equation 3 subtracts all `k`
  rounds of slow start even if the interval ends before; the trajectory ends with the interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

Interpretation = Literal["literal", "clamped", "trajectory"]
READINGS: tuple[Interpretation, ...] = get_args(Interpretation)

Case = Literal["ideal", "halving", "timeout"]
CASES: tuple[Case, ...] = get_args(Case)


@dataclass(frozen=True)
class Delivered:
    """Segments delivered in the interval, for each case."""

    ideal: Fraction
    halving: Fraction
    timeout: Fraction

    def normalised(self, case: Case) -> Fraction:
        """The case's data as a share of the ideal case's (figure 4)."""
        return self.of(case) / self.ideal

    def of(self, case: Case) -> Fraction:
        """The case's data, in segments."""
        return {"ideal": self.ideal, "halving": self.halving, "timeout": self.timeout}[case]

    def expected(self, frequency: Mapping[Case, float]) -> float:
        """The mean over the cases, weighted with how often they occur (the f of equations 1 to 3), in segments.

        Raises `ValueError` if the frequencies do not add up to 1.
        """
        if abs(sum(frequency.values()) - 1.0) > 1e-9:
            raise ValueError(f"the frequencies of the cases must add up to 1, not {sum(frequency.values())}")
        return sum(float(self.of(case)) * share for case, share in frequency.items())


def delivered(
    cwnd_max: int, cwnd_ho: Fraction | int, interpretation: Interpretation = "literal"
) -> Delivered:
    """Equations 1 to 3 for a window that peaks at `cwnd_max` segments and is `cwnd_ho` at the handover.

    Raises `ValueError` outside the model: `cwnd_max` must be even and at least 4, and
    `cwnd_max / 2 <= cwnd_ho <= cwnd_max` (equation 4).
    """
    at = Fraction(cwnd_ho)
    if cwnd_max < 4 or cwnd_max % 2:
        raise ValueError(f"cwnd_max must be even and at least 4, not {cwnd_max}")
    if not Fraction(cwnd_max, 2) <= at <= cwnd_max:
        raise ValueError(f"cwnd_ho must lie in {cwnd_max // 2} .. {cwnd_max}, not {cwnd_ho}")
    half = Fraction(cwnd_max, 2)
    ideal = Fraction(3, 2) * half * (half + 1)
    remaining = cwnd_max - at + 1
    halving = ideal - at / 2 * remaining
    if interpretation == "trajectory":
        return Delivered(ideal, halving, halving - _behind_halving(at / 2, remaining))
    rounds = slow_start_rounds(at / 2)
    terms = (at / 2 - rounds + i - 2**i for i in range(rounds))
    behind = sum(
        (max(term, Fraction(0)) if interpretation == "clamped" else term for term in terms), Fraction(0)
    )
    return Delivered(ideal, halving, halving - rounds * remaining - behind)


def slow_start_rounds(ssthresh: Fraction) -> int:
    """Equation 5: `k = ceil(log2 ssthresh) + 1`, for `ssthresh` of at least 1 segment."""
    rounds = 1
    while 2 ** (rounds - 1) < ssthresh:
        rounds += 1
    return rounds


def _behind_halving(ssthresh: Fraction, remaining: Fraction) -> Fraction:
    """Loss of a timed-out flow against a halved one in the rest of the interval; a broken round counts in part."""
    behind = Fraction(0)
    window, halved, left = Fraction(1), ssthresh, remaining
    while left > 0:
        behind += (halved - window) * min(left, Fraction(1))
        window = min(2 * window, ssthresh) if window < ssthresh else window + 1
        halved += 1
        left -= 1
    return behind
