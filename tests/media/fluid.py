"""A fluid network: a rate and a latency for a time each, again and again; and a session over it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from minitopo_dc.media.player import CHECK_BYTES, Cancel, Player, SegmentRequest, Wait

MS = 1_000_000


@dataclass(frozen=True)
class Period:
    """Of the network."""

    duration_ns: float
    bits_per_ns: float
    latency_ns: float


def read_network(path: Path, multiplier: float = 1.0) -> list[Period]:
    """A file as Sabre's."""
    return [
        Period(
            each["duration_ms"] * MS,
            each["bandwidth_kbps"] * multiplier / MS,
            each["latency_ms"] * MS,
        )
        for each in json.loads(path.read_text(encoding="utf-8"))
    ]


class FluidNetwork:
    """Where a request is, at any moment; time only goes on."""

    def __init__(self, periods: list[Period]) -> None:
        self.now = 0.0
        self._periods = periods
        self._index = 0
        self._left = periods[0].duration_ns

    def pass_until(self, moment: float) -> None:
        """Nothing is asked for."""
        while moment > self.now:
            self._step(moment - self.now)

    def latency(self) -> None:
        """The time from a request to its first bit; the part of it that passes counts."""
        share = 1.0
        while share > 0 and self._periods[self._index].latency_ns:
            whole = self._periods[self._index].latency_ns
            share -= self._step(share * whole) / whole
            share = share if share > 1e-12 else 0.0

    def receive(self, bits: float, until: float) -> float:
        """Take up to so many bits, up to a moment; how many there were."""
        got = 0.0
        while got < bits and self.now < until:
            rate = self._periods[self._index].bits_per_ns
            needed = (bits - got) / rate
            passed = self._step(min(needed, until - self.now))
            got = bits if passed == needed else got + passed * rate
        return got

    def _step(self, duration: float) -> float:
        """Pass so much time, but not beyond the period; how much it was."""
        passed = min(duration, self._left)
        self.now += passed
        self._left -= passed
        if self._left <= 0:
            self._index = (self._index + 1) % len(self._periods)
            self._left = self._periods[self._index].duration_ns
        return passed


@dataclass(frozen=True)
class Decision:
    """A request as Sabre prints it."""

    segment: int
    quality: int
    size_bits: int
    received_bits: float
    start_ms: float
    end_ms: float


def play(player: Player, network: FluidNetwork) -> list[Decision]:
    """A whole session, and what it asked for."""
    made: list[Decision] = []
    while (action := player.next(round(network.now))) is not None:
        if isinstance(action, SegmentRequest):
            made.append(_download(player, network, action))
        elif isinstance(action, Wait):
            assert action.until is not None
            network.pass_until(action.until)
    return made


def _download(player: Player, network: FluidNetwork, request: SegmentRequest) -> Decision:
    """A request to its end, or to where the player gives it up."""
    start, size, number = network.now, request.size_bytes * 8, request.number
    network.latency()
    player.first_byte(number, round(network.now))
    received, told = 0.0, 0
    until = math.inf
    while received < size:
        if not received:  # a first packet, so that there is progress to look at
            received = network.receive(min(size, CHECK_BYTES * 8), math.inf)
        else:
            received += network.receive(size - received, until)
        whole = round(received / 8) if received < size else request.size_bytes
        player.arrived(number, whole - told, round(network.now))
        told = whole
        if received < size:
            action = player.next(round(network.now))
            if isinstance(action, Cancel):
                break
            assert isinstance(action, Wait)
            until = math.inf if action.until is None else action.until
    return Decision(request.segment, request.quality, size, received, start / MS, network.now / MS)
