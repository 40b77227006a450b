"""Background users of a cell: backlogs that are drawn from a seed, without packets.

Times are ns since the start of the transfer and never descend from call to call.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from random import Random

from minitopo_dc.link.capacity import Capacity

ENDLESS = 1 << 62
"""In bits: the backlog of a user that never runs out; in ns: beyond any run."""
Periods = Iterator[tuple[int, int]]
"""Begin and end (ns) of each time in which a user is active, ascending."""


class FullBuffer:
    """A user that always has something to send while it is active, and drops the rest after.

    Args:
        periods: when it is active.
    """

    def __init__(self, periods: Periods) -> None:
        self._periods = chain(periods, [(ENDLESS, ENDLESS)])
        self._begin, self._end = next(self._periods)

    def waiting(self, now: int) -> int:
        """Return an endless backlog while active, else 0."""
        if now < self._begin:
            return 0
        while self._end <= now:
            self._begin, self._end = next(self._periods)
        return ENDLESS if self._begin <= now else 0

    def take(self, bits: int) -> None:
        """Do nothing: there is always more."""


def on_off_periods(rng: Random, on_ns: int, off_ns: int) -> Periods:
    """Yield periods whose lengths, and the gaps before them, are exponential with these means."""
    time = 0
    while True:
        begin = time + round(rng.expovariate(1 / off_ns))
        time = begin + max(1, round(rng.expovariate(1 / on_ns)))
        yield begin, time


class PoissonDownloads:
    """Downloads of one size that come at random, and wait for each other.

    FTP model 3 of 3GPP (TR 36.889): a Poisson process of files for the same user.

    Args:
        rng: draws their moments.
        size: bits of each.
        mean_ns: from one to the next.
    """

    def __init__(self, rng: Random, size: int, mean_ns: int) -> None:
        self._rng = rng
        self._size = size
        self._rate = 1 / mean_ns
        self._bits = 0
        self._next = round(rng.expovariate(self._rate))

    def waiting(self, now: int) -> int:
        """Return the bits of all downloads that have come and are not through."""
        while self._next <= now:
            self._bits += self._size
            self._next += max(1, round(self._rng.expovariate(self._rate)))
        return self._bits

    def take(self, bits: int) -> None:
        """Take served bits out of the oldest downloads."""
        self._bits -= bits


class RecordedLoad:
    """A recorded rate over time, of which waits what was not served yet.

    Args:
        rate: what is offered.
    """

    def __init__(self, rate: Capacity) -> None:
        self._rate = rate
        self._taken = 0

    def waiting(self, now: int) -> int:
        """Return the bits offered by `now` and not served."""
        return self._rate.bits_between(0, max(now, 0)) - self._taken

    def take(self, bits: int) -> None:
        """Take served bits out of what waits."""
        self._taken += bits


Load = FullBuffer | PoissonDownloads | RecordedLoad
"""The load that a background user offers, in bits; it keeps what waits for service."""


class Background:
    """A background user.

    Args:
        load: what it offers.
        rate_bps: what it would have alone in the cell.
        priority: of the scheduler `priority`; 1 is served first.
    """

    def __init__(self, load: Load, rate_bps: int, *, priority: int = 1) -> None:
        self.rate_bps = rate_bps
        self.priority = priority
        self._load = load
        self._waiting = 0

    @property
    def waiting_bytes(self) -> int:
        """Return what waited at the last slot; 0 for what never ends."""
        return -(-self._waiting // 8) if self._waiting < ENDLESS // 2 else 0

    def competes(self, time: int) -> bool:
        """Return whether something waits at a slot's begin (ns since the start)."""
        self._waiting = self._load.waiting(time)
        return self._waiting > 0

    def serve(self, begin: int, bits: int) -> int:  # noqa: ARG002
        """Send at most so many bits; return how many."""
        sent = min(bits, self._waiting)
        self._load.take(sent)
        self._waiting -= sent
        return sent
