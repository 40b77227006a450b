"""Split policies of the native core: twins in C, and Python's, which C asks by a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minitopo_dc.native.library import counted, from_c_time, library
from minitopo_dc.pdcp import (
    BatchPolicy,
    DuplicatePolicy,
    LeastDelayPolicy,
    LegReport,
    LegView,
    ProportionalPolicy,
    SplitPolicy,
    sees_legs,
)
from minitopo_dc.pdcp.policies.policy import checked_split

TWINS: Mapping[type[SplitPolicy], Callable[[Any], Sequence[float]]] = {
    BatchPolicy: lambda policy: policy.shares,
    DuplicatePolicy: lambda _: (),
    LeastDelayPolicy: lambda _: (),
    ProportionalPolicy: lambda policy: (policy.rates.time_constant, policy.rates.floor),
}
"""By its class, the numbers of a policy in C, in the order of `native.h`; no subclass is in C."""


class AskedPolicy:
    """A split policy in Python that a transmitting entity in C asks for each SDU.

    Its views of the legs read a struct that C fills in before each question, and ask the legs in C.
    """

    def __init__(self, policy: SplitPolicy, legs: int, *, may_wait: bool) -> None:
        """Take the number of the bearer's legs, and whether its SDUs may wait for a number."""
        module = library()
        ffi, lib = module.ffi, module.lib
        self.fail: Callable[[BaseException], None]
        """Takes the error of a question, after which C ends."""
        self._split = checked_split(policy, legs)
        self._shown = ffi.NULL
        self._views: tuple[NativeLegView, ...] = ()
        if sees_legs(policy):
            self._shown = ffi.new("leg_view[]", legs)  # has to live as long
            self._views = tuple(
                NativeLegView(leg, self._shown[leg], may_wait=may_wait) for leg in range(legs)
            )
        self._handle = ffi.new_handle(self)
        asked = lib.python_ask, self._handle, self._shown
        self.pointer = lib.policy_new(lib.POLICY_ASKED, legs, ffi.NULL, asked)
        """The policy in C, which its entity frees."""

    def ask(self, now: int, size: int, answer: Any) -> int:
        """Write the legs of an SDU of `size` bytes at `now` (ns); return how many they are.

        Raises:
            PolicyError: the policy raised an error, or its answer is no tuple of legs.
        """
        legs = self._split(now=now, size=size, views=self._views)
        for place, leg in enumerate(legs):
            answer[place] = leg
        return len(legs)


def _shown(member: str) -> Any:
    return property(lambda view: getattr(view._shown, member))


class NativeLegView(LegView):
    """A leg in C as a split policy in Python sees it, at the moment of a question."""

    is_up, pending_bytes = _shown("is_up"), _shown("pending_bytes")
    sent_pdus, sent_bytes = _shown("sent_pdus"), _shown("sent_bytes")
    may_wait = False
    has_failed = False  # for failures the native core does not look

    def __init__(self, leg: int, shown: Any, *, may_wait: bool) -> None:
        """Show what C's `leg_view` of `leg` (from 0) holds, and what is known of the leg."""
        self._leg = leg
        self._lib = library().lib
        self._shown = shown
        self.may_wait = may_wait
        self._number = 0
        self._report: LegReport | None = None

    @property
    def mean_delay_ns(self) -> int:
        """Return the configured mean one-way delay behind queue and serialisation, in ns."""
        return int(self._lib.view_mean_delay(self._shown.of, self._leg))

    def backlog_bytes(self, *, now: int) -> int:
        """Return the bytes of IP packets, with PDCP headers, not serialised yet at `now` (ns)."""
        return int(self._lib.view_backlog(self._shown.of, self._leg, now))

    def has_room(self, *, now: int, size: int) -> bool:
        """Return whether the leg's queue would take a packet of `size` bytes; else it drops it."""
        return bool(self._lib.view_has_room(self._shown.of, self._leg, now, size))

    def drain_ns(self, *, now: int, more: int = 0) -> int | None:
        """Return how long the backlog and `more` bytes behind it take; None: no time is known."""
        return from_c_time(self._lib.view_drain(self._shown.of, self._leg, now, more))

    def takes(self, *, now: int, size: int) -> bool:
        """Return whether the leg takes an SDU of `size` bytes now."""
        return bool(self._lib.view_takes(self._shown.of, self._leg, now, size))

    def credit_bytes(self, *, now: int) -> int | None:  # noqa: ARG002  (LegView's)
        """Return how many bytes the leg's node still wants; None where it does not say."""
        return from_c_time(self._lib.view_credit(self._shown.of, self._leg))

    @property
    def report(self) -> LegReport | None:
        """Return the receiver's latest report of this leg, None before the first."""
        latest = self._shown.report
        if latest.number != self._number:
            counts = counted(LegReport, latest)
            if latest.highest_count < 0:
                counts["highest_count"] = None
            self._number, self._report = latest.number, LegReport(**counts)
        return self._report
