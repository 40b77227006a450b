"""Selective duplication: SDUs that meet a rule go on all legs, whatever the split policy names."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from minitopo_dc.pdcp.classify import PacketFacts, PacketKind, Segment
from minitopo_dc.pdcp.policies.best_leg import expected_ns
from minitopo_dc.pdcp.policies.view import LegView
from minitopo_dc.units import NS_PER_S

TIME_CONSTANT_NS: Final = NS_PER_S
"""Of what is lately: at the papers' 20 Mbit/s some 1,700 packets, 17 losses at 1 %."""


class LossShares:
    """Lost and all PDUs of each leg, where older ones weigh less, by exp(-age / time constant)."""

    def __init__(self, legs: int) -> None:
        self._at: int | None = None
        self._lost = [0] * legs
        self._pdus = [0] * legs
        self._recent_lost = [0.0] * legs
        self._recent_pdus = [0.0] * legs

    def observe(self, views: Sequence[LegView]) -> None:
        """Look at the legs' report if it is a new one."""
        report = views[0].report
        if report is None or report.at == self._at:
            return
        kept = 0.0 if self._at is None else math.exp((self._at - report.at) / TIME_CONSTANT_NS)
        self._at = report.at
        for leg, view in enumerate(views):
            if view.report is not None:
                self._take(leg, view.report.lost_pdus, view.report.delivered_pdus, kept)

    def percent(self, leg: int) -> float:
        """Return the share of a leg's recent PDUs that was lost, 0 to 100; 0 without reports."""
        pdus = self._recent_pdus[leg]
        return 100 * self._recent_lost[leg] / pdus if pdus else 0.0

    def _take(self, leg: int, lost: int, delivered: int, kept: float) -> None:
        # PDUs that came late make fewer lost than the report before said.
        more_lost = max(0, lost - self._lost[leg])
        more = max(more_lost, lost + delivered - self._pdus[leg])
        self._recent_lost[leg] = self._recent_lost[leg] * kept + more_lost
        self._recent_pdus[leg] = self._recent_pdus[leg] * kept + more
        self._lost[leg], self._pdus[leg] = lost, lost + delivered


SMALL_BYTES: Final = 100
"""Of an IP packet: QUIC's with an acknowledgement alone are shorter, also over IPv6."""
MAX_FLOWS: Final = 1024
"""TCP flows of a bearer whose sequence numbers are remembered, the latest ones."""


@dataclass(frozen=True, slots=True)
class DuplicationRule:
    """Conditions for an SDU to be duplicated; one that holds is enough.

    Attributes:
        handshake: TCP's SYN, FIN and RST, QUIC's long headers.
        ack: TCP's pure acknowledgements, and UDP of at most `small_bytes`, among it QUIC's
            acknowledgements, which are encrypted.
        small_bytes: of an IP packet.
        below_bytes: IP packets smaller than this; None: no condition.
        dscp: these code points.
        retransmissions: TCP segments that begin below what was sent of their flow. QUIC's are
            encrypted and have new packet numbers: no header tells them.
        loss_percent: the split's leg lost more than this share lately (`LossShares`); None: no
            condition.
        deadline_ns: the SDU is expected later than this on the split's leg, or no time is known;
            None: no condition.
    """

    handshake: bool = False
    ack: bool = False
    small_bytes: int = SMALL_BYTES
    below_bytes: int | None = None
    dscp: frozenset[int] = frozenset()
    retransmissions: bool = False
    loss_percent: float | None = None
    deadline_ns: int | None = None

    @property
    def needs_facts(self) -> bool:
        """Return whether a condition is about the packet's headers."""
        return bool(self.handshake or self.ack or self.dscp or self.retransmissions)

    @property
    def sees_legs(self) -> bool:
        """Return whether a condition is about the legs; else views help, but are not needed."""
        return self.loss_percent is not None or self.deadline_ns is not None


class SelectiveDuplication:
    """Applies a duplication rule to the SDUs of one bearer.

    PDCP duplication of TS 38.323 clause 5.11 is switched for a whole bearer; here it is done for
    the SDUs that the rule finds.
    """

    def __init__(self, rule: DuplicationRule, legs: int) -> None:
        """Make the duplication of a bearer with this number of legs."""
        self.rule = rule
        """Which SDUs it duplicates."""
        self._all = tuple(range(legs))
        self._losses = LossShares(legs)
        self._sent = _SentSequences()
        self.duplicated = 0
        """SDUs that were put on more legs than the split named."""

    def legs(
        self,
        chosen: tuple[int, ...],
        *,
        now: int,
        size: int,
        views: Sequence[LegView],
        facts: PacketFacts | None = None,
    ) -> tuple[int, ...]:
        """Return the legs of an SDU, ascending: the split's, and all that are up if duplicated.

        To be asked once for each SDU, when the split's legs are final.

        Args:
            chosen: the split policy's answer; when it names none, nothing is added.
            now: ns.
            size: bytes of the IP packet.
            views: one per leg; none where legs cannot be seen, then all count as up.
            facts: what the packet is, where the rule needs them.
        """
        if not chosen or not self._rule_applies(chosen, size, now, views, facts or PacketFacts()):
            return chosen
        up = [leg for leg, view in enumerate(views) if view.is_up] if views else self._all
        legs = tuple(sorted({*chosen, *up}))
        self.duplicated += len(legs) > len(chosen)
        return legs

    def _rule_applies(
        self,
        chosen: tuple[int, ...],
        size: int,
        now: int,
        views: Sequence[LegView],
        facts: PacketFacts,
    ) -> bool:
        rule, kind = self.rule, facts.kind
        # These two keep state, so they are asked for every SDU.
        again = rule.retransmissions and self._sent.has(facts.segment)
        lossy = late = False
        if rule.loss_percent is not None:
            self._losses.observe(views)
            lossy = all(self._losses.percent(leg) > rule.loss_percent for leg in chosen)
        if rule.deadline_ns is not None:
            delays = [expected_ns(views[leg], now=now, size=size) for leg in chosen]
            late = all(delay is None or delay > rule.deadline_ns for delay in delays)
        small = kind is PacketKind.UDP and size <= rule.small_bytes
        return (
            again
            or lossy
            or late
            or facts.dscp in rule.dscp
            or (rule.below_bytes is not None and size < rule.below_bytes)
            or (rule.handshake and kind is PacketKind.HANDSHAKE)
            or (rule.ack and (small or kind is PacketKind.ACK))
        )


class _SentSequences:
    """The next sequence number of each TCP flow, behind the last one sent."""

    def __init__(self) -> None:
        self._next: OrderedDict[bytes, int] = OrderedDict()

    def has(self, segment: Segment | None) -> bool:
        """Return whether a segment begins below what was sent, and remember it as sent."""
        if segment is None or not segment.length:
            return False
        following = segment.sequence + segment.length
        known = self._next.get(segment.flow, segment.sequence)
        again = _precedes(segment.sequence, known)
        if not again or _precedes(known, following):
            self._next[segment.flow] = following
        self._next.move_to_end(segment.flow)
        if len(self._next) > MAX_FLOWS:
            self._next.popitem(last=False)
        return again


def _precedes(one: int, other: int) -> bool:
    """Return whether `one` lies before `other` in sequence space (RFC 9293, section 3.4)."""
    return 0 < (other - one) % 2**32 < 2**31
