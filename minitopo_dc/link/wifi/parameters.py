"""Parameters of the medium and the MAC of a WiFi leg, and what such a leg counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from minitopo_dc.link.any_leg import LegStatistics
from minitopo_dc.units import NS_PER_MS, NS_PER_US

Aggregation = Literal["a-mpdu", "a-msdu", "none"]
"""Many MPDUs in a TXOP, many packets in one MPDU, or one packet in a TXOP."""
SIFS_NS = 16 * NS_PER_US
SLOT_NS = 9 * NS_PER_US
"""SIFS and slot of OFDM with 20 MHz in the 5-GHz band (IEEE 802.11-2012, table 18-17)."""
DIFS_NS = SIFS_NS + 2 * SLOT_NS
"""IEEE 802.11-2012, clause 9.3.7."""
CW_MIN, CW_MAX = 15, 1023
"""Contention window in slots (IEEE 802.11-2012, table 18-17)."""
PREAMBLE_NS = 40 * NS_PER_US
"""HT-mixed preamble with two training fields: 8 + 8 + 4 + 8 + 4 + 2 x 4 us (IEEE 802.11-2012,
clause 20.3.9). With one, as one stream needs, it is 4 us shorter."""
BLOCK_ACK_NS = 32 * NS_PER_US
"""Compressed BlockAck, 32 bytes at 24 Mbit/s: 20 us of preamble and three symbols of 4 us."""
LLC_BYTES, MAC_BYTES, FCS_BYTES, DELIMITER_BYTES = 8, 26, 4, 4
"""LLC and SNAP (RFC 1042), QoS data header, FCS, A-MPDU delimiter (IEEE 802.11-2012, 8.2, 8.6)."""
SUBFRAME_BYTES = 14
"""Header of an A-MSDU's subframe (IEEE 802.11-2012, clause 8.3.2.2)."""
RATE_BPS = 65_000_000
"""MCS 7: one stream, 20 MHz, long guard interval (IEEE 802.11-2012, table 20-30)."""
MAX_MPDUS, MAX_BYTES = 64, 65_535
"""Of an A-MPDU, and the window of its BlockAck (IEEE 802.11-2012, clauses 8.6.1 and 9.21)."""
PPDU_NS = 10 * NS_PER_MS
"""aPPDUMaxTime (IEEE 802.11-2012, table 20-25)."""
AMSDU_BYTES = 3839
"""The smaller of 802.11n's two limits, 3839 and 7935 bytes (IEEE 802.11-2012, clause 8.4.2.58)."""
AMSDU_WAIT_NS = NS_PER_MS
"""This project's choice: the standard has no value, and drivers differ."""
RETRIES = 7
"""dot11ShortRetryLimit's default (IEEE 802.11-2012, annex C)."""


@dataclass(frozen=True, slots=True)
class ErrorBursts:
    """Bursts of errors of a direction: states Good and Bad, a Markov chain with a step per TXOP.

    A TXOP has the state that it finds, then the state may change; the first one finds Good.

    Attributes:
        p: probability to go from Good to Bad.
        r: from Bad to Good.
        bad: probability that a transmission of an MPDU fails in Bad; in Good it is `mpdu_error`.

    Raises:
        ValueError: naming the one that is no probability.
    """

    p: float
    r: float
    bad: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a value that is no probability with a ValueError."""
        for name in ("p", "r", "bad"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} = {getattr(self, name)} (allowed: a probability, 0 to 1)")

    @property
    def bad_share(self) -> float:
        """Return the share of TXOPs in Bad in the long run, 0 to 1."""
        return self.p / (self.p + self.r) if self.p else 0.0


@dataclass(frozen=True, slots=True)
class WifiParameters:
    """Parameters of both directions' medium and MAC; each default's source is at its constant.

    Attributes:
        rate_bps: of MPDUs; preamble and BlockAck have times of their own.
        aggregation: `a-mpdu` takes what waits, `a-msdu` waits for more, `none` neither.
        max_mpdus: MPDUs in an A-MPDU at most, and how far one may be ahead of the first that is
            not acknowledged.
        max_bytes: of an A-MPDU at most.
        ppdu_ns: preamble and MPDUs last so long at most; one MPDU is always sent.
        amsdu_bytes: of an A-MSDU at most.
        amsdu_wait_ns: an A-MSDU that is not full is sent when its first packet has waited so long.
        mpdu_error: probability that a transmission of an MPDU fails, without a collision.
        error_bursts: when it is another one, if ever.
        retries: an MPDU is dropped after so many transmissions beyond the first.
        load: part of the time that others' transmissions would take, had they the medium alone.
        stations: how many others there are, each with its part of `load`.

    Raises:
        ValueError: naming the one that is wrong, and what is allowed.
    """

    rate_bps: int = RATE_BPS
    aggregation: Aggregation = "a-mpdu"
    max_mpdus: int = MAX_MPDUS
    max_bytes: int = MAX_BYTES
    ppdu_ns: int = PPDU_NS
    amsdu_bytes: int = AMSDU_BYTES
    amsdu_wait_ns: int = AMSDU_WAIT_NS
    mpdu_error: float = 0.0
    error_bursts: ErrorBursts | None = None
    retries: int = RETRIES
    load: float = 0.0
    stations: int = 1

    def __post_init__(self) -> None:
        """Refuse a value out of range with a ValueError that names the field."""
        if self.aggregation not in get_args(Aggregation):
            allowed = ", ".join(get_args(Aggregation))
            raise ValueError(f"aggregation = {self.aggregation} (allowed: {allowed})")
        for name in ("rate_bps", "max_mpdus", "max_bytes", "ppdu_ns", "amsdu_bytes", "stations"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} (allowed: 1 or more)")
        for name in ("amsdu_wait_ns", "retries"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} = {getattr(self, name)} (allowed: 0 or more)")
        if not 0.0 <= self.mpdu_error <= 1.0:
            raise ValueError(f"mpdu_error = {self.mpdu_error} (allowed: a probability, 0 to 1)")
        if not 0.0 <= self.load < 1.0:
            raise ValueError(f"load = {self.load} (allowed: 0 or more, below 1)")

    @property
    def mean_mpdu_error(self) -> float:
        """Return the mean MPDU error in the long run, if TXOPs are equally long."""
        if self.error_bursts is None:
            return self.mpdu_error
        share = self.error_bursts.bad_share
        return share * self.error_bursts.bad + (1 - share) * self.mpdu_error


@dataclass(frozen=True, slots=True)
class WifiStatistics(LegStatistics):
    """Counters of a WiFi leg: those of every leg, and those of its MAC.

    `pushed_packets` is the sum of every leg's counters with `dropped_radio` more. `queue_packets`
    are those that were in no TXOP yet, `air_packets` those that were and have not arrived: being
    sent, to be sent again, waiting for their order, or in propagation.

    Attributes:
        dropped_radio: packets given up after the last retry of their MPDU.
        txops: times that this direction had the medium, collisions included.
        collisions: how many of them collided.
        mpdus: transmissions of MPDUs.
        mpdu_retransmissions: those of them that were not an MPDU's first.
        mpdus_max: most MPDUs in one TXOP.
        airtime_ns: of this direction, from its preambles to the ends of its BlockAcks; collisions
            are not in it.
        medium_idle_ns: of both directions and others together: nobody wants the medium.
        medium_contention_ns: somebody waits for DIFS and back-off.
        medium_collision_ns: several sent at once.
        medium_foreign_ns: others sent.
    """

    dropped_radio: int
    txops: int
    collisions: int
    mpdus: int
    mpdu_retransmissions: int
    mpdus_max: int
    airtime_ns: int
    medium_idle_ns: int
    medium_contention_ns: int
    medium_collision_ns: int
    medium_foreign_ns: int
