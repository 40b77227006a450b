"""Background users of a cell: backlogs that are drawn from a seed, without packets.

Times are ns since the start of the transfer and never descend from call to call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from random import Random

ENDLESS = 1 << 62
"""In bits: what a user offers that never runs out; in ns: beyond any run."""
Periods = Iterator[tuple[int, int]]
"""Begin and end (ns) of each time in which a user is active, ascending."""
Load = Callable[[int], int]
"""Returns how many bits a user has offered by a moment (ns); `-ENDLESS`: it has dropped them."""


def full_buffer(periods: Periods) -> Load:
    """Return the load of a user that is active in these periods, and drops the rest after each.

    While it is active it always has something to send.
    """
    ahead = chain(periods, [(ENDLESS, ENDLESS)])
    begin, end = next(ahead)

    def offered(now: int) -> int:
        nonlocal begin, end
        while end <= now:
            begin, end = next(ahead)
        return ENDLESS if begin <= now else -ENDLESS

    return offered


def on_off_periods(rng: Random, on_ns: int, off_ns: int) -> Periods:
    """Yield periods whose lengths, and the gaps before them, are exponential with these means."""
    time = 0
    while True:
        begin = time + round(rng.expovariate(1 / off_ns))
        time = begin + max(1, round(rng.expovariate(1 / on_ns)))
        yield begin, time


def poisson_downloads(rng: Random, size: int, mean_ns: int) -> Load:
    """Return the load of downloads that come at random and wait for each other.

    FTP model 3 of 3GPP (TR 36.889): a Poisson process of files for the same user.

    Args:
        rng: draws their moments.
        size: bits of each.
        mean_ns: from one to the next.
    """
    bits, rate = 0, 1 / mean_ns
    coming = round(rng.expovariate(rate))

    def offered(now: int) -> int:
        nonlocal bits, coming
        while coming <= now:
            bits += size
            coming += max(1, round(rng.expovariate(rate)))
        return bits

    return offered


class Background:
    """A background user, which keeps what waits for service.

    Args:
        load: what it offers.
        rate_bps: what it would have alone in the cell.
        priority: of the scheduler `priority`; 1 is served first.
    """

    def __init__(self, load: Load, rate_bps: int, *, priority: int = 1) -> None:
        self.rate_bps = rate_bps
        self.priority = priority
        self._load = load
        self._waiting = self._taken = 0

    @property
    def waiting_bytes(self) -> int:
        """Return what waited at the last slot; 0 for what never ends."""
        return -(-self._waiting // 8) if self._waiting < ENDLESS // 2 else 0

    def competes(self, time: int) -> bool:
        """Return whether something waits at a slot's begin (ns since the start)."""
        self._waiting = max(0, self._load(time) - self._taken)
        return self._waiting > 0

    def serve(self, begin: int, bits: int) -> int:  # noqa: ARG002
        """Send at most so many bits; return how many."""
        sent = min(bits, self._waiting)
        self._taken += sent
        self._waiting -= sent
        return sent
