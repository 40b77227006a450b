"""Settings of the flow control between a split bearer's legs and the split point."""

from __future__ import annotations

from minitopo_dc.pdcp import FlowControl, PolicyError
from minitopo_dc.settings.base import Settings
from minitopo_dc.settings.ranges import Interval, Milliseconds, MillisecondsAbove
from minitopo_dc.units import NS_PER_MS


class FlowControlSettings(Settings):
    """DL DELIVERY STATUS of TS 38.425 from each leg's node, over a backhaul."""

    interval_ms: Interval = 5.0
    """From one status to the next, at least a slot of 1 ms. TS 38.425 leaves it to who polls; 5 ms
    is this project's choice, a quarter of the papers' round trip."""
    backhaul_ms: Milliseconds | tuple[Milliseconds, ...] = 0.0
    """One way, of PDUs and statuses: one for all legs, or one per leg of the bearer. 0: the leg is
    at the node that splits."""
    desired_ms: MillisecondsAbove | None = None
    """What a node wants to have, in ms of its leg's rate; none: what a status and its answer take,
    `interval_ms` + 2 `backhaul_ms` + 2 ms."""

    def of_legs(self, legs: int) -> tuple[FlowControl, ...]:
        """One for each of a bearer's `legs` legs.

        Raises:
            PolicyError: not as many delays as legs.
        """
        delays = self.backhaul_ms
        if not isinstance(delays, tuple):
            delays = (delays,) * legs
        if len(delays) != legs:
            raise PolicyError(
                f"flow_control.backhaul_ms: {len(delays)} values, must be one, or one for each of "
                f"{legs} legs"
            )
        desired = None if self.desired_ms is None else round(self.desired_ms * NS_PER_MS)
        interval = round(self.interval_ms * NS_PER_MS)
        return tuple(FlowControl(interval, round(each * NS_PER_MS), desired) for each in delays)
