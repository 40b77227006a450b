"""TDD patterns: which slots of a period a direction has, and what follows for HARQ and for waits.

A pattern is a text with a letter a slot: `D` is downlink, `U` uplink, and `S` the special slot
between them, of whose symbols the downlink, the uplink or neither may carry data (TS 38.213, clause
11.1; LTE's configurations of TS 36.211, table 4.2-2). It repeats without end. FDD is a pattern of
one slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

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
