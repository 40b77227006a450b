"""Where an operator's sites stand along a route, and what their cells send."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from random import Random

from minitopo_dc.trace.drives.environment import OPERATORS, Environment

CARRIERS = ("1", "2")
"""The main one, which every site has at full power, and the second one."""
_SECTORS = ("a", "b")
"""The one that looks at the route, and its neighbour."""
_BEHIND = 8
"""Sites before the start of the drive."""


@dataclass(frozen=True, slots=True)
class Site:
    """A mast with its cells.

    `nominal_m` is its place in a regular layout, `place_m` where it stands along the route, both
    from the route's start; `setback_m` is its distance from the route. `cells` are (carrier, name,
    RSRP in dBm at 1 km without shadowing).
    """

    nominal_m: float
    place_m: float
    setback_m: float
    cells: tuple[tuple[str, str, float], ...]


def sites_along(rng: Random, environment: Environment, operator: str) -> Iterator[Site]:
    """An operator's sites without end, in the order of their nominal places."""
    second = OPERATORS.index(operator)
    corner = -_BEHIND * environment.spacing_at(0.0)
    for number in count():
        spacing = environment.spacing_at(corner)
        nominal = corner + second * environment.offset * spacing
        yield Site(
            nominal_m=nominal,
            place_m=nominal + rng.gauss(0.0, environment.jitter) * spacing,
            setback_m=_setback(rng, environment, second) * spacing,
            cells=tuple(_cells(rng, environment, second, number)),
        )
        corner += spacing


def _setback(rng: Random, environment: Environment, operator: int) -> float:
    """As a part of the spacing; log-normal."""
    spread = environment.setback_spread[operator]
    return environment.setback[operator] * math.exp(rng.gauss(0.0, spread))


def _cells(
    rng: Random, environment: Environment, operator: int, number: int
) -> Iterator[tuple[str, str, float]]:
    power = environment.power_dbm[operator] + rng.gauss(0.0, environment.power_sd_db)
    second = rng.gauss(environment.second_carrier_db[operator], environment.second_carrier_sd_db)
    for carrier, weaker in zip(CARRIERS, (0.0, second), strict=True):
        for sector, aside in zip(_SECTORS, (0.0, environment.sector_db), strict=True):
            yield carrier, f"{number}{sector}", power + weaker + aside
