"""A synthetic drive: which cells of two operators a bus hears, second by second.

Each second, for every cell of the sites around the bus, in dB::

    RSRP = power of the cell - path loss(distance) + common, site's and carrier's shadowing + noise

* path loss: 37.6 dB a decade, 3GPP TR 36.942 section 4.5 (urban macro cell at 2 GHz);
* shadowing: log-normal; part of it is the surroundings' and common to all sites (TR 36.942 section
  4.5), part the site's own, and a little its second carrier's; all correlated over the distance
  driven (Gudmundson, "Correlation model for shadow fading in mobile radio systems", Electronics
  Letters 27(23), 1991);
* the bus drives at constant speed and stops at regular distances;
* noise of each cell and second, which the receiver's detection does not see (default: none).

A cell is in the log while the receiver detects it: above its threshold, and not too far below the
strongest cell of the same carrier.

`studies/cellular/fit.py` fits the numbers of the environments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from minitopo_dc.trace.channels import CellLog, HeardCell
from minitopo_dc.trace.model import LONGEST_S, in_range
from minitopo_dc.trace.synthesis import Shadowing

OPERATORS = ("OP1", "OP2")
"""As in table 3 of Krämer et al., Electronics 11 (2022) 1492."""
MAX_NOISE_DB = 20.0
"""More than the whole range between a cell that is heard well and one that is hardly heard."""


_POSITIVE = ("spacing_m", "cycle_m", "correlation_m", "speed_kmh", "stop_every_m", "scale")


@dataclass(frozen=True, slots=True)
class Environment:
    """How sites stand along a route, how they are heard, and how the bus drives.

    Distances of sites are parts of the spacing, the distance between an operator's neighbouring
    sites, so that a denser network looks the same from nearer. Powers are RSRP at 1 km in dBm.

    Raises:
        ValueError: a value is out of its range.
    """

    name: str
    # Fitted (docs/cellular.md). The sites of the second operator stand `offset` further along.
    spacing_m: float
    setback: tuple[float, float]
    setback_spread: tuple[float, float]
    offset: float
    jitter: float
    power_dbm: tuple[float, float]
    power_sd_db: float
    second_carrier_db: tuple[float, float]
    second_carrier_sd_db: float
    sector_db: float
    threshold_dbm: float
    detection_db: float
    # A part of each `cycle_m` may have denser sites, as where a route leads through a town.
    dense_spacing_m: float = 0.0
    dense_share: float = 0.0
    cycle_m: float = 60_000.0
    # 3GPP TR 38.901 table 7.4.1-1, urban macro cell with line of sight: 4 dB; half of the variance
    # is common to all sites (TR 36.942 section 4.5): 4 / sqrt(2) each.
    common_sd_db: float = 2.83
    own_sd_db: float = 2.83
    # Between a site's carriers, own choice: they fade alike, but not quite.
    carrier_sd_db: float = 2.0
    # 3GPP TR 38.901 table 7.5-6, urban macro cell: 37 m with, 50 m without line of sight.
    correlation_m: float = 50.0
    # A city bus, own choice: 500 m between stops and 20 s at each make 19 km/h on average.
    speed_kmh: float = 30.0
    stop_every_m: float = 500.0
    stop_s: int = 20
    # Of a cell's RSRP, independent in each second: a measurement's error, and what is left of
    # small-scale fading in a sample. The cells that are detected stay the same.
    noise_db: float = 0.0
    # The capacity of a `segment` relative to formula (2) (docs/cellular.md).
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Refuse values outside their range with a ValueError."""
        for field in _POSITIVE:
            in_range(field, getattr(self, field), 1e-9, 1e9)
        in_range("noise_db", self.noise_db, 0, MAX_NOISE_DB, "dB")
        if not 0 <= self.dense_share <= 1 or (self.dense_share and self.dense_spacing_m <= 0):
            raise ValueError(f"dense_share = {self.dense_share}: 0 to 1, with a dense_spacing_m")

    def spacing_at(self, place_m: float) -> float:
        """Return the metres between an operator's sites at a place of the route."""
        dense = place_m % self.cycle_m < self.dense_share * self.cycle_m
        return self.dense_spacing_m if dense else self.spacing_m


ENTIRE = Environment(
    name="entire",
    spacing_m=4818.0,
    setback=(0.177, 0.1897),
    setback_spread=(0.725, 0.2806),
    offset=0.333,
    jitter=0.03264,
    power_dbm=(-95.0, -99.14),
    power_sd_db=0.6002,
    second_carrier_db=(-20.64, -23.34),
    second_carrier_sd_db=10.39,
    sector_db=-17.32,
    threshold_dbm=-121.2,
    detection_db=16.23,
    dense_spacing_m=1109.0,
    dense_share=0.1802,
)
"""All that the bus drives through: a fifth of the route has four times the sites."""

RESIDENTIAL = replace(
    ENTIRE,
    name="residential",
    spacing_m=607.3,
    setback=(0.1753, 0.1927),
    power_dbm=(-95.0, -98.57),
    second_carrier_db=(-3.709, -2.838),
    second_carrier_sd_db=0.4655,
    dense_share=0.0,
    scale=0.513,
)
"""Streets with four channels nearly all of the time."""

ROAD = replace(
    ENTIRE,
    name="road",
    spacing_m=3454.0,
    setback=(0.1708, 0.1835),
    power_dbm=(-95.0, -99.08),
    second_carrier_db=(-0.9784, -28.16),
    second_carrier_sd_db=2.742,
    dense_share=0.0,
    # Own choice: a bus between towns.
    speed_kmh=60.0,
    stop_every_m=2000.0,
    scale=0.613,
)
"""A road with three channels most of the time."""

ENVIRONMENTS = {environment.name: environment for environment in (ENTIRE, RESIDENTIAL, ROAD)}
"""The rows of table 2."""


CARRIERS = ("1", "2")
"""The main one, which every site has at full power, and the second one."""
_SECTORS = ("a", "b")
"""The one that looks at the route, and its neighbour."""
_BEHIND = 8
"""Sites before the start of the drive."""
_SITES_AROUND = 6
"""Sites of each operator on each side: what is beyond is weaker than what they send."""
_DB_PER_DECADE = 37.6


def synthesise_drive(
    seed: int, duration_s: int, environment: Environment, *, name: str = ""
) -> CellLog:
    """Return a synthetic drive; the same arguments give the same log.

    Args:
        seed: of the random generators.
        duration_s: length, 1 to a week.
        environment: how the sites stand and how the bus drives.
        name: of the log; `ENVIRONMENT-SEED` if empty.

    Raises:
        ValueError: the length is out of range, or there is no cell in any second.
    """
    in_range("duration", duration_s, 1, LONGEST_S, "s")
    places = list(_places(environment, duration_s))
    common = Shadowing(Random(f"{seed} common"), environment.common_sd_db)
    operators = [_Reception(seed, environment, name) for name in OPERATORS]
    seconds = []
    for before, place in zip([0.0, *places], places, strict=False):
        kept = math.exp(-(place - before) / environment.correlation_m)
        common.move(kept)
        heard = (operator.heard(place, kept, common.now_db) for operator in operators)
        seconds.append(tuple(cell for cells in heard for cell in cells))
    return CellLog(name or f"{environment.name}-{seed}", tuple(seconds))


def _places(environment: Environment, duration_s: int) -> Iterator[float]:
    metres_a_second = environment.speed_kmh / 3.6
    place, stop, waiting = 0.0, environment.stop_every_m, 0
    for _ in range(duration_s):
        yield place
        if waiting:
            waiting -= 1
        elif place + metres_a_second < stop:
            place += metres_a_second
        else:
            place, stop, waiting = stop, stop + environment.stop_every_m, environment.stop_s


class _Reception:
    """The cells that the bus hears of one operator."""

    def __init__(self, seed: int, environment: Environment, operator: str) -> None:
        self._environment = environment
        self._operator = operator
        self._rng = Random(f"{seed} {operator} shadowing")
        self._route = sites_along(Random(f"{seed} {operator} sites"), environment, operator)
        self._of_carriers = Random(f"{seed} {operator} carriers")
        self._noise = Random(f"{seed} {operator} noise")
        self._near: list[tuple[Site, Shadowing, Shadowing]] = []

    def heard(self, place_m: float, kept: float, common_db: float) -> Iterator[HeardCell]:
        """Yield the cells that are detected at a place; places ascend from call to call."""
        self._look_around(place_m)
        carriers: dict[str, list[tuple[str, float]]] = {}
        for site, own, second in self._near:
            own.move(kept)
            second.move(kept)
            distance_km = math.hypot(site.place_m - place_m, site.setback_m) / 1000
            main = common_db + own.now_db - _DB_PER_DECADE * math.log10(distance_km)
            fading = dict(zip(CARRIERS, (main, main + second.now_db), strict=True))
            for carrier, cell, power in site.cells:
                carriers.setdefault(carrier, []).append((cell, power + fading[carrier]))
        environment = self._environment
        for carrier, cells in carriers.items():
            strongest = max(rsrp for _, rsrp in cells)
            least = max(environment.threshold_dbm, strongest - environment.detection_db)
            for cell, rsrp in cells:
                if rsrp >= least:
                    noise_db = self._noise.gauss(0.0, environment.noise_db)
                    yield HeardCell(self._operator, carrier, cell, round(rsrp + noise_db, 1))

    def _look_around(self, place_m: float) -> None:
        near = self._near
        while len(near) < _SITES_AROUND or near[-_SITES_AROUND][0].nominal_m <= place_m:
            site = next(self._route)
            own = Shadowing(self._rng, self._environment.own_sd_db)
            second = Shadowing(self._of_carriers, self._environment.carrier_sd_db)
            near.append((site, own, second))
        while near[_SITES_AROUND][0].nominal_m < place_m:
            del near[0]


@dataclass(frozen=True, slots=True)
class Site:
    """A mast and its cells.

    `nominal_m` is its place in a regular layout, `place_m` where it stands along the route, both
    from the route's start; `setback_m` is its distance from the route. `cells` are (carrier, name,
    RSRP in dBm at 1 km without shadowing).
    """

    nominal_m: float
    place_m: float
    setback_m: float
    cells: tuple[tuple[str, str, float], ...]


def sites_along(rng: Random, environment: Environment, operator: str) -> Iterator[Site]:
    """Yield an operator's sites without end, in the order of their nominal places."""
    second = OPERATORS.index(operator)
    corner = -_BEHIND * environment.spacing_at(0.0)
    for number in count():
        spacing = environment.spacing_at(corner)
        nominal = corner + second * environment.offset * spacing
        yield Site(
            nominal_m=nominal,
            place_m=nominal + rng.gauss(0.0, environment.jitter) * spacing,
            # Log-normal, as a part of the spacing.
            setback_m=environment.setback[second]
            * math.exp(rng.gauss(0.0, environment.setback_spread[second]))
            * spacing,
            cells=tuple(_cells(rng, environment, second, number)),
        )
        corner += spacing


def _cells(
    rng: Random, environment: Environment, operator: int, number: int
) -> Iterator[tuple[str, str, float]]:
    power = environment.power_dbm[operator] + rng.gauss(0.0, environment.power_sd_db)
    second = rng.gauss(environment.second_carrier_db[operator], environment.second_carrier_sd_db)
    for carrier, weaker in zip(CARRIERS, (0.0, second), strict=True):
        for sector, aside in zip(_SECTORS, (0.0, environment.sector_db), strict=True):
            yield carrier, f"{number}{sector}", power + weaker + aside
