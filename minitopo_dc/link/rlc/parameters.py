"""Parameters of a leg's RLC and HARQ, TDD patterns, and what RLC and HARQ count.

A TDD pattern says which slots of a period a direction has; of it follow HARQ's round trips and
waits. It is a text with a letter a slot: `D` is downlink, `U` uplink, and `S` the special slot
between them, of whose symbols the downlink, the uplink or neither may carry data (TS 38.213, clause
11.1; LTE's configurations of TS 36.211, table 4.2-2). It repeats without end. FDD is a pattern of
one slot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal, get_args

from minitopo_dc.link.any_leg import LegStatistics
from minitopo_dc.units import NS_PER_MS, check_within

RlcMode = Literal["am", "um"]
"""Acknowledged and unacknowledged mode of TS 38.322 (clause 4.2.1)."""
SLOT_NS = NS_PER_MS
"""LTE's subframe, which is its TTI (TS 36.211, clause 4), and NR's slot at 15 kHz (TS 38.211)."""
BLOCK_ERROR = 0.1
"""What link adaptation aims at: a CQI is the best whose blocks fail with at most 0.1 (TS 36.213,
clause 7.2.3; TS 38.214, clause 5.2.2.1)."""
HARQ_RTT_NS = 8 * NS_PER_MS
"""LTE with FDD: acknowledged four subframes later, sent again four later (TS 36.213, clauses 7
and 8)."""
HARQ_RETRANSMISSIONS = 4
"""maxHARQ-Tx n5, five transmissions, of LTE's default MAC configuration (TS 36.331, clause
9.2.2)."""
STATUS_NS = 45 * NS_PER_MS
"""t-PollRetransmit of the default configuration of a signalling bearer (TS 38.331, clause 9.2.1).
Its t-Reassembly of 35 ms with the report's way back takes about as long."""
STATUS_PROHIBIT_NS = 10 * NS_PER_MS
"""t-StatusProhibit of the default bearer of a captured NR network, and of srsRAN Project."""
STATUS_BYTES = 3 + 2
"""A STATUS PDU without a NACK (TS 38.322, clause 6.2.2.5), and MAC's subheader (TS 38.321, clause
6.1.2)."""
NACK_BYTES = 3 + 4 + 1
"""A NACK in it of several SDUs, the first or last of which lacks a segment: NACK_SN of 18 bits,
SOstart and SOend, and NACK range."""
MAX_RETX_THRESHOLD = 8
"""maxRetxThreshold t8 of that same configuration."""

SYMBOLS = 14
"""OFDM symbols of a slot with the normal cyclic prefix (TS 38.211, table 4.3.2-1)."""
MAX_SLOTS = 160
"""The slots at 240 kHz of 10 ms, the longest period (dl-UL-TransmissionPeriodicity, TS 38.331)."""
SlotsOf = Literal["D", "U"]


@dataclass(frozen=True)
class TddPattern:
    """The slots of a pattern that one direction has.

    Attributes:
        slots: the pattern, e.g. `DDDSU`; one letter is FDD.
        of: `D` for the downlink, `U` for the uplink.
        special: symbols of `S` that carry data of the downlink, and of the uplink.
        ue_slots: the least k1 of a downlink (from a block to its HARQ-ACK), or k2 of an uplink
            (from a grant to its block), in slots (TS 38.213, clause 9.2.3; TS 38.214, clause
            6.1.2).
        gnb_slots: the least slots that the base station takes from what it receives to what it
            sends of it: another transmission, or a grant for one.

    Raises:
        ValueError: a letter that is none, or a pattern in which a direction has no slot.
    """

    slots: str = "D"
    of: SlotsOf = "D"
    special: tuple[int, int] = (10, 0)
    ue_slots: int = 4
    gnb_slots: int = 3

    def __post_init__(self) -> None:
        """Refuse a pattern with which nothing could be sent or acknowledged."""
        if set(self.slots) - set("DSU") or not self.slots:
            raise ValueError(f"{self.slots}: allowed: letters D, S and U, one a slot")
        if len(self.slots) > MAX_SLOTS:
            raise ValueError(f"{len(self.slots)} slots; allowed: {MAX_SLOTS} at most")
        if not self.is_fdd and not {"D", "U"} <= set(self.slots):
            raise ValueError(f"{self.slots}: allowed: patterns with a D and a U")

    @property
    def is_fdd(self) -> bool:
        """Return whether both directions have every slot."""
        return len(self.slots) == 1

    @cached_property
    def symbols(self) -> tuple[int, ...]:
        """Return the symbols of each slot that carry data of this direction."""
        down, up = self.special
        own = {self.of: SYMBOLS, "S": down if self.of == "D" else up}
        return (SYMBOLS,) if self.is_fdd else tuple(own.get(slot, 0) for slot in self.slots)

    @property
    def share(self) -> float:
        """Return the share of all symbols that carry data of this direction."""
        return sum(self.symbols) / (SYMBOLS * len(self.slots))

    @property
    def largest(self) -> float:
        """Return what the largest slot carries, in slots of the mean over the pattern."""
        return len(self.slots) * max(self.symbols) / sum(self.symbols)

    @cached_property
    def before(self) -> tuple[int, ...]:
        """Return how many of its symbols lie before each slot of a period, and in the whole."""
        return tuple(accumulate(self.symbols, initial=0))

    @cached_property
    def skips(self) -> tuple[int, ...]:
        """Return from each slot how many slots it is to the first one that carries data."""
        has = [bool(symbols) for symbols in self.symbols]
        return tuple((has[n:] + has).index(True) for n in range(len(has)))

    @cached_property
    def rounds(self) -> tuple[int, ...]:
        """Return from each slot after how many slots a block in it may be sent again, at least.

        Of a downlink: its HARQ-ACK is in the first U that k1 allows, and the base station sends
        again later. Of an uplink: the grant is in the first D or S that the base station can have,
        and the terminal sends again in the first slot that k2 allows.
        """
        waits = (self.ue_slots, self.gnb_slots)
        kinds = ("U", "DS")
        if self.of == "U":
            waits, kinds = waits[::-1], kinds[::-1]
        return tuple(self._round(slot, waits, kinds) for slot in range(len(self.slots)))

    def request_slots(self, *, grants: int = 1) -> int:
        """Return from a scheduling request in `request_slot` how many slots it is to its data.

        Args:
            grants: 2 if the first one has room for a buffer status report alone.
        """
        sent = self.request_slot
        for _ in range(grants):
            sent += self._round(sent, (self.gnb_slots, self.ue_slots), ("DS", "U"))
        return sent - self.request_slot

    @property
    def request_slot(self) -> int:
        """Return the first U of the pattern, in which a scheduling request is sent."""
        return max(0, self.slots.find("U"))

    def mean_wait_slots(self) -> float:
        """Return the mean time from any moment to the begin of the next slot that carries data.

        In slots: of gaps g between the begins of such slots in a period T it is sum g^2 / 2T.
        """
        starts = [n for n, symbols in enumerate(self.symbols) if symbols]
        following = [*starts[1:], starts[0] + len(self.slots)]
        gaps = [later - start for start, later in zip(starts, following, strict=True)]
        return sum(gap * gap for gap in gaps) / (2 * len(self.slots))

    def mean_round_slots(self) -> float:
        """Return the mean of `rounds` over the symbols of this direction."""
        weighed = zip(self.rounds, self.symbols, strict=True)
        return sum(slots * symbols for slots, symbols in weighed) / sum(self.symbols)

    def _round(self, slot: int, waits: Sequence[int], kinds: Sequence[str]) -> int:
        moment = slot
        for wait, kind in zip(waits, kinds, strict=True):
            moment = self._first(kind, moment + wait)
        return moment - slot

    def _first(self, kinds: str, slot: int) -> int:
        if self.is_fdd:
            return slot
        return next(n for n in range(slot, slot + len(self.slots)) if self._kind(n) in kinds)

    def _kind(self, slot: int) -> str:
        return self.slots[slot % len(self.slots)]


@dataclass(frozen=True, slots=True)
class Drx:
    """When a terminal listens in connected mode (TS 38.321, clause 5.7; TS 36.321, clause 5.7).

    It does for `inactivity_ns` after the begin of each new block; then for `on_ns` of each cycle,
    first of `short_cycles` short ones, if any, then of long ones. Cycles begin with the pattern.

    Raises:
        ValueError: naming the one that is wrong, and what is allowed.
    """

    on_ns: int
    inactivity_ns: int
    cycle_ns: int
    short_ns: int = 0
    short_cycles: int = 0

    def __post_init__(self) -> None:
        check_within(self, 1, min(self.cycle_ns, self.short_ns or self.cycle_ns), "on_ns")

    def listens(self, time: int, active: int) -> int:
        """Return when it listens from `time` on; both times are ns from the begin of a cycle.

        Args:
            time: the moment.
            active: the begin of the latest new block of either direction.
        """
        asleep = active + self.inactivity_ns
        if time < asleep:
            return time
        changes = asleep + self.short_ns * self.short_cycles
        if time < changes:
            moment = self._on(time, self.short_ns)
            if moment < changes:
                return moment
        return self._on(max(time, changes), self.cycle_ns)

    def _on(self, time: int, cycle: int) -> int:
        into = time % cycle
        return time if into < self.on_ns else time - into + cycle


@dataclass(frozen=True, slots=True)
class RlcParameters:
    """RLC and HARQ of one direction; each default's source is with its constant.

    Attributes:
        mode: `am` retransmits what HARQ gave up, `um` does not.
        slot_ns: length of a slot.
        block_error: probability that one transmission of a block cannot be decoded. It is the same
            for each: gains of combining transmissions are not modelled.
        harq_rtt_ns: from the beginning of a failed transmission to that of the next one.
        harq_retransmissions: at most so many of a block, then HARQ gives up.
        status_ns: from the slot by which the receiver knows that it lacks a block, as it has a
            later one, to when its report has told (t-Reassembly and the report's way); never before
            HARQ has given up. If nothing later arrives: from the latest new block on
            (t-PollRetransmit). What is lost again is told at most `status_prohibit_ns` later.
        status_prohibit_ns: between status reports at least (t-StatusProhibit); each takes
            `STATUS_BYTES` of the other direction, and `NACK_BYTES` more for each block that HARQ
            has given up since the last one.
        max_retx_threshold: at most so many retransmissions of an SDU by RLC. The standard declares
            radio link failure then (TS 38.331, clause 5.3.10.3); here the SDU is lost.
        in_order: True: SDUs are delivered in order, as by LTE's RLC (TS 36.322, clause 5.1.3.2.1).
            False: each when it is complete, as by NR's (TS 38.322), where PDCP reorders.
        discard_ns: an SDU is dropped when nothing of it was sent for so long (discardTimer of
            TS 38.323, clause 5.3); None: never.
        tdd: the slots that this direction has, and HARQ's round trips by slot in place of
            `harq_rtt_ns`; None: every slot. The capacity is the mean over the pattern.
        phase_ns: how far the slots and the pattern have got when the leg starts.
        sr_ns: from one occasion of a scheduling request to the next (TS 38.213, clause 9.2.4), for
            which a packet waits that finds nothing under way; 0: there is always one.
        drx: when the terminal of a downlink listens; None: always.
        header_bytes: of PDCP, RLC and MAC, which each packet has beside its own.

    Raises:
        ValueError: naming the one that is wrong, and what is allowed.
    """

    mode: RlcMode = "am"
    slot_ns: int = SLOT_NS
    block_error: float = BLOCK_ERROR
    harq_rtt_ns: int = HARQ_RTT_NS
    harq_retransmissions: int = HARQ_RETRANSMISSIONS
    status_ns: int = STATUS_NS
    status_prohibit_ns: int = STATUS_PROHIBIT_NS
    max_retx_threshold: int = MAX_RETX_THRESHOLD
    in_order: bool = True
    discard_ns: int | None = None
    tdd: TddPattern | None = None
    phase_ns: int = 0
    sr_ns: int = 0
    drx: Drx | None = None
    header_bytes: int = 0

    def __post_init__(self) -> None:
        if self.mode not in get_args(RlcMode):
            raise ValueError(f"mode = {self.mode} (allowed: {', '.join(get_args(RlcMode))})")
        check_within(self, 0, 1, "block_error")
        check_within(self, 1, math.inf, "slot_ns", "max_retx_threshold", "discard_ns")
        check_within(self, self.slot_ns, math.inf, "harq_rtt_ns")
        times = "status_ns", "status_prohibit_ns", "phase_ns", "sr_ns"
        check_within(self, 0, math.inf, *times, "harq_retransmissions", "header_bytes")

    @property
    def acknowledged(self) -> bool:
        """Return whether RLC sends again what HARQ gave up."""
        return self.mode == "am"

    def slot_lead_ns(self) -> int:
        """Return in what time (ns) the mean rate passes what two of the largest slots carry.

        These are the slot that is sent and the next, which has to be filled beforehand.
        """
        return round(2 * self.slot_ns * (self.tdd or TddPattern()).largest)

    def mean_wait_ns(self) -> int:
        """Return the mean delay (ns) of HARQ for what it delivers, and of the pattern's waits.

        The half slot that a packet waits with FDD, too, does not count.
        """
        decoded = [self.block_error**k for k in range(self.harq_retransmissions + 1)]
        mean = sum(k * share for k, share in enumerate(decoded)) / sum(decoded)
        if self.tdd is None:
            return round(mean * self.harq_rtt_ns)
        slots = mean * self.tdd.mean_round_slots() + self.tdd.mean_wait_slots() - 0.5
        return round(slots * self.slot_ns)


@dataclass(slots=True)
class RlcStatistics(LegStatistics):
    """Counters of a leg with RLC: those of every leg, and those of RLC and HARQ.

    `pushed_packets` is the sum of every leg's counters with two kinds of drops more.
    `queue_packets` are those that were not sent once, `air_packets` those that were and have not
    arrived: in HARQ, missing at the receiver, waiting for their order, or in propagation.

    Attributes:
        dropped_discard: SDUs whose discardTimer expired.
        dropped_radio: SDUs given up after HARQ's last try (UM) or RLC's (AM).
        blocks: transport blocks, each counted once.
        harq_retransmissions: transmissions of blocks but for each one's first.
        harq_failures: blocks that HARQ gave up.
        rlc_retransmissions: segments that RLC put into a new block.
    """

    dropped_discard: int
    dropped_radio: int
    blocks: int
    harq_retransmissions: int
    harq_failures: int
    rlc_retransmissions: int
