"""Split policy `proportional`: the legs share packets in proportion to their delivery rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from minitopo_dc.pdcp.policies.choice import DeficitRoundRobin, candidates
from minitopo_dc.pdcp.policies.delivery_rates import DeliveryRates
from minitopo_dc.pdcp.policies.policy import checked_number, split_policy
from minitopo_dc.pdcp.policies.view import LegView
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
        constant = checked_number("proportional", "time_constant_ms", time_constant_ms, 1)
        floor = checked_number("proportional", "floor_percent", floor_percent, 0.01, 100 / legs)
        self.rates = DeliveryRates(legs, time_constant=constant * NS_PER_MS, floor=floor / 100)
        """What the legs are found to deliver."""
        self._robin = DeficitRoundRobin(legs)
        self._one = tuple((leg,) for leg in range(legs))

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        """Return one leg, or none where the SDU can wait and no leg takes it."""
        self.rates.observe(now, views)
        able = candidates(views, now=now, size=size)
        if not able:
            return ()
        leg = self._robin.next_leg(size, self.rates.shares, able)
        self._robin.pay(size, self.rates.shares, able, leg)
        return self._one[leg]
