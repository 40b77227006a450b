"""Settings of a WiFi medium, which both directions of a leg share."""

from __future__ import annotations

import random
from typing import Annotated

from pydantic import Field

from minitopo_dc.link import (
    Aggregation,
    Capacity,
    WifiMedium,
    WifiParameters,
    make_capacity,
    saturated_bps,
)
from minitopo_dc.settings.base import Settings
from minitopo_dc.settings.ranges import MOST_DELAY_MS, Bytes, Milliseconds, Percent, Rate, within
from minitopo_dc.units import NS_PER_MS

_DEFAULT = WifiParameters()
MOST_STATIONS = 2007
"""Association identifiers of an access point (IEEE 802.11)."""


class WifiSettings(Settings):
    """802.11n; the defaults are those of `minitopo_dc.link.WifiParameters`."""

    rate_mbps: Rate = _DEFAULT.rate_bps / 1e6
    """Of the PHY while it sends MPDUs, e.g. 6.5, 13, 19.5, 26, 39, 52, 58.5, 65: MCS 0 to 7."""
    aggregation: Aggregation = _DEFAULT.aggregation
    """`a-mpdu`: what waits goes in one TXOP; `a-msdu`: in one MPDU, which waits; `none`."""
    max_mpdus: Annotated[int, Field(ge=1, le=64)] = _DEFAULT.max_mpdus
    """In an A-MPDU; also the block-ack window."""
    max_bytes: Bytes = _DEFAULT.max_bytes
    """Of an A-MPDU."""
    ppdu_ms: Annotated[float, *within(0.001, MOST_DELAY_MS, "ms")] = _DEFAULT.ppdu_ns / NS_PER_MS
    """So long preamble and MPDUs last at most."""
    amsdu_bytes: Bytes = _DEFAULT.amsdu_bytes
    amsdu_wait_ms: Milliseconds = _DEFAULT.amsdu_wait_ns / NS_PER_MS
    """So long the first packet of an A-MSDU waits for others."""
    mpdu_error_percent: Percent = _DEFAULT.mpdu_error * 100
    """How many transmissions of MPDUs fail, collisions not counted."""
    retries: Annotated[int, Field(ge=0, le=255)] = _DEFAULT.retries
    """Of an MPDU; then it is dropped."""
    load_percent: Annotated[float, Field(ge=0, lt=100)] = _DEFAULT.load * 100
    """Of the time, what others' transmissions would take had they the medium alone."""
    stations: Annotated[int, *within(1, MOST_STATIONS)] = _DEFAULT.stations
    """How many others there are, if there is any load."""

    def parameters(self) -> WifiParameters:
        """What the leg's core takes."""
        return WifiParameters(
            rate_bps=round(self.rate_mbps * 1e6),
            aggregation=self.aggregation,
            max_mpdus=self.max_mpdus,
            max_bytes=self.max_bytes,
            ppdu_ns=round(self.ppdu_ms * NS_PER_MS),
            amsdu_bytes=self.amsdu_bytes,
            amsdu_wait_ns=round(self.amsdu_wait_ms * NS_PER_MS),
            mpdu_error=self.mpdu_error_percent / 100,
            retries=self.retries,
            load=self.load_percent / 100,
            stations=self.stations,
        )

    def medium(self, seed: str) -> WifiMedium:
        """The medium; `seed` fixes its back-offs, errors and others."""
        return WifiMedium(self.parameters(), random.Random(seed))

    def capacity(self) -> Capacity:
        """What a direction carries that has the medium alone, but for others' load."""
        return make_capacity(saturated_bps(self.parameters()))
