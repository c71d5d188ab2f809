"""Places on the earth: longitude and latitude as coordinates in metres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.errors import BadInput

if TYPE_CHECKING:
    Numbers = np.ndarray[Any, np.dtype[np.float64]]

EQUATOR_M, FLATTENING = 6_378_137.0, 1 / 298.257223563
"""The ellipsoid of WGS 84."""
MEAN_RADIUS_M = 6_371_008.8
"""The mean radius of the earth (IUGG)."""


def earth(latitude: Numbers, longitude: Numbers, height_m: float = 0.0) -> Numbers:
    """Places on the ellipsoid (degrees), or above it, in m from the centre of the earth: a row of x, y, z for each."""
    latitude, longitude = np.radians(latitude), np.radians(longitude)
    squared = FLATTENING * (2 - FLATTENING)
    normal = EQUATOR_M / np.sqrt(1 - squared * np.sin(latitude) ** 2)
    return np.column_stack(
        [
            (normal + height_m) * np.cos(latitude) * np.cos(longitude),
            (normal + height_m) * np.cos(latitude) * np.sin(longitude),
            (normal * (1 - squared) + height_m) * np.sin(latitude),
        ]
    )


def axes(latitude: float, longitude: float) -> Numbers:
    """The directions east, north and up at a place (degrees): a row for each, in the coordinates of `earth`."""
    latitude, longitude = np.radians(latitude), np.radians(longitude)
    sin, cos, sine, cosine = np.sin(latitude), np.cos(latitude), np.sin(longitude), np.cos(longitude)
    return np.array(
        [[-sine, cosine, 0.0], [-sin * cosine, -sin * sine, cos], [cos * cosine, cos * sine, sin]]
    )


def plane(latitude: Numbers, longitude: Numbers, origin: tuple[float, float]) -> Numbers:
    """Places (degrees, WGS 84) in metres east and north of `origin` (latitude, longitude): a row for each.

    They are coordinates in the plane that touches the ellipsoid at the origin. 10 km from there a distance is 4 mm too
    short, 100 km from there 4 m.
    """
    here = earth(np.array(origin[:1]), np.array(origin[1:]))
    return np.asarray((earth(latitude, longitude) - here) @ axes(*origin)[:2].T)


def great_circle_m(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The distance of two places (latitude and longitude in degrees) on a sphere of the mean radius, in m."""
    (a, b), (c, d) = np.radians(one), np.radians(other)
    haversine = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2
    return float(2 * MEAN_RADIUS_M * np.arcsin(min(1.0, np.sqrt(haversine))))


def place(option: str, given: str) -> tuple[float, float]:
    """`LATITUDE,LONGITUDE` in degrees. Raises `BadInput`."""
    parts = given.split(",")
    try:
        latitude, longitude = map(float, parts)
    except ValueError:
        latitude = longitude = float("nan")
    if not (abs(latitude) <= 90 and abs(longitude) <= 180):
        raise BadInput(
            f"{option} {given}",
            "this is no place on the earth",
            expected="LATITUDE,LONGITUDE in degrees with points: north and east are positive",
            remedy=f"write {option} 48.2082,16.3738, for example",
        )
    return latitude, longitude
