"""A bearer's legs that its transmitting entity follows: which are up, take more, are lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from minitopo_dc.pdcp.flow_control import FlowControl, LegNode
from minitopo_dc.pdcp.leg_access import LegAccess, NearLeg
from minitopo_dc.pdcp.view import LegQueue

T = TypeVar("T")


class FollowedLegs(Generic[T]):
    """All legs of one bearer (numbered from 0), to which it sends PDUs of type `T`.

    Args:
        states: the legs themselves.
        flow_control: of each leg's backhaul; none: the legs are beside the entity.
        lead: of how much a leg beside the entity takes (`NearLeg`), ns.
        header: bytes that a PDU has more than its SDU.
    """

    __slots__ = ("_down", "_states", "accesses")

    def __init__(
        self,
        states: Sequence[LegQueue],
        flow_control: Sequence[FlowControl],
        *,
        lead: int | None,
        header: int,
    ) -> None:
        self._states = states
        self._down: set[int] = set()
        self.accesses: tuple[LegAccess[T], ...]
        """How to reach each leg."""
        if flow_control:
            pairs = zip(states, flow_control, strict=True)
            self.accesses = tuple(LegNode(*pair, header=header) for pair in pairs)
        else:
            self.accesses = tuple(NearLeg(state, lead=lead, header=header) for state in states)

    def __len__(self) -> int:
        """PDUs on their way to the legs or in their queues, as of the last `settle`."""
        return sum(map(len, self.accesses))

    def settle(self, now: int) -> None:
        """Look how far each leg is at `now` (ns)."""
        for access in self.accesses:
            access.settle(now)

    def arrived(self, now: int) -> list[T]:
        """PDUs that reach their legs by `now`: to be given to them at once."""
        return [pdu for access in self.accesses for pdu in access.arrived(now)]

    def one_takes(self, legs: Sequence[int], size: int, now: int) -> bool:
        """Whether one of `legs` takes an SDU of `size` bytes."""
        return any(self.accesses[leg].takes(size, now) for leg in legs)

    def that_are_up(self, legs: tuple[int, ...], size: int, now: int) -> tuple[int, ...]:
        """Those of a policy's answer that are up, or in their place the leg that is soonest."""
        try:
            up = tuple(leg for leg in legs if self.accesses[leg].is_up())
        except (IndexError, TypeError):
            return legs  # no answer: refused where it is numbered
        if up or not legs:
            return up
        soonest = self.soonest(size, now)
        return () if soonest is None else (soonest,)

    def soonest(self, size: int, now: int) -> int | None:
        """The leg that is up on which an SDU is expected first, the lower one of equals."""
        expected = [
            (drain + state.mean_delay_ns, leg)
            for leg, state in enumerate(self._states)
            if self.accesses[leg].is_up() and (drain := state.drain_ns(now, size)) is not None
        ]
        return min(expected)[1] if expected else None

    def lost(self) -> list[int]:
        """The legs that are down, as far as it is news: those that were up at the last call.

        Also those that hold what they were given while no leg was up, now that another one is.
        """
        down = {leg for leg, state in enumerate(self._states) if not state.is_up}
        newly, self._down = down - self._down, down
        if len(down) < len(self._states):
            newly |= {leg for leg in down if len(self.accesses[leg])}
        return sorted(newly)

    def next_timeout(self, now: int, *, wanted: bool) -> int | None:
        """When something arrives or, where that is `wanted`, a leg may take more than now (ns)."""
        moments = [access.next_timeout(now, wanted=wanted) for access in self.accesses]
        return min((moment for moment in moments if moment is not None), default=None)
