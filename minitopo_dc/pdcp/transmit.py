"""The transmitting PDCP entity: numbers SDUs and puts them on legs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from minitopo_dc.pdcp.codec import SnFormat
from minitopo_dc.pdcp.policy import SplitPolicy
from minitopo_dc.pdcp.statistics import TransmitStatistics

T = TypeVar("T")


@dataclass(slots=True)
class Pdu(Generic[T]):
    """An SDU with its number and the leg it takes (index of the bearer's legs, from 0)."""

    leg: int
    count: int
    sn: int
    sdu: T


class TransmittingEntity(Generic[T]):
    """Data transfer of TS 38.323 clause 5.2.1, for SDUs of any type.

    - An SDU gets COUNT = TX_NEXT, its PDU the SN = TX_NEXT modulo 2^bits; then TX_NEXT grows by 1.
    - The PDU goes to the leg that the split policy names; to each of several, with the same COUNT
      and in leg order, when it names several (duplication).
    - Nothing is kept: each PDU is submitted at once.

    COUNT grows without end; the standard ends it at 2^32 - 1 by renewing the keys before that.
    """

    __slots__ = ("_bytes", "_first_count", "_mask", "_pdus", "_policy", "_ready", "_tx_next")

    def __init__(
        self,
        sn_format: SnFormat,
        policy: SplitPolicy,
        *,
        legs: int,
        first_count: int = 0,  # clause 7.1: initial value of TX_NEXT
    ) -> None:
        self._policy = policy
        self._mask = sn_format.modulus - 1
        self._first_count = first_count
        self._tx_next = first_count
        self._ready: list[Pdu[T]] = []
        self._pdus = [0] * legs
        self._bytes = [0] * legs

    @property
    def tx_next(self) -> int:
        """COUNT of the next SDU (clause 7.1)."""
        return self._tx_next

    def push(self, sdu: T, size: int, now: int) -> None:
        """Take an SDU of ``size`` bytes from upper layers at ``now`` (ns)."""
        count = self._tx_next
        self._tx_next = count + 1
        for leg in self._policy.legs(size, now):
            self._ready.append(Pdu(leg, count, count & self._mask, sdu))
            self._pdus[leg] += 1
            self._bytes[leg] += size

    def poll(self, now: int) -> list[Pdu[T]]:  # noqa: ARG002  (the cores' common signature)
        """The PDUs to submit to the legs, in order of COUNT."""
        ready, self._ready = self._ready, []
        return ready

    def next_timeout(self) -> int | None:
        """None: this entity waits for nothing but ``push``."""
        return None

    def statistics(self) -> TransmitStatistics:
        """The counters so far."""
        return TransmitStatistics(
            sdus=self._tx_next - self._first_count,
            pdus=tuple(self._pdus),
            bytes=tuple(self._bytes),
        )
