"""A cell: slots that a scheduler gives to legs and background users that have something to send.

Rules:

* A user competes for a slot if something of it waits at the slot's begin. It has a rate of its own,
  that which it would have alone in the cell.
* The scheduler chooses a user, which has the rest of the slot or the part that it needs. Then it
  chooses among the others, until the slot is full or all were served.
* Background users are backlogs that are drawn from a seed, without packets. They begin with the
  transfer, from which their times count, and what they do does not depend on the legs.
* All slots up to a moment are served in order, whichever leg is asked. So polling late changes
  nothing.
* A leg in a cell is a leg with RLC (`minitopo_dc.link.rlc.leg`), except that of a slot with work it
  has what the cell gives it. Its capacity is that which it would have alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from typing import Any, TypeVar

from minitopo_dc.errors import InputError
from minitopo_dc.link.any_leg import LegParameters
from minitopo_dc.link.capacity import RATE_WINDOW_NS, Capacity
from minitopo_dc.link.cell_scheduler import CellScheduler, CellUser
from minitopo_dc.link.rlc.leg import RlcLeg
from minitopo_dc.link.rlc.parameters import RlcParameters
from minitopo_dc.units import NS_PER_S

T = TypeVar("T")
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


class CellLeg(RlcLeg[T]):
    """One direction of a leg in a cell, carrying packets of any type `T`."""

    def __init__(
        self,
        cell: Cell,
        parameters: LegParameters,
        rlc: RlcParameters,
        capacity: Capacity,
        rng: Random,
        *,
        priority: int,
    ) -> None:
        super().__init__(parameters, rlc, capacity, rng)
        self._cell = cell
        self._share = 1.0
        self.priority = priority

    @property
    def waiting_bytes(self) -> int:
        """Return what waited at the last slot: not sent yet, or to be sent again."""
        return self._backlog(0)

    def following(self, time: int) -> int:
        """Return the begin (ns) of the first slot that does not begin before `time`."""
        return self._slots.following(time)

    def start(self, now: int) -> None:
        """Start a slot, the capacity's time 0 and the cell's background at `now`."""
        super().start(now)
        self._cell.start(now)

    def rate_bps(self, *, now: int) -> int:
        """Return the rate (bit/s) that it has lately had, or could have had, in the cell.

        That is the capacity at `now` times the mean share of slots, by an exponential window of
        `RATE_WINDOW_NS`. With nothing to send its share is counted as the unused part of a slot, or
        as one part for each user that competes, if that is more.
        """
        return round(super().rate_bps(now=now) * self._share)

    def offers(self, begin: int) -> int:
        """Return the bits that the slot from `begin` (ns) on can carry of it, 0 without work."""
        return self._slots.bits(begin) if self._begin <= begin else 0

    def serve(self, begin: int, bits: int) -> int:
        """Send at most so many bits in that slot; return how many."""
        return bits - self._carry(begin, bits)

    def end_slot(self, begin: int, *, had: int, others: int, slot: int) -> None:
        """Go on to the next slot.

        Args:
            begin: of the slot that is over (ns).
            had: the time of it that this leg had, or that nobody did (ns).
            others: how many users competed for it.
            slot: its length (ns).
        """
        end = begin + slot
        if self._begin > begin:
            had = max(had, slot // (others + 1))
        elif had:
            self._free = end
            self._plan()
        else:  # others had it
            self._begin = self._free = end
            self._wake = min(end + slot, self._expiry())
        self._share += (had / slot - self._share) * slot / RATE_WINDOW_NS

    def _run(self, until: int) -> None:
        """Let the cell serve all slots that have ended by `until` (ns)."""
        self._cell.advance(until)
        if self._wake <= until:
            self._discard(until)
            self._plan()


NO_ERRORS = RlcParameters(mode="um", block_error=0.0)
"""What a leg without RLC has in a cell: segments in slots, of which none is lost."""


@dataclass(frozen=True, slots=True)
class CellStatistics:
    """Counters of a cell's users since the start, its legs first, then those of the background.

    Attributes:
        served_bytes: what each user has sent.
        served_ns: the time of slots that it had.
        waiting_bytes: its backlog at the last slot; 0 for one that always has something to send.
        active_slots: the slots in which it competed.
    """

    served_bytes: tuple[int, ...]
    served_ns: tuple[int, ...]
    waiting_bytes: tuple[int, ...]
    active_slots: tuple[int, ...]


class Cell:
    """One direction of a cell.

    Args:
        scheduler: of this cell alone.
        slot_ns: length of a slot.
        background: its background users.
    """

    def __init__(
        self, scheduler: CellScheduler, slot_ns: int, background: Sequence[Background] = ()
    ) -> None:
        self._scheduler = scheduler
        self._slot = slot_ns
        self._background = background
        self._legs: list[CellLeg[Any]] = []
        self._zero: int | None = None  # of the background's time
        self._begin: int | None = None  # of the next slot; None: nobody has asked yet
        self._users: list[CellLeg[Any] | Background] = []
        self._bits: list[int] = []
        self._times: list[int] = []
        self._active: list[int] = []

    def leg(
        self,
        parameters: LegParameters,
        capacity: Capacity,
        rng: Random,
        rlc: RlcParameters | None = None,
        *,
        priority: int = 1,
    ) -> CellLeg[Any]:
        """Return a new leg that is a user of the cell; all are made before one is used.

        Args:
            parameters: of the leg.
            capacity: that which it would have alone in the cell.
            rng: seeds its losses and delays.
            rlc: its RLC and HARQ, in slots of the cell's length; None: no block is lost.
            priority: of the scheduler `priority`; 1 is served first.
        """
        rlc = rlc or replace(NO_ERRORS, slot_ns=self._slot)
        leg: CellLeg[Any] = CellLeg(self, parameters, rlc, capacity, rng, priority=priority)
        self._legs.append(leg)
        self._users = [*self._legs, *self._background]
        self._bits, self._times, self._active = ([0] * len(self._users) for _ in range(3))
        return leg

    def start(self, now: int) -> None:
        """Let background users begin, and a slot with them, with the first leg that is started."""
        if self._zero is None:
            self._zero = self._begin = now

    def advance(self, now: int) -> None:
        """Serve all slots that have ended by `now` (ns)."""
        if self._begin is None:
            self._begin = self._legs[0].following(now)
        while self._begin + self._slot <= now:
            self._serve(self._begin)
            self._begin += self._slot

    def statistics(self) -> CellStatistics:
        """Return the counters as of the last slot."""
        return CellStatistics(
            served_bytes=tuple(bits // 8 for bits in self._bits),
            served_ns=tuple(self._times),
            waiting_bytes=tuple(user.waiting_bytes for user in self._users),
            active_slots=tuple(self._active),
        )

    def _serve(self, begin: int) -> None:
        """Give the slot that begins at `begin` (ns) to those who have something to send."""
        waiting = self._contenders(begin)
        number, had, left = len(waiting), [0] * len(self._legs), self._slot
        while waiting and left:
            user = waiting.pop(self._choose(waiting, begin))
            place = user.number - 1
            room = user.bits * left // self._slot
            sent = self._users[place].serve(begin, room)
            time = left if sent == room else min(left, -(-sent * self._slot // user.bits))
            left -= time
            self._bits[place] += sent
            self._times[place] += time
            if place < len(had):
                had[place] = time
            self._scheduler.served(user, sent, begin)
        for leg, time in zip(self._legs, had, strict=True):
            leg.end_slot(begin, had=time + left, others=number, slot=self._slot)

    def _contenders(self, begin: int) -> list[CellUser]:
        offers = [leg.offers(begin) for leg in self._legs]
        if self._zero is not None:
            time = begin - self._zero
            for user in self._background:
                offers.append(user.rate_bps * self._slot // NS_PER_S * user.competes(time))
        contenders = []
        for place, bits in enumerate(offers):
            if bits:
                self._active[place] += 1
                contenders.append(CellUser(place + 1, bits, self._users[place].priority))
        return contenders

    def _choose(self, users: Sequence[CellUser], begin: int) -> int:
        index = self._scheduler.choose(users, begin)
        if not 0 <= index < len(users):
            name = type(self._scheduler).__name__
            raise InputError(f"{name} chose user {index} of {len(users)}; allowed: 0 to one less")
        return index
