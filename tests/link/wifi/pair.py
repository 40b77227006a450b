"""Both directions of a WiFi leg on one medium, driven as a driver does."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from minitopo_dc.link import AnyLeg, ConstantDelay, LegParameters, WifiLeg, WifiParameters, WifiPath
from minitopo_dc.link.wifi.medium import WifiMedium
from minitopo_dc.units import UNLIMITED

PLAIN = LegParameters(queue=UNLIMITED, delay=ConstantDelay(0))


class Driven:
    """Two directions and what they have said; packets are their numbers."""

    def __init__(self, legs: Sequence[AnyLeg[int]]) -> None:
        self._legs = legs
        self.now = 0
        self.pushed = [0, 0]
        self.promised: list[set[int]] = [set(), set()]
        self.arrivals: list[list[tuple[int, int]]] = [[], []]
        self.gone: list[list[int]] = [[], []]

    def start(self) -> None:
        for leg in self._legs:
            leg.start(self.now)

    def push(self, direction: int, size: int = 1500) -> bool:
        number = self.pushed[direction]
        self.pushed[direction] += 1
        taken = self._legs[direction].push(number, size, self.now)
        if taken:
            self.promised[direction].add(number)
        return taken

    def poll(self, direction: int) -> None:
        leg = self._legs[direction]
        self.arrivals[direction] += [(packet, self.now) for packet in leg.poll(self.now)]
        self.gone[direction] += leg.dropped()

    def serve(self, until: int) -> None:
        """Poll whenever one of them says so."""
        while (due := self._due()) is not None and due[0] <= until:
            self.now = max(self.now, due[0])
            self.poll(due[1])
        self.now = max(self.now, until)

    def delivered(self, direction: int) -> list[int]:
        return [packet for packet, _ in self.arrivals[direction]]

    def _due(self) -> tuple[int, int] | None:
        moments = [
            (moment, number)
            for number, leg in enumerate(self._legs)
            if (moment := leg.next_timeout()) is not None
        ]
        return min(moments, default=None)


class Pair(Driven):
    """One hop."""

    def __init__(
        self, wifi: WifiParameters, parameters: LegParameters = PLAIN, seed: int = 1
    ) -> None:
        self.medium = WifiMedium(wifi, Random(seed))
        self.legs: list[WifiLeg[int]] = [
            WifiLeg(parameters, self.medium, Random(f"{seed}/{name}")) for name in ("down", "up")
        ]
        super().__init__(self.legs)

    @property
    def accounted_ns(self) -> int:
        """What all airtimes add up to, from a start at 0 to the last transmission's end."""
        return self.medium._begin if self.medium._sending else self.medium._end


class PathPair(Driven):
    """Several hops, with or without wires before them."""

    def __init__(
        self,
        hops: Sequence[WifiParameters],
        parameters: LegParameters = PLAIN,
        wired: tuple[int, int] | None = None,
        seed: int = 1,
    ) -> None:
        path = WifiPath(hops, [Random(f"{seed}/{hop}") for hop in range(len(hops))], wired)
        self.legs: list[AnyLeg[int]] = [
            path.leg(parameters, Random(f"{seed}/{uplink}"), uplink=uplink)
            for uplink in (False, True)
        ]
        super().__init__(self.legs)
