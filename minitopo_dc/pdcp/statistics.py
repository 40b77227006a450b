"""Snapshots of the counters of PDCP entities; taking one changes nothing.

A series makes one for each row; frozen, they would take three times as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass, field

WAITING_BUCKETS = 24
"""Number of buckets of `WaitingTime.histogram`."""


@dataclass(slots=True)
class TransmitStatistics:
    """Counters of a transmitting entity since it was made.

    Attributes:
        sdus: COUNTs used.
        pdus: PDUs made, per leg.
        bytes: bytes of these PDUs' SDUs, without PDCP headers, per leg.
        dropped_split: SDUs of these that the split policy put on no leg.
        marked_sdus: those marked with Congestion Experienced; None where none is to be.
    """

    sdus: int
    pdus: tuple[int, ...]
    bytes: tuple[int, ...]
    dropped_split: int
    marked_sdus: int | None = field(default=None, kw_only=True)


@dataclass(slots=True)
class HoldingStatistics(TransmitStatistics):
    """Counters of a transmitting entity that follows its legs or duplicates, and a gauge.

    With late numbering every SDU pushed is in `sdus`, `waiting`, `dropped_buffer` or `discarded`,
    with early numbering in `sdus` or `dropped_buffer`.

    Attributes:
        offered: SDUs pushed.
        waiting: SDUs that wait for a leg now (gauge).
        waiting_maximum: the most there ever were.
        dropped_buffer: SDUs that found no room to wait.
        discarded: SDUs that discardTimer ended for while they waited.
        dropped_xn: PDUs that a backhaul lost, or that were taken back on their way to a lost leg.
        xn_packets: PDUs on their way to their legs now (gauge).
        resent: PDUs sent again by data recovery; they are in `pdus` and `bytes` too.
        not_resent: PDUs that it was to send again, but that were too old by then, or that the
            receiver waited for no more.
        duplicated: SDUs that selective duplication put on more legs than the split named.
        failures: how often a leg failed (`LegFailures`), per leg; None where nobody looks, as with
            the two that follow.
        failed_ns: for how long it had, all times together, up to the latest report.
        probes: copies that it got meanwhile; they are in `pdus` and `bytes` too.
    """

    offered: int
    waiting: int
    waiting_maximum: int
    dropped_buffer: int
    discarded: int
    dropped_xn: int
    xn_packets: int
    resent: int = 0
    not_resent: int = 0
    duplicated: int = 0
    failures: tuple[int, ...] | None = field(default=None, kw_only=True)
    failed_ns: tuple[int, ...] | None = field(default=None, kw_only=True)
    probes: tuple[int, ...] | None = field(default=None, kw_only=True)


@dataclass(slots=True)
class WaitingTime:
    """How long SDUs waited in the reordering buffer until they were delivered.

    SDUs that were delivered as they came are not in it. Time runs to the event that made delivery
    due (the missing PDU's arrival, the timer's end), not to the caller's next poll.

    Attributes:
        count: SDUs that waited and were delivered.
        total_ns: sum of their waiting times.
        maximum_ns: longest of them, 0 if none.
        histogram: `histogram[0]` counts waits below 1 us, `histogram[i]` those from 2^(i-1) to
            below 2^i us, the last bucket all from 2^22 us (4.2 s) on.
    """

    count: int
    total_ns: int
    maximum_ns: int
    histogram: tuple[int, ...]


@dataclass(slots=True)
class ReceiveStatistics:
    """Counters of a receiving entity since it was made, and two gauges.

    `sum(pdus) == delivered + buffered + duplicates + old` at any time.

    Attributes:
        pdus: PDUs pushed, per leg.
        delivered: SDUs delivered to upper layers (polled or ready to be).
        duplicates: PDUs discarded because their COUNT was received before.
        old: PDUs discarded because they came too late: t-Reordering had given up their COUNT, or it
            lies before the first COUNT.
        missing: COUNTs given up when t-Reordering expired; some of them may arrive later, as
            `old`.
        t_reordering_expiries: how often t-Reordering expired.
        buffered: SDUs in the reordering buffer now (gauge).
        buffered_maximum: the most there ever were.
        waiting: how long they waited there.
        t_reordering_ns: with adaptive t-Reordering, its value when it last started (gauge), before
            that its first; else None.
        missing_by_order: of `missing` what was told lost by the legs' order; None where it is not.
        delivered_bytes: of the SDUs (IP packets) that were delivered and polled, as the entity's
            driver counts them; None without one.
    """

    pdus: tuple[int, ...]
    delivered: int
    duplicates: int
    old: int
    missing: int
    t_reordering_expiries: int
    buffered: int
    buffered_maximum: int
    waiting: WaitingTime
    t_reordering_ns: int | None = field(default=None, kw_only=True)
    missing_by_order: int | None = field(default=None, kw_only=True)
    delivered_bytes: int | None = field(default=None, kw_only=True)
