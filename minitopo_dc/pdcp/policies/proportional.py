"""Split policy `proportional`: the legs share packets in proportion to their delivery rates.

The rates are estimated from the receiver's reports and the legs' backlogs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from minitopo_dc.pdcp.policies.policy import checked_number, split_policy
from minitopo_dc.pdcp.policies.view import LegView, candidates
from minitopo_dc.units import NS_PER_MS


@split_policy("proportional")
class ProportionalPolicy:
    """Shares packets in proportion to the rates that `DeliveryRates` estimates.

    A leg that does not take a packet is passed over and keeps its claim to it. Where SDUs can wait
    and no leg takes this one, it waits.
    """

    sees_legs: ClassVar[bool] = True
    needs_reports: ClassVar[bool] = True

    def __init__(
        self,
        legs: int,
        *,
        time_constant_ms: float = 200,  # measured: docs/measurements/policies.md
        floor_percent: float = 1,  # one packet in a hundred, the papers' batch (thesis, table 4.3)
    ) -> None:
        constant = checked_number("time_constant_ms", time_constant_ms, 1)
        floor = checked_number("floor_percent", floor_percent, 0.01, 100 / legs)
        self.rates = DeliveryRates(legs, time_constant=constant * NS_PER_MS, floor=floor / 100)
        """What the legs are found to deliver."""
        self._robin = DeficitRoundRobin(legs)

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        """Return one leg, or none where the SDU can wait and no leg takes it."""
        self.rates.observe(now, views)
        able = candidates(views, now=now, size=size)
        if not able:
            return ()
        leg = self._robin.next_leg(size, self.rates.shares, able)
        self._robin.pay(size, self.rates.shares, able, leg)
        return (leg,)


class DeliveryRates:
    """Estimates of the legs' rates, by which a bearer's traffic may be shared.

    From one report to the next, each leg was busy (it had a backlog whenever an SDU came), idle
    (at some SDU it had none), or stood (it was down, or its rate was 0):

    - Busy: what it delivered is what it can. An exponentially weighted mean takes it in.
    - Idle while another was busy: it can do more than it is given, as much as that is not known.
      Its estimate grows by the factor e per time constant, until it is busy itself. Without this a
      share that follows what was delivered would prove itself right, however small.
    - Idle like all others, or standing: nothing can be learnt, the estimate stays.

    Args:
        legs: their number.
        time_constant: of mean and growth, ns.
        floor: least share of a leg, 0 to 1 / legs, so that it is probed and can recover.
    """

    def __init__(self, legs: int, *, time_constant: float, floor: float) -> None:
        self.time_constant = time_constant
        self.floor = floor
        self._at: int | None = None
        self._delivered = [0] * legs
        self._rates = [0.0] * legs  # bytes per ns
        self._idle: set[int] = set()
        self._stood: set[int] = set()
        self.shares = [1 / legs] * legs
        """Shares of the legs, which add up to 1; equal until two reports have come."""

    def observe(self, now: int, views: Sequence[LegView]) -> None:
        """Look at the legs as an SDU comes at `now` (ns), and at their report if it is new."""
        legs = range(len(views))
        self._idle |= {leg for leg in legs if not views[leg].backlog_bytes(now=now)}
        self._stood |= {leg for leg in legs if views[leg].drain_ns(now=now) is None}
        report = views[0].report
        if report is not None and report.at != self._at:
            self._take(report.at, [view.report.delivered_bytes for view in views if view.report])

    def _take(self, at: int, delivered: list[int]) -> None:
        """Take in a report of time `at` (ns) with the bytes that each leg delivered so far."""
        if self._at is not None:
            elapsed = at - self._at
            samples = [
                (new - old) / elapsed for new, old in zip(delivered, self._delivered, strict=True)
            ]
            self._learn(elapsed / self.time_constant, samples)
        self._at, self._delivered = at, delivered
        self._idle, self._stood = set(), set()

    def _learn(self, constants: float, samples: list[float]) -> None:
        """Update the estimates from one sample of each leg, after `constants` time constants."""
        if not any(self._rates):
            self._rates = [sum(samples) / len(samples)] * len(samples)
        some_busy = len(self._idle | self._stood) < len(samples)
        for leg, sample in enumerate(samples):
            if leg in self._stood or not some_busy:
                continue
            if leg in self._idle:
                # With a limit: a leg may be idle for ever beside one that is always busy.
                most = (sum(self._rates) - self._rates[leg]) / self.floor
                grown = max(self._rates[leg], sample) * math.exp(constants)
                self._rates[leg] = max(self._rates[leg], min(grown, most))
            else:
                self._rates[leg] += (1 - math.exp(-constants)) * (sample - self._rates[leg])
        if total := sum(self._rates):
            free = 1 - self.floor * len(self._rates)
            self.shares = [self.floor + free * rate / total for rate in self._rates]


class DeficitRoundRobin:
    """Smooth weighted round robin in bytes: the leg that lags its share most is next.

    Each packet is owed to the candidate legs in proportion to their weights, and is paid to one.
    What is owed adds up to 0, so a leg is never ahead or behind by more than a few packets,
    whatever their sizes. Deficits as in deficit round robin (Shreedhar and Varghese, SIGCOMM 1995),
    but of one queue over many links.
    """

    def __init__(self, legs: int) -> None:
        self._owed = [0.0] * legs

    def next_leg(self, size: int, weights: Sequence[float], legs: Sequence[int]) -> int:
        """Return the leg of `legs` whose turn it is, the lowest of equals, and change nothing."""
        total = sum(weights[leg] for leg in legs)
        return max(legs, key=lambda leg: self._owed[leg] + size * weights[leg] / total)

    def pay(self, size: int, weights: Sequence[float], legs: Sequence[int], paid: int) -> None:
        """Account for a packet of `size` bytes on leg `paid`; weights must not all be 0."""
        total = sum(weights[leg] for leg in legs)
        for leg in legs:
            self._owed[leg] += size * weights[leg] / total
        self._owed[paid] -= size
