"""Environments of synthetic drives; `studies/cellular/fit.py` fits their numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

OPERATORS = ("OP1", "OP2")
"""As in table 3 of Krämer et al., Electronics 11 (2022) 1492."""
MAX_NOISE_DB = 20.0
"""More than the whole range between a cell that is heard well and one that is hardly heard."""


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
        for field in (
            "spacing_m",
            "cycle_m",
            "correlation_m",
            "speed_kmh",
            "stop_every_m",
            "scale",
        ):
            if getattr(self, field) <= 0:
                raise ValueError(f"{field} = {getattr(self, field)}: must be above 0")
        if not 0 <= self.noise_db <= MAX_NOISE_DB:
            raise ValueError(f"noise = {self.noise_db:g} dB: allowed: 0 to {MAX_NOISE_DB:g}")
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

ENVIRONMENTS = {each.name: each for each in (ENTIRE, RESIDENTIAL, ROAD)}
"""The rows of table 2."""
