"""A WiFi leg against arithmetic: `python -m benchmarks.wifi_theory` (seconds, no root).

What one direction carries that is never idle, and both at once, beside what follows from the times
of 802.11n alone (docs/radio-legs.md).
"""

from __future__ import annotations

from random import Random

from minitopo_dc.link import (
    ConstantDelay,
    LegParameters,
    WifiLeg,
    WifiMedium,
    WifiParameters,
    WifiStatistics,
    saturated_bps,
)
from minitopo_dc.units import NS_PER_MS, NS_PER_S

PACKET_BYTES = 1500
SECONDS = 20
STEP_NS = 5 * NS_PER_MS
WAITING_BYTES = 400_000
"""More than goes in a step."""
PARAMETERS = {
    "none": WifiParameters(aggregation="none"),
    "a-msdu": WifiParameters(aggregation="a-msdu"),
    "a-mpdu, 4 MPDUs": WifiParameters(max_mpdus=4),
    "a-mpdu": WifiParameters(),
    "a-mpdu, 10 % errors": WifiParameters(mpdu_error=0.1),
    "a-mpdu, load 20 % of one": WifiParameters(load=0.2),
    "a-mpdu, load 50 % of five": WifiParameters(load=0.5, stations=5),
}


def saturated(parameters: WifiParameters, directions: int) -> list[WifiStatistics]:
    """Return what `directions` directions of a leg counted that always had something to send."""
    medium = WifiMedium(parameters, Random(1))
    plain = LegParameters(queue_packets=None, delay=ConstantDelay(0))
    both: list[WifiLeg[None]] = [WifiLeg(plain, medium, Random(seed)) for seed in (1, 2)]
    busy = both[:directions]
    medium.start(0)
    for now in range(0, SECONDS * NS_PER_S, STEP_NS):
        for leg in busy:
            while leg.backlog_bytes(now=now) < WAITING_BYTES:
                leg.push(None, PACKET_BYTES, now)
            leg.poll(now)
    for leg in busy:
        leg.poll(SECONDS * NS_PER_S)
    return [leg.statistics() for leg in busy]


def main() -> None:
    """Print the table of arithmetic and simulation."""
    print("Mbit/s: arithmetic, one direction, both at once; collisions then")  # noqa: T201
    for name, parameters in PARAMETERS.items():
        [alone] = saturated(parameters, 1)
        down, up = saturated(parameters, 2)
        collisions = (down.collisions + up.collisions) / (down.txops + up.txops)
        print(  # noqa: T201
            f"{name:26} {saturated_bps(parameters) / 1e6:5.1f} {_mbps(alone):5.1f} "
            f"{_mbps(down):5.1f} + {_mbps(up):4.1f} {100 * collisions:4.0f} %"
        )


def _mbps(seen: WifiStatistics) -> float:
    return seen.delivered_bytes * 8 / SECONDS / 1e6


if __name__ == "__main__":
    main()
