"""LTE and NR carriers by the names of radio engineers, and the plain legs that they are.

A carrier says what an engineer knows of it: its band and width, the TDD pattern, layers and the
quality of the channel. `fields` turns that into fields of a leg, each with a source in `SOURCES`.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import Field, ValidationError, model_validator

from minitopo_dc.fields.base import Settings, describe, quoted
from minitopo_dc.fields.ranges import Milliseconds, Percent
from minitopo_dc.link.rlc.parameters import SYMBOLS, SlotsOf, TddPattern
from minitopo_dc.scenario.layer2 import DrxSettings, HarqSlots

PRB: Final[Mapping[tuple[bool, int], Mapping[int, int]]] = {
    (False, 15): {5: 25, 10: 52, 15: 79, 20: 106, 25: 133, 30: 160, 40: 216, 50: 270},
    (False, 30): {10: 24, 20: 51, 30: 78, 40: 106, 50: 133, 60: 162, 80: 217, 90: 245, 100: 273},
    (True, 120): {50: 32, 100: 66, 200: 132, 400: 264},
}
"""Resource blocks of a width in MHz, by whether the band is in FR2 and its subcarrier spacing in
kHz (TS 38.104, tables 5.3.2-1 and 5.3.2-2)."""
DIRECTIONS: Final[tuple[SlotsOf, ...]] = get_args(SlotsOf)
Index = Literal["cqi", "mcs"]
"""What tells of a channel: what the terminal reports, or what the base station chooses."""
NR_BITS: Final[Mapping[Index, tuple[float, ...]]] = {
    "cqi": (
        *(0.0, 0.1523, 0.377, 0.877, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223),
        *(3.9023, 4.5234, 5.1152, 5.5547, 6.2266, 6.9141, 7.4063),
    ),
    "mcs": (
        *(0.2344, 0.377, 0.6016, 0.877, 1.1758, 1.4766, 1.6953, 1.9141, 2.1602, 2.4063),
        *(2.5703, 2.7305, 3.0293, 3.3223, 3.6094, 3.9023, 4.2129, 4.5234, 4.8164, 5.1152),
        *(5.332, 5.5547, 5.8906, 6.2266, 6.5703, 6.9141, 7.1602, 7.4063),
    ),
}
"""Bits per symbol and layer with up to 256QAM, by CQI and MCS (TS 38.214, tables 5.2.2.1-3 and
5.1.3.1-2); CQI 0 is out of range."""
LTE_CQI_BITS: Final = (
    *(0.1523, 0.2344, 0.377, 0.6016, 0.877, 1.1758, 1.4766, 1.9141),
    *(2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152, 5.5547),
)
"""The same of LTE's CQI 1 to 15 with up to 64QAM (TS 36.213, table 7.2.3-1)."""
LTE_BLOCKS: Final = {5: 25, 10: 50, 15: 75, 20: 100}
"""Resource blocks of a width in MHz (TS 36.101, table 5.6-1)."""
LTE_SYMBOLS: Final = 120
"""Of a resource block in 1 ms beside three symbols of control and two antennas' reference signals
(TS 36.211, clauses 6.7 and 6.10.1): 12 x 11, less 12."""
OVERHEAD: Final = {("D", False): 0.14, ("U", False): 0.08, ("D", True): 0.18, ("U", True): 0.10}
"""The part of a carrier's symbols that control and reference signals take, by direction and
whether the band is in FR2 (TS 38.306, clause 4.1.2)."""
TBS: Final[Mapping[float, str]] = {
    5: "680 904 1096 1416 1800 2216 2600 3112 3496 4008 4392 4968 5736 6456 7224 7736 7992 9144 "
    "9912 10680 11448 12576 13536 14112 15264 15840 18336",
    10: "1384 1800 2216 2856 3624 4392 5160 6200 6968 7992 8760 9912 11448 12960 14112 15264 16416 "
    "18336 19848 21384 22920 25456 27376 28336 30576 31704 36696",
    15: "2088 2728 3368 4392 5352 6712 7736 9144 10680 11832 12960 15264 16992 19080 21384 22920 "
    "24496 27376 29296 32856 35160 37888 40576 43816 45352 46888 55056",
    20: "2792 3624 4584 5736 7224 8760 10296 12216 14112 15840 17568 19848 22920 25456 28336 30576 "
    "32856 36696 39232 43816 46888 51024 55056 57336 61664 63776 75376",
}
"""Bits of a transport block of one layer that has all resource blocks of a width in MHz, by I_TBS 0
to 26 (TS 36.213, table 7.1.7.2.1-1)."""
LAST_MCS: Final = 28
LAST_OF_QPSK, LAST_OF_16QAM = {"D": 9, "U": 10}, {"D": 16, "U": 20}
"""The last MCS of a modulation, at which I_TBS stays behind by one more (TS 36.213, tables
7.1.7.1-1 and 8.6.1-1)."""
FR2: Final = frozenset(("n257", "n258", "n260", "n261"))
FR1_TDD: Final = frozenset(("n38", "n40", "n41", "n48", "n77", "n78", "n79"))
FDD: Final = frozenset(("n1", "n3", "n5", "n7", "n8", "n20", "n25", "n28", "n66", "n71"))
"""Bands (TS 38.101-1, table 5.2-1; TS 38.101-2, table 5.2-1)."""
NR_HEADERS, LTE_HEADERS = 3 + 3 + 3, 2 + 2 + 3
"""Bytes of headers of a packet of more than 255 bytes: PDCP and RLC (AM) with 18 bits of SN, MAC
(TS 38.323, TS 38.322, TS 38.321, clause 6 of each); PDCP with 12, RLC with 10 bits (TS 36.323, TS
36.322, TS 36.321)."""
SHORT_S: Final = ("DDDDDDDSUU", "DDDSUUDDDD")
"""Patterns whose S has 6 symbols of the downlink in networks; others have 10."""
Cqi = Annotated[float, Field(ge=1, le=15)]
Mcs = Annotated[int, Field(ge=0, le=LAST_MCS)]


class Carrier(Settings):
    """What NR and LTE carriers have in common."""

    core_ms: Milliseconds = 5.0
    """The one-way delay between base station and server."""
    block_error_percent: Percent = 10.0
    """The target of link adaptation (TS 38.214, clause 5.2.2.1; TS 36.213, clause 7.2.3)."""
    sr_ms: Milliseconds = 10.0
    """The period of scheduling requests; 0: a grant is there beforehand (a proactive grant)."""
    grants: Literal[1, 2] = 1
    """2: the first grant carries a buffer status report alone, and the packet waits for another."""
    phase_ms: Milliseconds = 0.0
    """How far slots and pattern have got at the start; cells of one operator have the same."""
    drx: DrxSettings | None = None
    """Connected-mode DRX; none: the terminal always listens."""

    def rate_mbps(
        self, of: SlotsOf, kind: Index, index: float, layers: float | None = None
    ) -> float:
        """Return the rate (Mbit/s) that an index stands for, between two in proportion.

        Layers are the carrier's own without others. ValueError with what is wrong and what is
        allowed: there is no such index.
        """
        of_index = self._layer_mbps(of, kind)
        if not 0 <= index <= len(of_index) - 1:
            raise ValueError(f"{kind} {index:g}", f"0 to {len(of_index) - 1}")
        low = int(index)
        high = min(low + 1, len(of_index) - 1)
        one = of_index[low] + (index - low) * (of_index[high] - of_index[low])
        return one * (self._layers(of) if layers is None else layers)

    @abstractmethod
    def _layer_mbps(self, of: SlotsOf, kind: Index) -> Sequence[float]:
        """Return the rate (Mbit/s) of a layer by its CQI or MCS, from 0 on."""

    @abstractmethod
    def _layers(self, of: SlotsOf) -> int:
        """Return the layers of a direction."""

    @abstractmethod
    def pattern(self, of: SlotsOf) -> TddPattern:
        """Return the slots of one direction."""

    @abstractmethod
    def _rlc(self, of: SlotsOf) -> dict[str, Any]:
        """Return what the RLC of a direction has of its own."""

    def _fields(
        self, kind: Index, indices: tuple[float, float], queues: tuple[int, int], slot_ms: float
    ) -> dict[str, dict[str, Any]]:
        """Return the fields of a leg that is this carrier, by its directions.

        The indices and the queues (packets) are of the downlink and of the uplink.
        """
        of_both: dict[str, Any] = {
            "mode": "am",
            "block_error_percent": self.block_error_percent,
            "harq_retransmissions": 4,
            "max_retx_threshold": 32,
            "phase_ms": self.phase_ms,
        }
        ways: list[dict[str, Any]] = []
        for of, index, queue in zip(DIRECTIONS, indices, queues, strict=True):
            drx = {"drx": self.drx} if self.drx and of == "D" else {}
            rate_mbps = round(self.rate_mbps(of, kind, index), 1)
            rlc = of_both | drx | self._rlc(of)
            ways.append({"rate_mbps": rate_mbps, "queue_packets": queue, "rlc": rlc})
        down, up = ways
        if self.sr_ms:
            up["rlc"]["sr_ms"] = self.sr_ms
            up["grant_ms"] = slot_ms * self.pattern("U").request_slots(grants=self.grants)
        return {"downlink": down | self.propagation(), "uplink": up}

    def propagation(self) -> dict[str, Any]:
        """Return what an uplink has from its downlink, unless it says otherwise."""
        return {"delay_ms": self.core_ms, "jitter_ms": 0.0}


class NrCarrier(Carrier):
    """An NR carrier; by default 100 MHz of n78, the width that operators in Europe have."""

    kind: Literal["nr"] = "nr"
    band: str = "n78"
    bandwidth_mhz: int = 100
    scs_khz: Literal[15, 30, 120] | None = None
    """The subcarrier spacing; None: 15 of FDD bands, 30 of TDD bands below 7 GHz, 120 above."""
    tdd: str | None = None
    """The pattern of a TDD band; None: DDDSU. FDD bands have none."""
    layers: Annotated[int, Field(ge=1, le=8)] | None = None
    """Of the downlink; None: 4 below 7 GHz, 2 above."""
    cqi: Cqi | None = None
    """The CQI of the downlink with up to 256QAM; None: 8 below 7 GHz, 7 above."""
    uplink_layers: Annotated[int, Field(ge=1, le=4)] = 1
    uplink_cqi: Cqi = 10.0
    ue_slots: HarqSlots | None = None
    """The least k1 and k2; None: 4, and 8 at 120 kHz."""
    gnb_slots: HarqSlots | None = None
    """The base station's time; None: 3, and 6 at 120 kHz."""

    @property
    def is_fr2(self) -> bool:
        """Return whether the band is above 24 GHz."""
        return self.band in FR2

    def _layers(self, of: SlotsOf) -> int:
        return (self.layers or (2 if self.is_fr2 else 4)) if of == "D" else self.uplink_layers

    @property
    def spacing_khz(self) -> int:
        """Return the subcarrier spacing in kHz."""
        return self.scs_khz or (120 if self.is_fr2 else 15 if self.band in FDD else 30)

    @property
    def slot_ms(self) -> float:
        """Return the length of a slot (TS 38.211, clause 4.3.2)."""
        return 15.0 / self.spacing_khz

    def pattern(self, of: SlotsOf) -> TddPattern:
        """Return the slots of one direction."""
        slots = "D" if self.band in FDD else self.tdd or "DDDSU"
        special = (6, 0) if slots in SHORT_S else (10, 0)
        faster = 2 if self.is_fr2 else 1
        ue, gnb = self.ue_slots or 4 * faster, self.gnb_slots or 3 * faster
        return TddPattern(slots, of, special, ue, gnb)

    def symbols_mbps(self, of: SlotsOf) -> float:
        """Return millions of symbols per s and layer that carry data of a direction."""
        blocks = PRB[self.is_fr2, self.spacing_khz][self.bandwidth_mhz]
        all_of_them = blocks * 12 * SYMBOLS / self.slot_ms / 1000
        return all_of_them * (1 - OVERHEAD[of, self.is_fr2]) * self.pattern(of).share

    def _layer_mbps(self, of: SlotsOf, kind: Index) -> Sequence[float]:
        symbols = self.symbols_mbps(of)
        return [symbols * bits for bits in NR_BITS[kind]]

    @model_validator(mode="after")
    def _exists(self) -> Self:
        bands = FR2 | FR1_TDD | FDD
        if self.band not in bands:
            allowed = ", ".join(sorted(bands, key=lambda band: int(band[1:])))
            raise ValueError(f"band: {quoted(self.band)}; allowed: {allowed}")
        widths = PRB.get((self.is_fr2, self.spacing_khz))
        if widths is None:
            raise ValueError(f"scs_khz: {self.scs_khz}; allowed of {self.band}: those of its range")
        if self.bandwidth_mhz not in widths:
            allowed = ", ".join(map(str, widths))
            raise ValueError(f"bandwidth_mhz: {self.bandwidth_mhz}; allowed: {allowed}")
        if self.band in FDD and self.tdd:
            raise ValueError(f"tdd: {self.tdd}: {self.band} is FDD; allowed: none")
        try:
            period_ms = self.slot_ms * len(self.pattern("D").slots)
        except ValueError as error:
            raise ValueError(f"tdd: {error}") from None
        if self.sr_ms % period_ms:
            raise ValueError(f"sr_ms: {self.sr_ms:g}; allowed: multiples of {period_ms:g}, or 0")
        return self

    def fields(self) -> dict[str, dict[str, Any]]:
        """Return the fields of a leg that is this carrier, by its directions."""
        cqi = self.cqi or (7.0 if self.is_fr2 else 8.0)
        return self._fields("cqi", (cqi, self.uplink_cqi), (4096, 2000), self.slot_ms)

    def _rlc(self, of: SlotsOf) -> dict[str, Any]:
        pattern = self.pattern(of)
        rlc = {
            "slot_ms": self.slot_ms,
            "status_ms": 70.0,
            "status_prohibit_ms": 10.0,
            "header_bytes": NR_HEADERS,
        }
        if pattern.is_fdd:
            return rlc | {"harq_rtt_ms": self.slot_ms * pattern.rounds[0]}
        return rlc | {
            "tdd": pattern.slots,
            "tdd_slots": of,
            "special_symbols": pattern.special,
            "ue_slots": pattern.ue_slots,
            "gnb_slots": pattern.gnb_slots,
        }


class LteCarrier(Carrier):
    """An LTE carrier with FDD."""

    kind: Literal["lte"] = "lte"
    bandwidth_mhz: Literal[5, 10, 15, 20] = 20
    layers: Annotated[int, Field(ge=1, le=4)] = 2
    mcs: Mcs = 20
    uplink_mcs: Mcs = 16
    uplink_percent: Annotated[float, Field(gt=0, le=100)] = 50.0
    """The part of the uplink's resource blocks that the terminal has."""
    core_ms: Milliseconds = 8.0

    def _layers(self, of: SlotsOf) -> int:
        return self.layers if of == "D" else 1

    def _layer_mbps(self, of: SlotsOf, kind: Index) -> Sequence[float]:
        part = 1.0 if of == "D" else self.uplink_percent / 100
        blocks = [_transport_block(self.bandwidth_mhz, mcs, of) for mcs in range(LAST_MCS + 1)]
        if kind == "cqi":  # the largest block with no more bits than the CQI has, or the least
            symbols = LTE_BLOCKS[self.bandwidth_mhz] * LTE_SYMBOLS
            least = blocks[0]
            fits = ([it for it in blocks if it <= bits * symbols] for bits in LTE_CQI_BITS)
            blocks = [0, *(max(it, default=least) for it in fits)]
        return [part * block / 1000 for block in blocks]

    def fields(self) -> dict[str, dict[str, Any]]:
        """Return the fields of a leg that is this carrier, by its directions."""
        return self._fields("mcs", (self.mcs, self.uplink_mcs), (1024, 1024), 1.0)

    def pattern(self, of: SlotsOf) -> TddPattern:  # noqa: ARG002
        """Return the slots of one direction: with FDD all."""
        return TddPattern(ue_slots=4, gnb_slots=4)

    def _rlc(self, of: SlotsOf) -> dict[str, Any]:  # noqa: ARG002
        return {
            "slot_ms": 1.0,
            "harq_rtt_ms": 8.0,
            "status_ms": 55.0,
            "status_prohibit_ms": 20.0,
            "header_bytes": LTE_HEADERS,
        }


def _transport_block(bandwidth_mhz: int, mcs: int, of: SlotsOf) -> int:
    """Return the bits of a block of one layer that has all resource blocks, in 1 ms."""
    index = mcs - (mcs > LAST_OF_QPSK[of]) - (mcs > LAST_OF_16QAM[of])
    return int(TBS[bandwidth_mhz].split()[index])


NAMES: Final = re.compile(r"(lte|nr-fdd|nr-tdd|nr-mmwave)-([0-9]{1,4})")
KINDS: Final = ("lte-", "nr-")
"""How names of carriers begin."""
BANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "lte": {"kind": "lte"},
    "nr-fdd": {"kind": "nr", "band": "n1"},
    "nr-tdd": {"kind": "nr", "band": "n78"},
    "nr-mmwave": {"kind": "nr", "band": "n258"},
}
"""The fields that a name stands for, beside the width."""
ALLOWED: Final = "lte-MHZ, nr-fdd-MHZ (n1), nr-tdd-MHZ (n78), nr-mmwave-MHZ (n258)"
SATELLITE: Final = {"delay_ms": 25, "jitter_ms": 3, "loss_percent": 0.4, "queue_packets": 1000}
"""Starlink in Belgium, 2022: round trips of 50 ms in the median (Michel et al., IMC 2022). The rest
is assumed."""
PAIRS: Final[Mapping[str, tuple[Mapping[str, Any], ...]]] = {
    "en-dc": ({"carrier": "lte-20"}, {"carrier": "nr-tdd-100"}),
    "nr-dc": ({"carrier": "nr-tdd-100"}, {"carrier": "nr-mmwave-400"}),
    "two-operators": (
        {"carrier": "nr-tdd-100"},
        {"carrier": {"kind": "nr", "bandwidth_mhz": 80, "tdd": "DDDDDDDSUU", "cqi": 6}},
    ),
    "5g-wifi": ({"carrier": "nr-tdd-100"}, {"wifi": {}, "delay_ms": 5, "jitter_ms": 0}),
    "5g-satellite": (
        {"carrier": "nr-tdd-100"},
        {"downlink": SATELLITE | {"rate_mbps": 178}, "uplink": SATELLITE | {"rate_mbps": 17}},
    ),
}
"""Legs that are compared together, by a name: the radio's, and what else a terminal may have."""


def carrier(given: object) -> NrCarrier | LteCarrier:
    """Return the carrier of a name such as `nr-tdd-100`, or of a mapping of its fields.

    Raises:
        ValueError: there is none; the message is one line that says what is allowed.
    """
    if isinstance(given, str):
        if (match := NAMES.fullmatch(given)) is None:
            raise ValueError(f"{quoted(given)}; allowed: {ALLOWED}")
        given = {**BANDS[match[1]], "bandwidth_mhz": int(match[2])}
    kinds: dict[Any, type[NrCarrier | LteCarrier]] = {"nr": NrCarrier, "lte": LteCarrier}
    kind = given.get("kind") if isinstance(given, Mapping) else None
    if kind not in kinds:
        raise ValueError(f"{quoted(given)}; allowed: {ALLOWED}, or fields with kind: nr or lte")
    try:
        return kinds[kind].model_validate(given)
    except ValidationError as error:
        raise ValueError(describe(error, str(kind), kinds[kind]).replace("\n", "; ")) from None


SOURCES: Final[Mapping[str, str]] = {
    "downlink.rate_mbps": "N_PRB of TS 38.104, CQI of TS 38.214, table 5.2.2.1-3, overhead of TS "
    "38.306; LTE: TS 36.213, table 7.1.7.2.1-1. CQI and layers of n78 are fitted to the medians of "
    "operators in Europe, 600 to 810 Mbit/s (Fezeu et al., SIGCOMM 2024)",
    "uplink.rate_mbps": "as the downlink; n78 has 24 to 96 Mbit/s there",
    "delay_ms": "to a server near the core: a choice",
    "jitter_ms": "slots, HARQ and grants are the jitter",
    "downlink.queue_packets": "NR: RLC's queue of srsRAN Project; LTE: of srsRAN 4G",
    "uplink.queue_packets": "a choice",
    "rlc.mode": "default bearers of three captured networks",
    "rlc.block_error_percent": "TS 38.214, clause 5.2.2.1; TS 36.213, clause 7.2.3",
    "rlc.max_retx_threshold": "default bearers of three captured networks",
    "rlc.phase_ms": "cells of one operator have the same",
    "rlc.slot_ms": "TS 38.211, clause 4.3.2; TS 36.211, clause 4",
    "rlc.status_ms": "a captured network's t-Reassembly of 65 ms (LTE: t-Reordering of 45 ms), and "
    "the report's way",
    "rlc.status_prohibit_ms": "default bearers of captured networks, NR and LTE",
    "rlc.drx": "10, 100 and 160 ms of a captured NR network",
    "rlc.header_bytes": "TS 38.323, TS 38.322, TS 38.321; TS 36.323, TS 36.322, TS 36.321",
    "rlc.harq_rtt_ms": "k1 or k2 and the base station's time; LTE: TS 36.213, clauses 7 and 8",
    "rlc.harq_retransmissions": "srsRAN Project; LTE: maxHARQ-Tx n5 of a captured network",
    "rlc.tdd": "operators in Europe (docs/carriers.md); of n258 assumed",
    "rlc.tdd_slots": "the direction",
    "rlc.special_symbols": "DDDSU: captured and published configurations, else assumed; U symbols "
    "of S carry no data",
    "rlc.ue_slots": "least k1 and k2 of srsRAN Project; at 120 kHz twice that",
    "rlc.gnb_slots": "a choice; at 120 kHz twice that",
    "rlc.sr_ms": "sr-ConfigIndex 5 of a captured network (TS 36.213, table 10.1.5-1)",
    "grant_ms": "from the request to the data: the base station's time, k2, and the pattern",
}
"""Where a carrier's value comes from, by the field of a leg, of both directions without `uplink` or
`downlink`."""


def values_of(of: NrCarrier | LteCarrier) -> Iterator[tuple[str, Any, str]]:
    """Yield each field of a leg that a carrier stands for, with its value and its source."""
    for way, own in of.fields().items():
        fields = of.propagation() | own
        rlc = {f"rlc.{name}": value for name, value in fields["rlc"].items()}
        for name, value in (fields | rlc).items():
            if name != "rlc":
                source = SOURCES.get(f"{way}.{name}") or SOURCES[name]
                yield f"{way}.{name}", value, source
