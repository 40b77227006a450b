"""The medium of a WiFi leg: who sends when, by DCF (IEEE 802.11-2012, clause 9.3).

* Who wants to send waits until the medium was idle for DIFS, then for his back-off, in slots that
  count only while it is idle.
* Two whose back-offs end within one slot do not hear each other in time: they collide, and both
  have sent in vain.
* All else is of the stations: what they send, and what they do about failures.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random

from minitopo_dc.link.any_leg import NEVER
from minitopo_dc.link.wifi.parameters import (
    CW_MAX,
    CW_MIN,
    DIFS_NS,
    SLOT_NS,
    WifiParameters,
    foreign_ns,
)


class Contender(ABC):
    """A station on the medium, with a window of back-off that doubles with each failure."""

    def __init__(self, rng: Random) -> None:
        self.ready = NEVER
        """When it begins to want the medium (ns), NEVER for not at all."""
        self.slots = 0
        """Those that it still has to wait."""
        self.airtime_ns = 0
        """In which it had the medium alone."""
        self._backoffs = rng
        self._window = CW_MIN
        self.back_off(failed=False)

    def back_off(self, *, failed: bool) -> None:
        """Draw the slots to wait after a transmission, or before the first one."""
        self._window = min(2 * self._window + 1, CW_MAX) if failed else CW_MIN
        self.slots = self._backoffs.randint(0, self._window)

    @abstractmethod
    def begin(self, now: int) -> int:
        """Take the medium from `now` (ns) on; return for how long (ns)."""

    @abstractmethod
    def end(self, now: int, *, collided: bool) -> None:
        """Give the medium back at `now` (ns), after a collision or not."""


class WifiMedium:
    """The medium that both directions of a leg share, with others if there is any load.

    Each of its stations, in the order in which they join, has generators of its own from `rng`.

    Args:
        parameters: of the medium and all stations.
        rng: seeds back-offs and others' arrivals.
    """

    def __init__(self, parameters: WifiParameters, rng: Random) -> None:
        self.parameters = parameters
        self.idle_ns = self.contention_ns = self.collision_ns = 0
        self._rng = rng
        self._others = [
            Foreign(parameters, self.new_rng())
            for _ in range(parameters.stations if parameters.load else 0)
        ]
        self._stations: list[Contender] = [*self._others]
        self._sending: list[Contender] = []
        self._begin = self._end = 0
        self._has_begun = False

    def new_rng(self) -> Random:
        """Return a new random generator for a station."""
        return Random(self._rng.getrandbits(64))

    def join(self, station: Contender) -> None:
        """Let a station contend for the medium."""
        self._stations.append(station)

    def start(self, now: int) -> None:
        """Start the load of others, if it has not begun yet."""
        self.advance(now)
        for other in self._others:
            other.start(now)

    @property
    def foreign_ns(self) -> int:
        """Return for how long (ns) others had it alone."""
        return sum(other.airtime_ns for other in self._others)

    def advance(self, now: int) -> None:
        """Process all transmissions up to `now` (ns)."""
        if not self._has_begun:
            self._has_begun, self._end = True, now
        while (moment := self.next_event()) <= now:
            if self._sending:
                self._finish()
            else:
                self._transmit(moment)

    def next_event(self) -> int:
        """Return when a transmission begins or ends next (ns), as of now."""
        if self._sending:
            return self._end
        return min(map(self.begin_of, self._stations), default=NEVER)

    def begin_of(self, station: Contender) -> int:
        """Return when a station's next transmission begins at the earliest (ns)."""
        return max(station.ready, self._end) + DIFS_NS + station.slots * SLOT_NS

    def _transmit(self, start: int) -> None:
        """Let the stations send whose back-off ends now, and freeze the slots of the others."""
        begins = [(self.begin_of(station), station) for station in self._stations]
        self._sending = [station for begin, station in begins if begin < start + SLOT_NS]
        ready = max(self._end, min(station.ready for station in self._stations))
        self.idle_ns += ready - self._end
        self.contention_ns += start - ready
        for begin, station in begins:
            if begin >= start + SLOT_NS:
                waited = start - max(station.ready, self._end) - DIFS_NS
                station.slots -= max(0, waited) // SLOT_NS
        self._begin = start
        self._end = max(
            begin + station.begin(start) for begin, station in begins if station in self._sending
        )

    def _finish(self) -> None:
        sending, self._sending = self._sending, []
        collided = len(sending) > 1
        if collided:
            self.collision_ns += self._end - self._begin
        else:
            sending[0].airtime_ns += self._end - self._begin
        for station in sending:
            station.end(self._end, collided=collided)


class Foreign(Contender):
    """Another station on the medium, which sends single packets of 1,500 bytes as they come.

    They come at random (Poisson), such that their transmissions would take the station's part of
    the load.
    """

    def __init__(self, parameters: WifiParameters, rng: Random) -> None:
        super().__init__(rng)
        self._rng = rng
        self._airtime = foreign_ns(parameters)
        self._mean = self._airtime * parameters.stations / parameters.load

    def start(self, now: int) -> None:
        """Let its first packet come, at or after `now` (ns)."""
        if self.ready == NEVER:
            self._next(now)

    def begin(self, now: int) -> int:  # noqa: ARG002
        """Take the medium; return the airtime of one packet (ns)."""
        return self._airtime

    def end(self, now: int, *, collided: bool) -> None:  # noqa: ARG002
        """Give the medium back; a packet that collided is sent again."""
        self.back_off(failed=collided)
        if not collided:
            self._next(self.ready)

    def _next(self, earlier: int) -> None:
        self.ready = earlier + round(self._rng.expovariate(1 / self._mean))
