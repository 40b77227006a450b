"""Capacity from received power, as in Krämer et al., Electronics 11 (2022) 1492, section 3.1.

Each second the strongest cell of a carrier is a channel; what the others send is noise to it::

    SINR = RSRP / (load x sum of the interferers' RSRP + thermal noise)              (1)
    B    = f x C / ln 2 x min(c15 x ln 2 / C, ln(1 + gamma x SINR))                  (2)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from minitopo_dc.trace.channels import Capacities, CellLog, HeardCell
from minitopo_dc.trace.model import MAX_BPS, in_range

Interferers = Literal["all", "carrier"]
"""Whose power disturbs a channel: all other cells that are heard, or those of its carrier."""

NOISE_DBM = -132.24 + 7.0
"""Thermal noise of one resource element of 15 kHz and the terminal's noise figure (table 1)."""
BANDWIDTH_MHZ = 10.0
"""f of formula (2), table 1."""
DOWNSCALING = 0.9449
"""C of formula (2), table 1."""
SINR_FACTOR = 0.4852
"""gamma of formula (2), table 1."""
TOP_EFFICIENCY = 5.5547
"""c15 of formula (2), table 1: bit/s per Hz of CQI index 15 (3GPP TS 36.213 table 7.2.3-1)."""
MIN_MBPS = 0.001
"""Of a channel that there is, as capacities are whole kbit/s and 0 says that there is none."""


@dataclass(frozen=True, slots=True)
class RadioSettings:
    """Parameters of the step from received power to capacity.

    Raises:
        ValueError: a value is out of its range.
    """

    # Table 1: "a low, 10% load in order to study higher peak data rates".
    load: float = 0.10
    # Formula (1) as it is printed; with `carrier` table 3 is impossible
    # (studies/cellular/measured.md).
    interferers: Interferers = "all"
    # Multiplies all capacities: the calibration of a segment (docs/cellular.md), else 1.
    scale: float = 1.0
    # Below this a channel is absent. 0: each cell that is heard counts, as in table 2.
    floor_mbps: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values outside their range with a ValueError."""
        in_range("load", self.load, 0, 1)
        in_range("scale", self.scale, 1e-9, 1e6)
        in_range("floor_mbps", self.floor_mbps, 0, MAX_BPS / 1e6, "Mbit/s")


def channels_of(log: CellLog, radio: RadioSettings | None = None) -> Capacities:
    """Return one channel for each carrier that the drive ever hears, in the order of their names.

    A second in which a carrier is not heard, or carries less than the floor, has no such channel.

    Raises:
        ValueError: there is none in any second.
    """
    settings = radio or RadioSettings()
    carriers = log.carriers()
    rows = [dict(serve(second, settings)) for second in log.seconds]
    absent = ("", 0.0)
    return Capacities(
        name=log.name,
        operators=tuple(operator for operator, _ in carriers),
        mbps=tuple(tuple(row.get(carrier, absent)[1] for row in rows) for carrier in carriers),
        cells=tuple(tuple(row.get(carrier, absent)[0] for row in rows) for carrier in carriers),
    )


def serve(
    heard: Sequence[HeardCell], radio: RadioSettings
) -> Iterator[tuple[tuple[str, str], tuple[str, float]]]:
    """Yield each carrier of a second with its serving cell's name and capacity in Mbit/s."""
    power = {cell: 10 ** (cell.rsrp_dbm / 10) for cell in heard}
    everything = sum(power.values())
    for carrier, cells in _by_carrier(heard).items():
        best = max(cells, key=lambda cell: cell.rsrp_dbm)
        heard_too = everything if radio.interferers == "all" else sum(power[c] for c in cells)
        ratio = sinr(power[best], max(0.0, heard_too - power[best]), radio.load)
        rate = max(MIN_MBPS, round(capacity_mbps(ratio) * radio.scale, 3))
        if rate >= radio.floor_mbps:
            yield carrier, (best.name, rate)


def sinr(serving_mw: float, interferers_mw: float, load: float = 0.10) -> float:
    """Return the SINR of formula (1) as a ratio; all powers are RSRP in mW."""
    return serving_mw / (load * interferers_mw + 10 ** (NOISE_DBM / 10))


def capacity_mbps(sinr: float) -> float:
    """Return the capacity of formula (2) in Mbit/s at a SINR (a ratio), at most 55.547."""
    efficiency = DOWNSCALING * math.log2(1 + SINR_FACTOR * sinr)
    return BANDWIDTH_MHZ * min(TOP_EFFICIENCY, efficiency)


def _by_carrier(heard: Iterable[HeardCell]) -> dict[tuple[str, str], list[HeardCell]]:
    carriers: dict[tuple[str, str], list[HeardCell]] = {}
    for cell in heard:
        carriers.setdefault((cell.operator, cell.carrier), []).append(cell)
    return carriers
