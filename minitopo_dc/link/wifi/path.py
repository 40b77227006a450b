"""The path of a leg over WiFi: hops and wires in series, which form one leg.

Each hop is a channel of its own, with a medium that both directions share, so hops do not disturb
each other. A downlink packet meets the wires first, then the hops from the first to the last; an
uplink packet meets the hops from the last to the first, then the wires. Rules:

* Each link in series has its own queue and feeds the next one.
* Both directions of a chain go on together (`WifiPath.advance`), from event to event in the order
  of their times: links of one may share a medium with links of the other. So polling late changes
  nothing.
* All but the first link's drops are of packets that :meth:`Chain.push` had promised, and the first
  link's are not.
* Who watches the queue (room, what was served) sees the first link's; backlog and rate are of all.
* Down: the links that are given for it, so that wires of a chain go on.
* Another delay or loss is for one of the links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from random import Random
from typing import Any, TypeVar

from minitopo_dc.link.any_leg import AnyLeg, LegParameters, LegStatistics
from minitopo_dc.link.capacity import make_capacity
from minitopo_dc.link.leg import CapacityLeg
from minitopo_dc.link.propagation import ConstantDelay
from minitopo_dc.link.wifi.leg import WifiLeg
from minitopo_dc.link.wifi.medium import WifiMedium
from minitopo_dc.link.wifi.parameters import WifiParameters, WifiStatistics
from minitopo_dc.units import earliest


class WifiPath:
    """Both directions of a leg over WiFi.

    Args:
        hops: in the order of the downlink.
        rngs: of the mediums, one for each hop.
        wired: rate (bit/s) and delay (ns) of wires before the first hop, of each direction for
            itself; None: there are none.
    """

    def __init__(
        self,
        hops: Sequence[WifiParameters],
        rngs: Sequence[Random],
        wired: tuple[int, int] | None = None,
    ) -> None:
        self._mediums = [WifiMedium(hop, rng) for hop, rng in zip(hops, rngs, strict=True)]
        self._wired = wired
        self._chains: list[Chain[Any]] = []

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
        chain = Chain(self._with_wires(hops, between, rng, uplink=uplink), self.advance, hops)
        self._chains.append(chain)
        return chain

    def advance(self, now: int) -> None:
        """Process the events of both directions of a chain up to `now` (ns), in order of time."""
        while True:
            moment = earliest(*(chain._next_event() for chain in self._chains))
            if moment is None or moment > now:
                return
            for chain in self._chains:
                chain.step(moment)

    def _with_wires(
        self, hops: list[AnyLeg[Any]], queue: LegParameters, rng: Random, *, uplink: bool
    ) -> list[AnyLeg[Any]]:
        if self._wired is None:
            return hops
        rate, delay = self._wired
        parameters = replace(queue, delay=ConstantDelay(delay))
        wires: CapacityLeg[Any] = CapacityLeg(parameters, make_capacity(rate), _split(rng))
        return [*hops, wires] if uplink else [wires, *hops]


def _split(rng: Random) -> Random:
    return Random(rng.getrandbits(64))


T = TypeVar("T")
Sized = tuple[T, int]
"""A packet and its bytes: links hand over packets alone."""

_DROPS = ("dropped_queue", "dropped_loss", "dropped_stop", "dropped_flush", "dropped_radio")
_CHAIN_COUNTERS = ("pushed_packets", "pushed_bytes", "delivered_packets", "delivered_bytes")
_MAXIMA = ("queue_max_packets", "mpdus_max")


class Chain(AnyLeg[T]):
    """One direction of a chain, a leg like any other. See the module's rules.

    Args:
        links: in the order in which packets meet them.
        advance: runs both directions up to a time (ns).
        radio: those of the links that go down, the last of which has what :meth:`retune` changes.
    """

    def __init__(
        self,
        links: Sequence[AnyLeg[Sized[T]]],
        advance: Callable[[int], None],
        radio: Sequence[AnyLeg[Sized[T]]],
    ) -> None:
        super().__init__(LegParameters(), Random(0))  # queues, delays and losses are the links'
        self._limit = links[0]._limit
        self._links = links
        self._advance_all = advance
        self._radio = radio
        self._arrived: list[T] = []

    def _next_event(self) -> int | None:
        return earliest(*(link.next_timeout() for link in self._links))

    def step(self, moment: int) -> None:
        """Hand on what the links let go at `moment` (ns), the earliest moment of all events."""
        for position, link in enumerate(self._links):
            due = link.next_timeout()
            if due is None or due > moment:
                continue
            for packet, size in link.poll(moment):
                self._forward(position + 1, packet, size, moment)
            for packet, _ in link.dropped():
                self._drop(packet, moment)

    def push(self, packet: T, size: int, now: int) -> bool:
        """Take a packet of `size` bytes (> 0); return False if the first link drops or loses it."""
        self._advance(now)
        self._pushed_packets += 1
        self._pushed_bytes += size
        taken = self._links[0].push((packet, size), size, now)
        self.joined_packets = self._links[0].joined_packets
        return taken

    def poll(self, now: int) -> list[T]:
        """Return all that has arrived at the other end by `now`, in order of arrival."""
        self._advance(now)
        self._news = None
        arrived, self._arrived = self._arrived, []
        return arrived

    def start(self, now: int) -> None:
        """Start the time of all links: make `now` (ns) their time 0."""
        self._advance(now)
        for link in self._links:
            link.start(now)

    def flush(self, now: int, which: Callable[[T], bool] = lambda _: True) -> list[T]:
        """Take packets out of all links, by default all; return those that will not come."""
        self._advance(now)
        flushed = (link.flush(now, lambda sized: which(sized[0])) for link in self._links)
        return [packet for sizeds in flushed for packet, _ in sizeds]

    def retune(self, now: int, **changed: Any) -> None:
        """Change delay or loss of the last radio link; a capacity raises ValueError."""
        self._advance(now)
        self._radio[-1].retune(now, **changed)

    @property
    def mean_delay_ns(self) -> int:
        """Return the sum of the configured mean delays of all links, in ns."""
        return sum(link.mean_delay_ns for link in self._links)

    def _advance(self, now: int) -> None:
        self._advance_all(now)
        self._links[0]._advance(now)

    def _resume(self, now: int) -> None:
        for link in self._radio:
            link.set_up(self.is_up, now)

    def _backlog(self, now: int) -> int:
        return sum(link.backlog_bytes(now=now) for link in self._links)

    def _first_number(self) -> int | None:
        return self._links[0]._first_number()

    def _service_end(self) -> int | None:
        return self._links[0]._service_end()

    def _occupancy(self) -> tuple[int, int]:
        return self._links[0]._occupancy()

    def _rate(self, now: int) -> int:
        return min(link.rate_bps(now=now) for link in self._links)

    def statistics(self) -> LegStatistics:
        """Return counters and gauges as of the last call: sums over the links, maxima of maxima.

        Packets between the chain's entrance and its exit that are in no queue count as in the air.
        """
        links = [link.statistics() for link in self._links]
        counters = {
            field.name: _together(field.name, links)
            for field in fields(WifiStatistics)
            if field.name not in _CHAIN_COUNTERS and not field.kw_only  # no queue discipline
        }
        last = links[-1]
        gone = last.delivered_packets + sum(counters[name] for name in _DROPS)
        counters["air_packets"] = self._pushed_packets - gone - counters["queue_packets"]
        return WifiStatistics(
            pushed_packets=self._pushed_packets,
            pushed_bytes=self._pushed_bytes,
            delivered_packets=last.delivered_packets,
            delivered_bytes=last.delivered_bytes,
            **counters,
        )

    def _forward(self, position: int, packet: T, size: int, moment: int) -> None:
        if position == len(self._links):
            self._arrived.append(packet)
            self._news = moment if self._news is None else self._news
        elif not self._links[position].push((packet, size), size, moment):
            self._drop(packet, moment)

    def _drop(self, packet: T, moment: int) -> None:
        self._dropped.append(packet)
        self._news = moment if self._news is None else self._news


def _together(name: str, links: Sequence[LegStatistics]) -> int:
    values = [getattr(link, name, 0) for link in links]
    return max(values) if name in _MAXIMA else sum(values)
