"""The path of a leg over WiFi: one hop or several in series, and wires before the first one.

Each hop is a channel of its own, with a medium that both directions share, so hops do not disturb
each other. A downlink packet meets the wires first, then the hops from the first to the last; an
uplink packet meets the hops from the last to the first, then the wires.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from minitopo_dc.link.any_leg import AnyLeg, LegParameters
from minitopo_dc.link.leg import Leg
from minitopo_dc.link.models.capacity import make_capacity
from minitopo_dc.link.models.delay import ConstantDelay
from minitopo_dc.link.wifi.chain import Chain, ChainPair
from minitopo_dc.link.wifi.leg import WifiLeg
from minitopo_dc.link.wifi.medium import WifiMedium
from minitopo_dc.link.wifi.parameters import WifiParameters


@dataclass(frozen=True, slots=True)
class WiredPart:
    """Wires before the hops: a rate (bit/s) and a delay (ns), of each direction for itself."""

    rate_bps: int
    delay_ns: int


class WifiPath:
    """Both directions of a leg over WiFi.

    Args:
        hops: in the order of the downlink.
        rngs: of the mediums, one for each hop.
        wired: what is before the first hop, if anything.
    """

    def __init__(
        self,
        hops: Sequence[WifiParameters],
        rngs: Sequence[Random],
        wired: WiredPart | None = None,
    ) -> None:
        self._mediums = [WifiMedium(hop, rng) for hop, rng in zip(hops, rngs, strict=True)]
        self._wired = wired
        self._pair = ChainPair()

    def leg(self, parameters: LegParameters, rng: Random, *, uplink: bool) -> AnyLeg[Any]:
        """Return one direction; make each of them once.

        Args:
            parameters: each hop's queue and that of the wires; delay and loss are behind the last
                hop of the direction.
            rng: seeds losses and delays.
            uplink: whether the order of the hops is the other one.
        """
        if len(self._mediums) == 1 and self._wired is None:
            return WifiLeg(parameters, self._mediums[0], rng)
        order = self._mediums[::-1] if uplink else self._mediums
        between = replace(parameters, delay=ConstantDelay(0), loss=None)
        hops: list[AnyLeg[Any]] = [
            WifiLeg(parameters if medium is order[-1] else between, medium, _split(rng))
            for medium in order
        ]
        return Chain(self._with_wires(hops, between, rng, uplink=uplink), self._pair, hops)

    def _with_wires(
        self, hops: list[AnyLeg[Any]], queue: LegParameters, rng: Random, *, uplink: bool
    ) -> list[AnyLeg[Any]]:
        if self._wired is None:
            return hops
        parameters = replace(queue, delay=ConstantDelay(self._wired.delay_ns))
        wires: Leg[Any] = Leg(parameters, make_capacity(self._wired.rate_bps), _split(rng))
        return [*hops, wires] if uplink else [wires, *hops]


def _split(rng: Random) -> Random:
    return Random(rng.getrandbits(64))
