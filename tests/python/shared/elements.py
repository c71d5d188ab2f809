"""Two-line elements of satellites on circular orbits, written for tests."""

from __future__ import annotations

import math

MU = 398_600.8
"""The gravitational parameter of WGS 72, which SGP4 has, in km^3/s^2."""
EQUATOR_KM = 6378.135


def mean_motion(altitude_km: float) -> float:
    """Turns a day on a circular orbit, by Kepler's third law."""
    return math.sqrt(MU / (EQUATOR_KM + altitude_km) ** 3) * 86_400 / (2 * math.pi)


def signed(line: str) -> str:
    """A line with its checksum behind it."""
    return line + str(sum(int(each) if each.isdigit() else each == "-" for each in line) % 10)


def satellite(
    number: int,
    *,
    inclination: float = 53.0,
    node: float = 0.0,
    anomaly: float = 0.0,
    altitude_km: float = 550.0,
    day: float = 121.5,
    name: str = "",
) -> str:
    """The lines of a satellite whose epoch is a day of 2026 (121.5: noon of the first of May)."""
    one = f"1 {number:05d}U 26001A   26{day:012.8f}  .00000000  00000-0  00000-0 0  999"
    angles = f"{inclination:8.4f} {node % 360:8.4f} 0000001   0.0000 {anomaly % 360:8.4f}"
    two = f"2 {number:05d} {angles} {mean_motion(altitude_km):11.8f}{1:5d}"
    return "\n".join([*([name] if name else []), signed(one), signed(two), ""])


def shell(planes: int, each: int, inclination: float, altitude_km: float, name: str = "SAT") -> str:
    """A Walker constellation: satellites in equal distances on planes in equal distances."""
    return "".join(
        satellite(
            plane * each + place + 1,
            inclination=inclination,
            node=plane * 360 / planes,
            anomaly=place * 360 / each + plane * 360 / (planes * each),
            altitude_km=altitude_km,
            name=f"{name} {plane}-{place}",
        )
        for plane in range(planes)
        for place in range(each)
    )
