"""Parameters of a WiFi medium, its counters, and the durations that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from minitopo_dc.link.any_leg import LegStatistics
from minitopo_dc.units import NS_PER_MS, NS_PER_S, NS_PER_US, check_within

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
        check_within(self, 0, 1, "p", "r", "bad")


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
        if self.aggregation not in get_args(Aggregation):
            allowed = ", ".join(get_args(Aggregation))
            raise ValueError(f"aggregation = {self.aggregation} (allowed: {allowed})")
        positive = "rate_bps", "max_mpdus", "max_bytes", "ppdu_ns", "amsdu_bytes", "stations"
        check_within(self, 1, math.inf, *positive)
        check_within(self, 0, math.inf, "amsdu_wait_ns", "retries")
        check_within(self, 0, 1, "mpdu_error")
        check_within(self, 0, math.nextafter(1, 0), "load")

    @property
    def mean_mpdu_error(self) -> float:
        """Return the mean MPDU error in the long run, if TXOPs are equally long."""
        bursts = self.error_bursts
        if bursts is None or not bursts.p:
            return self.mpdu_error
        share = bursts.p / (bursts.p + bursts.r)  # of TXOPs in Bad
        return share * bursts.bad + (1 - share) * self.mpdu_error


@dataclass(slots=True)
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


MPDU_BYTES = MAC_BYTES + FCS_BYTES + DELIMITER_BYTES
"""Bytes of an MPDU besides what it carries."""
MEAN_ACCESS_NS = DIFS_NS + CW_MIN * SLOT_NS // 2
"""DIFS and the mean first back-off: who is alone waits so long for the medium."""
LARGE_PACKET_BYTES = 1500
"""Ethernet's MTU: what a leg's capacity is counted in."""


def carried_bytes(parameters: WifiParameters, packet: int) -> int:
    """Return the bytes that a packet of `packet` bytes takes inside an MPDU."""
    header = SUBFRAME_BYTES if parameters.aggregation == "a-msdu" else 0
    return packet + LLC_BYTES + header


def ppdu_ns(parameters: WifiParameters, mpdus_bytes: int) -> int:
    """Return the duration (ns) of the preamble and of MPDUs of so many bytes together."""
    return PREAMBLE_NS - (-mpdus_bytes * 8 * NS_PER_S // parameters.rate_bps)


def transmission_ns(parameters: WifiParameters, mpdus_bytes: int) -> int:
    """Return the duration (ns) of a TXOP, from its preamble to the end of the BlockAck."""
    return ppdu_ns(parameters, mpdus_bytes) + SIFS_NS + BLOCK_ACK_NS


def exchange_ns(parameters: WifiParameters, packets: int, packet: int) -> int:
    """Return the duration (ns) of a TXOP of equal packets, with the mean wait for the medium."""
    return MEAN_ACCESS_NS + transmission_ns(parameters, _bytes(parameters, packets, packet))


def saturated_bps(parameters: WifiParameters, packet: int = LARGE_PACKET_BYTES) -> int:
    """Return what one direction carries (IP bit/s) that is never idle, the opposite one being idle.

    Whoever is never idle has as many TXOPs as everybody else who is, however long: so others get
    their load, but not more than one packet each for every TXOP of the direction. One of them who
    has a packet by then collides with it with Bianchi's probability for windows that never double,
    2 / (CWmin + 2) (IEEE JSAC 18 (2000) 535, equation 8): with several others that is too often.
    """
    packets = _most_packets(parameters, packet)
    own, other = exchange_ns(parameters, packets, packet), foreign_ns(parameters)
    others = parameters.stations * other
    share = min(parameters.load, others / (own + others))
    waiting = min(1.0, parameters.load * own / others)
    alone = (1 - waiting * 2 / (CW_MIN + 2)) ** parameters.stations
    received = alone * (1 - parameters.mean_mpdu_error)
    return round(packets * packet * 8 * NS_PER_S / own * received * (1 - share))


def foreign_ns(parameters: WifiParameters) -> int:
    """Return the duration (ns) of another station's TXOP: one packet of 1,500 bytes."""
    single = MPDU_BYTES + LLC_BYTES + LARGE_PACKET_BYTES
    return transmission_ns(parameters, single)


def _most_packets(parameters: WifiParameters, packet: int) -> int:
    """Return how many packets of one size a TXOP has at most."""
    if parameters.aggregation == "none":
        return 1
    if parameters.aggregation == "a-msdu":
        return max(1, parameters.amsdu_bytes // carried_bytes(parameters, packet))
    most = min(parameters.max_mpdus, parameters.max_bytes // _bytes(parameters, 1, packet))
    while most > 1 and ppdu_ns(parameters, _bytes(parameters, most, packet)) > parameters.ppdu_ns:
        most -= 1
    return max(1, most)


def _bytes(parameters: WifiParameters, packets: int, packet: int) -> int:
    """Return the bytes of all MPDUs of a TXOP."""
    mpdus = 1 if parameters.aggregation == "a-msdu" else packets
    return mpdus * MPDU_BYTES + packets * carried_bytes(parameters, packet)
