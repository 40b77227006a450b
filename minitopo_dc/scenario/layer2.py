"""Settings of layer 2 of a leg: RLC and HARQ of one direction, or a WiFi medium of both."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    model_validator,
)
from pydantic_core import core_schema

from minitopo_dc.fields.base import LeftOut, Settings, core_object, given, not_given
from minitopo_dc.fields.ranges import (
    MAX_DELAY_MS,
    Bytes,
    Milliseconds,
    MillisecondsAbove,
    Percent,
    Probability,
    Rate,
    within,
)
from minitopo_dc.link import (
    Aggregation,
    Capacity,
    ErrorBursts,
    RlcMode,
    RlcParameters,
    WifiParameters,
    WifiPath,
    make_capacity,
    saturated_bps,
)
from minitopo_dc.link.rlc.parameters import SYMBOLS, Drx, SlotsOf, TddPattern
from minitopo_dc.pdcp import INFINITE, Timer
from minitopo_dc.units import NS_PER_MS


class SettingOf:
    """Marks a field that is a timer of PDCP, which a file has in ms or as one of some words."""

    def __init__(self, make: Callable[[float | str], Timer], number: Any, *words: str) -> None:
        """Take what makes the timer of a setting, and which type of number and words there are."""
        self._make, self._values = make, number | Literal[words]
        self._number = int if number is int else float
        self.description = ", ".join(f"`{word}`" for word in words)

    def __get_pydantic_core_schema__(
        self, _source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Return the schema of the setting, which becomes a timer and is printed as it was."""
        return core_schema.no_info_wrap_validator_function(
            self._timer,
            handler.generate_schema(self._values),
            serialization=core_schema.plain_serializer_function_ser_schema(self._setting),
        )

    def _timer(self, value: Any, check: Callable[[Any], float | str]) -> Timer:
        return value if isinstance(value, Timer) else self._make(check(value))

    def _setting(self, timer: Timer) -> float | str:
        setting = timer.setting
        return setting if isinstance(setting, str) else self._number(setting)


SLOTS_MS = (1.0, 0.5, 0.25, 0.125, 0.0625)
"""The durations in ms of LTE's subframe and NR's slot at 15 kHz, and of NR's at 30 to 240 kHz (TS
38.211, clause 4.3.2)."""


def _check_slot(value: float) -> float:
    if value not in SLOTS_MS:
        raise ValueError(f"must be one of {', '.join(f'{slot:g}' for slot in SLOTS_MS)}")
    return value


SlotMs = Annotated[float, AfterValidator(_check_slot)]
MaxRetxThreshold = Literal[1, 2, 3, 4, 6, 8, 16, 32]
"""Values of maxRetxThreshold (TS 38.331, RLC-Config)."""
Symbols = Annotated[int, Field(ge=0, le=SYMBOLS)]
HarqSlots = Annotated[int, Field(ge=1, le=32)]
"""k1 is up to 15, k2 up to 32 (dl-DataToUL-ACK and PUSCH-TimeDomainResourceAllocation of TS
38.331)."""
_RLC, _TDD = RlcParameters(), TddPattern()


class DrxSettings(Settings):
    """Connected-mode DRX; the defaults are of a captured NR network."""

    on_ms: MillisecondsAbove = 10.0
    """drx-onDurationTimer: what the terminal listens of each cycle."""
    inactivity_ms: Milliseconds = 100.0
    """drx-InactivityTimer: what it listens after each new block."""
    cycle_ms: MillisecondsAbove = 160.0
    short_cycle_ms: LeftOut[Milliseconds] = 0.0
    """Of the cycles that come first; 0: there are none."""
    short_cycles: LeftOut[Annotated[int, Field(ge=0, le=16)]] = 0
    """drx-ShortCycleTimer: how many of them there are (TS 38.331: up to 16)."""

    @model_validator(mode="after")
    def _check_cycles(self) -> Self:
        self.parameters()
        return self

    def parameters(self) -> Drx:
        """Return the parameters of the leg's core; ValueError if cycles are too short."""
        short = self.short_cycle_ms
        if min(self.cycle_ms, short or self.cycle_ms) < self.on_ms:
            raise ValueError(f"cycle_ms, short_cycle_ms: allowed: {self.on_ms:g}, on_ms, or more")
        if bool(short) != bool(self.short_cycles):
            raise ValueError("short_cycle_ms, short_cycles: allowed: both, or neither")
        return core_object(Drx, self, short_ns=round(short * NS_PER_MS))


class RlcSettings(Settings):
    """RLC and HARQ; the defaults are those of `minitopo_dc.link.RlcParameters`."""

    mode: RlcMode = _RLC.mode
    """`am`: what HARQ gives up is sent again; `um`: it is lost."""
    block_error_percent: Percent = _RLC.block_error * 100
    """The percentage of the transmissions of a block that cannot be decoded."""
    slot_ms: SlotMs = _RLC.slot_ns / NS_PER_MS
    harq_rtt_ms: Annotated[float, Field(gt=0, le=1000)] = _RLC.harq_rtt_ns / NS_PER_MS
    """The time from one transmission of a block to the next; with `tdd` it follows the pattern."""
    harq_retransmissions: Annotated[int, Field(ge=0, le=27)] = _RLC.harq_retransmissions
    """The most retransmissions; at most 27, as maxHARQ-Tx ends at n28 (TS 36.331)."""
    status_ms: Milliseconds = _RLC.status_ns / NS_PER_MS
    """The time from when the receiver has a later block than one that it lacks to when its report
    has told (t-Reassembly and the report's way), or from the last block if none follows."""
    status_prohibit_ms: LeftOut[Milliseconds] = _RLC.status_prohibit_ns / NS_PER_MS
    """t-StatusProhibit: the least time between status reports, which take capacity of the other
    direction; `am` alone has them."""
    max_retx_threshold: MaxRetxThreshold = 8
    in_order: bool = _RLC.in_order
    """Whether SDUs leave RLC in order, as LTE's do, or when they are complete, as NR's do."""
    discard_ms: Annotated[Timer, SettingOf(Timer.discard, int, "infinity")] = INFINITE
    """discardTimer: a packet of which nothing was sent for so long is dropped."""
    tdd: LeftOut[str | None] = None
    """A TDD pattern, e.g. `DDDSU`, of which the direction has its slots; none: all slots. The
    capacity is the mean over the pattern."""
    tdd_slots: LeftOut[SlotsOf] = _TDD.of
    """Whether the direction has the pattern's D or U; a leg gives its uplink U."""
    special_symbols: LeftOut[tuple[Symbols, Symbols]] = _TDD.special
    """The symbols of S that carry data of the downlink, and of the uplink."""
    ue_slots: LeftOut[HarqSlots] = _TDD.ue_slots
    """With `tdd`: the least k1 of a downlink, or k2 of an uplink."""
    gnb_slots: LeftOut[HarqSlots] = _TDD.gnb_slots
    """With `tdd`: what the base station takes from what it receives to what it sends of it."""
    phase_ms: LeftOut[Milliseconds] = 0.0
    """How far slots and pattern have got at the start of the transfer."""
    sr_ms: LeftOut[Milliseconds] = 0.0
    """The period of scheduling requests, for one of which a packet waits that finds nothing under
    way, before `grant_ms`; 0: one can be sent at any time."""
    drx: LeftOut[DrxSettings | None] = None
    """When the terminal listens; none: always. A leg gives its downlink alone DRX."""
    header_bytes: LeftOut[Annotated[int, Field(ge=0, le=100)]] = 0
    """The headers of PDCP, RLC and MAC of a packet, which take capacity."""

    @model_validator(mode="after")
    def _check_round_trip(self) -> Self:
        if self.harq_rtt_ms < self.slot_ms:
            raise ValueError(f"harq_rtt_ms {self.harq_rtt_ms:g}: at least slot_ms {self.slot_ms:g}")
        if sum(self.special_symbols) > SYMBOLS:
            down, up = self.special_symbols
            raise ValueError(f"special_symbols [{down}, {up}]: allowed: {SYMBOLS} in all")
        try:
            self.pattern()
        except ValueError as error:
            raise ValueError(f"tdd: {error}") from None
        return self

    def pattern(self) -> TddPattern | None:
        """Return the TDD pattern as this direction has it, or None; ValueError if it is wrong."""
        if self.tdd is None:
            return None
        return TddPattern(
            *(self.tdd, self.tdd_slots, self.special_symbols, self.ue_slots, self.gnb_slots)
        )

    def longest_round_ms(self) -> float:
        """Return the longest time from one transmission of a block to the next (ms)."""
        pattern = self.pattern()
        return self.slot_ms * max(pattern.rounds) if pattern else self.harq_rtt_ms

    def longest_wait_ms(self) -> float:
        """Return the longest wait for a request's occasion and a slot of the pattern (ms)."""
        pattern = self.pattern()
        return self.sr_ms + (self.slot_ms * max(pattern.skips) if pattern else 0.0)

    def parameters(self) -> RlcParameters:
        """Return the RLC parameters for the leg's core."""
        drx = None if self.drx is None else self.drx.parameters()
        own = {"discard_ns": self.discard_ms.ns, "tdd": self.pattern(), "drx": drx}
        return core_object(RlcParameters, self, **own)


_WIFI = WifiParameters()
MAX_STATIONS = 2007
"""The association identifiers of an access point (IEEE 802.11)."""


MAX_HOPS = 16
"""The most hops, far beyond the 5 of the longest path in "QUIC in wireless mesh networks" (table
1)."""


class ErrorBurstSettings(Settings):
    """A Gilbert-Elliott model of errors with states Good and Bad and a step per TXOP."""

    p: Probability
    """The probability to go from Good to Bad."""
    r: Probability
    """The probability to go from Bad to Good."""
    bad_percent: Percent = 100.0
    """The percentage of transmissions of MPDUs that fail in Bad; by default all, as Gilbert's."""


class WiredSettings(Settings):
    """Wires before the first hop, which each direction has for itself."""

    rate_mbps: Rate
    delay_ms: Milliseconds
    """The one-way delay in ms."""


class WifiHop(Settings):
    """One hop over 802.11n; the defaults are those of `minitopo_dc.link.WifiParameters`."""

    rate_mbps: Rate = _WIFI.rate_bps / 1e6
    """The rate of the PHY while it sends MPDUs, e.g. 6.5, 13, 19.5, 26, 39, 52, 58.5, 65: MCS 0 to
    7."""
    aggregation: Aggregation = _WIFI.aggregation
    """`a-mpdu`: what waits goes in one TXOP; `a-msdu`: in one MPDU, which waits; `none`."""
    max_mpdus: Annotated[int, Field(ge=1, le=64)] = _WIFI.max_mpdus
    """The most MPDUs in an A-MPDU; also the block-ack window."""
    max_bytes: Bytes = _WIFI.max_bytes
    """The most bytes of an A-MPDU."""
    ppdu_ms: Annotated[float, *within(0.001, MAX_DELAY_MS, "ms")] = _WIFI.ppdu_ns / NS_PER_MS
    """The longest duration of preamble and MPDUs."""
    amsdu_bytes: Bytes = _WIFI.amsdu_bytes
    amsdu_wait_ms: Milliseconds = _WIFI.amsdu_wait_ns / NS_PER_MS
    """How long the first packet of an A-MSDU waits for others."""
    mpdu_error_percent: Percent = _WIFI.mpdu_error * 100
    """The percentage of transmissions of MPDUs that fail, collisions not counted."""
    error_bursts: LeftOut[ErrorBurstSettings | None] = None
    """Bursts in which another percentage of them fails, in each direction for itself."""
    retries: Annotated[int, Field(ge=0, le=255)] = _WIFI.retries
    """The retransmissions of an MPDU before it is dropped."""
    load_percent: Annotated[float, Field(ge=0, lt=100)] = _WIFI.load * 100
    """The percentage of the time that others' transmissions would take had they the medium
    alone."""
    stations: Annotated[int, *within(1, MAX_STATIONS)] = _WIFI.stations
    """The number of other stations, if there is any load."""

    def parameters(self) -> WifiParameters:
        """Return the WiFi parameters for the leg's core."""
        bursts = self.error_bursts and core_object(ErrorBursts, self.error_bursts)
        return core_object(WifiParameters, self, error_bursts=bursts)


class WifiSettings(WifiHop):
    """A leg over WiFi: its hops, and what is before them."""

    hops: LeftOut[Annotated[tuple[WifiHop, ...], Field(max_length=MAX_HOPS)]] = ()
    """The number of hops that are all alike, or the fields in which each hop differs; none: one
    hop."""
    wired: LeftOut[WiredSettings | None] = None

    @model_validator(mode="wrap")
    @classmethod
    def _inherit_fields(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Give each hop the leg's fields except those that the hop has set."""
        hops = values.get("hops") if isinstance(values, Mapping) else None
        if isinstance(hops, int):
            if not 1 <= hops <= MAX_HOPS:
                raise ValueError(f"hops: {hops}; allowed: 1 to {MAX_HOPS}, or a list")
            hops = [{}] * hops if hops > 1 else []
        if not isinstance(hops, list | tuple):
            return handler(values)
        common = {name: value for name, value in values.items() if name not in ("hops", "wired")}
        own = [given(hop) if isinstance(hop, WifiHop) else hop for hop in hops]
        merged = [{**common, **hop} if isinstance(hop, Mapping) else hop for hop in own]
        made = handler({**values, "hops": merged})
        for hop, fields in zip(made.hops, own, strict=True):
            not_given(hop, common.keys() - fields.keys())
        return made

    def every_hop(self) -> tuple[WifiHop, ...]:
        """Return the hops in the order of the downlink."""
        return self.hops or (self,)

    def path(self, seed: str) -> WifiPath:
        """Return the path; `seed` fixes the back-offs, errors and other stations of its mediums."""
        hops = [hop.parameters() for hop in self.every_hop()]
        seeds = [seed, *(f"{seed}/{number}" for number in range(2, len(hops) + 1))]
        return WifiPath(hops, list(map(random.Random, seeds)), self._wires())

    def capacity(self) -> Capacity:
        """Return the capacity of a direction that has the mediums to itself, less others' load."""
        rates = [saturated_bps(hop.parameters()) for hop in self.every_hop()]
        wires = self._wires()
        return make_capacity(min(rates if wires is None else [*rates, wires[0]]))

    def _wires(self) -> tuple[int, int] | None:
        if self.wired is None:
            return None
        return round(self.wired.rate_mbps * 1e6), round(self.wired.delay_ms * NS_PER_MS)
