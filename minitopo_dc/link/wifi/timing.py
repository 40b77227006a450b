"""Durations on a WiFi medium, and the throughput that follows from them: arithmetic only."""

from __future__ import annotations

from minitopo_dc.link.wifi.parameters import (
    BLOCK_ACK_NS,
    CW_MIN,
    DELIMITER_BYTES,
    DIFS_NS,
    FCS_BYTES,
    LLC_BYTES,
    MAC_BYTES,
    PREAMBLE_NS,
    SIFS_NS,
    SLOT_NS,
    SUBFRAME_BYTES,
    WifiParameters,
)
from minitopo_dc.units import NS_PER_S

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


def goodput_bps(
    parameters: WifiParameters,
    mpdus: int,
    *,
    data: int,
    payload: int,
    acknowledgement: int,
    packets_per_acknowledgement: int = 2,
) -> float:
    """Return a download's goodput (bit/s) without errors, collisions and other stations.

    Data and acknowledgements have as many MPDUs in a TXOP as fit each other: `mpdus` packets of
    data, then the acknowledgements of them all; with fewer packets than one acknowledges, several
    TXOPs of data and one acknowledgement.

    Args:
        parameters: the medium's.
        mpdus: packets of data in a TXOP.
        data: bytes of an IP packet with data.
        payload: bytes of it that count.
        acknowledgement: bytes of an IP packet that acknowledges.
        packets_per_acknowledgement: how many it acknowledges.
    """
    txops = max(1, -(-packets_per_acknowledgement // mpdus))
    packets = txops * mpdus
    acknowledgements = max(1, packets // packets_per_acknowledgement)
    duration = txops * exchange_ns(parameters, mpdus, data)
    duration += exchange_ns(parameters, acknowledgements, acknowledgement)
    return packets * payload * 8 * NS_PER_S / duration


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
