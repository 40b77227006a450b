"""The state of a bearer's legs: which are up, which accept an SDU, and which are lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from minitopo_dc.pdcp.policies.view import LegState
from minitopo_dc.pdcp.transmitting.feedback import Feedback
from minitopo_dc.pdcp.transmitting.flow_control import FlowControl, LegNode
from minitopo_dc.pdcp.transmitting.leg_access import LegAccess, NearLeg
from minitopo_dc.pdcp.transmitting.leg_failure import LegFailures

T = TypeVar("T")


class BearerLegs(Generic[T]):
    """All legs of one bearer (numbered from 0), to which it sends PDUs of type `T`.

    Args:
        states: the legs themselves.
        flow_control: of each leg's backhaul; none: the legs are beside the entity.
        lead: of how much a leg beside the entity takes (`NearLeg`), ns.
        header: bytes that a PDU has more than its SDU.
        failures: which legs have failed; None: nobody looks.
    """

    __slots__ = ("_down", "_failed", "_failures", "_states", "accesses")

    def __init__(
        self,
        states: Sequence[LegState],
        flow_control: Sequence[FlowControl],
        *,
        lead: int | None,
        header: int,
        failures: LegFailures | None = None,
    ) -> None:
        self._states = states
        self._failures = failures
        self._down: set[int] = set()
        self._failed: frozenset[int] = frozenset()
        self.accesses: tuple[LegAccess[T], ...]
        """The access to each leg."""
        if flow_control:
            pairs = zip(states, flow_control, strict=True)
            self.accesses = tuple(LegNode(*pair, header=header) for pair in pairs)
        else:
            self.accesses = tuple(NearLeg(state, lead=lead, header=header) for state in states)

    def __len__(self) -> int:
        """Return the PDUs on their way to the legs or in their queues, as of the last `settle`."""
        return sum(map(len, self.accesses))

    def settle(self, now: int) -> None:
        """Look how far each leg is at `now` (ns)."""
        for leg, access in enumerate(self.accesses):
            before = access.inside.passed
            access.settle(now)
            if self._failures is not None and access.inside.passed > before:
                due = now + self._states[leg].mean_delay_ns
                self._failures.expect_arrival(leg, due, access.inside.highest_count)

    def take_report(self, feedback: Feedback) -> None:
        """Learn from the receiver's latest report which legs have failed.

        The report is assumed to come back with the least mean delay of all legs.
        """
        if self._failures is not None:
            self._failures.take_report(feedback, min(each.mean_delay_ns for each in self._states))

    def has_failed(self, leg: int) -> bool:
        """Return whether a leg has failed while another one is up that has not.

        Without such another leg, one that has failed is as good as any.
        """
        if self._failures is None or leg not in self._failures.failed:
            return False
        failed = self._failures.failed
        return any(each.is_up() for leg, each in enumerate(self.accesses) if leg not in failed)

    def is_up(self, leg: int) -> bool:
        """Return whether a leg is up and has not failed, as far as is known."""
        return self.accesses[leg].is_up() and not self.has_failed(leg)

    def legs_to_probe(self, taken: Sequence[int], now: int) -> list[int]:
        """Return the failed legs that are due a copy of the PDU that goes on the legs `taken`."""
        if self._failures is None:
            return []
        return [
            leg
            for leg in sorted(self._failures.failed)
            if leg not in taken
            and self.accesses[leg].is_up()
            and self._failures.probe_is_due(leg, now)
        ]

    def arrived(self, now: int) -> list[T]:
        """Return the PDUs that reach their legs by `now` (ns), to be given to them at once."""
        return [pdu for access in self.accesses for pdu in access.arrived(now)]

    def can_send(self, legs: Sequence[int], *, now: int, size: int) -> bool:
        """Return whether at least one of `legs` takes an SDU of `size` bytes."""
        return any(self.accesses[leg].takes(now=now, size=size) for leg in legs)

    def select_up_legs(self, legs: tuple[int, ...], *, now: int, size: int) -> tuple[int, ...]:
        """Return the legs of a policy's answer that are up, or the soonest leg in their place."""
        try:
            up = tuple(leg for leg in legs if self.is_up(leg))
        except (IndexError, TypeError):
            return legs  # no answer: refused where it is numbered
        if up or not legs:
            return up
        soonest = self.soonest(now=now, size=size)
        return () if soonest is None else (soonest,)

    def soonest(self, *, now: int, size: int) -> int | None:
        """Return the leg that is up on which an SDU is expected first, the lowest of equals."""
        expected = [
            (drain + state.mean_delay_ns, leg)
            for leg, state in enumerate(self._states)
            if self.is_up(leg) and (drain := state.drain_ns(now=now, more=size)) is not None
        ]
        return min(expected)[1] if expected else None

    def lost(self) -> list[int]:
        """Return the legs that have gone down or failed since the last call, ascending.

        They include legs that hold what they were given while no leg was up, now that another one
        is, and legs that have recovered from a failure, for what they were given while no other leg
        was up.
        """
        down = {leg for leg, state in enumerate(self._states) if not state.is_up}
        out = down | {leg for leg in range(len(self._states)) if self.has_failed(leg)}
        newly, self._down = out - self._down, out
        if self._failures is not None:
            newly |= self._failed - self._failures.failed
            self._failed = self._failures.failed
        if len(down) < len(self._states):
            newly |= {leg for leg in down if len(self.accesses[leg])}
        return sorted(newly)

    def next_timeout(self, now: int, *, wanted: bool) -> int | None:
        """Return when something arrives or, if `wanted`, a leg may take more than now (ns).

        It is also when a leg will have passed on the packets by which its failure would be noticed.
        """
        moments = [
            access.next_timeout(now, wanted=wanted or self._awaits_departure(leg))
            for leg, access in enumerate(self.accesses)
        ]
        return min((moment for moment in moments if moment is not None), default=None)

    def _awaits_departure(self, leg: int) -> bool:
        """Return whether a leg holds packets whose arrival time at its end is not known yet."""
        if self._failures is None or self._failures.expects(leg):
            return False
        return len(self.accesses[leg]) > 0
