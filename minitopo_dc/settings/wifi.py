"""Settings of a WiFi medium, which both directions of a leg share."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, ModelWrapValidatorHandler, model_validator

from minitopo_dc.link import (
    Aggregation,
    Capacity,
    ErrorBursts,
    WifiParameters,
    WifiPath,
    WiredPart,
    make_capacity,
    saturated_bps,
)
from minitopo_dc.settings.base import LeftOut, Settings, given, not_given
from minitopo_dc.settings.ranges import MAX_DELAY_MS, Bytes, Milliseconds, Percent, Rate, within
from minitopo_dc.units import NS_PER_MS

_DEFAULT = WifiParameters()
MAX_STATIONS = 2007
"""The association identifiers of an access point (IEEE 802.11)."""


MAX_HOPS = 16
"""The most hops, far beyond the 5 of the longest path in "QUIC in wireless mesh networks" (table
1)."""
Probability = Annotated[float, Field(ge=0, le=1)]


class ErrorBurstSettings(Settings):
    """A Gilbert-Elliott model of errors with states Good and Bad and a step per TXOP."""

    p: Probability
    """The probability to go from Good to Bad."""
    r: Probability
    """The probability to go from Bad to Good."""
    bad_percent: Percent = 100.0
    """The percentage of transmissions of MPDUs that fail in Bad; by default all, as Gilbert's."""

    def bursts(self) -> ErrorBursts:
        """Return the error bursts for the leg's core."""
        return ErrorBursts(self.p, self.r, self.bad_percent / 100)


class WiredSettings(Settings):
    """Wires before the first hop, which each direction has for itself."""

    rate_mbps: Rate
    delay_ms: Milliseconds
    """The one-way delay in ms."""


class WifiHop(Settings):
    """One hop over 802.11n; the defaults are those of `minitopo_dc.link.WifiParameters`."""

    rate_mbps: Rate = _DEFAULT.rate_bps / 1e6
    """The rate of the PHY while it sends MPDUs, e.g. 6.5, 13, 19.5, 26, 39, 52, 58.5, 65: MCS 0 to
    7."""
    aggregation: Aggregation = _DEFAULT.aggregation
    """`a-mpdu`: what waits goes in one TXOP; `a-msdu`: in one MPDU, which waits; `none`."""
    max_mpdus: Annotated[int, Field(ge=1, le=64)] = _DEFAULT.max_mpdus
    """The most MPDUs in an A-MPDU; also the block-ack window."""
    max_bytes: Bytes = _DEFAULT.max_bytes
    """The most bytes of an A-MPDU."""
    ppdu_ms: Annotated[float, *within(0.001, MAX_DELAY_MS, "ms")] = _DEFAULT.ppdu_ns / NS_PER_MS
    """The longest duration of preamble and MPDUs."""
    amsdu_bytes: Bytes = _DEFAULT.amsdu_bytes
    amsdu_wait_ms: Milliseconds = _DEFAULT.amsdu_wait_ns / NS_PER_MS
    """How long the first packet of an A-MSDU waits for others."""
    mpdu_error_percent: Percent = _DEFAULT.mpdu_error * 100
    """The percentage of transmissions of MPDUs that fail, collisions not counted."""
    error_bursts: LeftOut[ErrorBurstSettings | None] = None
    """Bursts in which another percentage of them fails, in each direction for itself."""
    retries: Annotated[int, Field(ge=0, le=255)] = _DEFAULT.retries
    """The retransmissions of an MPDU before it is dropped."""
    load_percent: Annotated[float, Field(ge=0, lt=100)] = _DEFAULT.load * 100
    """The percentage of the time that others' transmissions would take had they the medium
    alone."""
    stations: Annotated[int, *within(1, MAX_STATIONS)] = _DEFAULT.stations
    """The number of other stations, if there is any load."""

    def parameters(self) -> WifiParameters:
        """Return the WiFi parameters for the leg's core."""
        return WifiParameters(
            rate_bps=round(self.rate_mbps * 1e6),
            aggregation=self.aggregation,
            max_mpdus=self.max_mpdus,
            max_bytes=self.max_bytes,
            ppdu_ns=round(self.ppdu_ms * NS_PER_MS),
            amsdu_bytes=self.amsdu_bytes,
            amsdu_wait_ns=round(self.amsdu_wait_ms * NS_PER_MS),
            mpdu_error=self.mpdu_error_percent / 100,
            error_bursts=self.error_bursts.bursts() if self.error_bursts else None,
            retries=self.retries,
            load=self.load_percent / 100,
            stations=self.stations,
        )


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
        made = handler({**values, "hops": [_merge_hop(common, hop) for hop in own]})
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
        return WifiPath(hops, [random.Random(each) for each in seeds], self._wires())

    def capacity(self) -> Capacity:
        """Return the capacity of a direction that has the mediums to itself, less others' load."""
        rates = [saturated_bps(hop.parameters()) for hop in self.every_hop()]
        wires = self._wires()
        return make_capacity(min(rates if wires is None else [*rates, wires.rate_bps]))

    def _wires(self) -> WiredPart | None:
        if self.wired is None:
            return None
        return WiredPart(round(self.wired.rate_mbps * 1e6), round(self.wired.delay_ms * NS_PER_MS))


def _merge_hop(common: Mapping[str, Any], hop: Any) -> Any:
    return {**common, **hop} if isinstance(hop, Mapping) else hop
