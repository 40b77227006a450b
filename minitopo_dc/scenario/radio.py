"""A leg with both its directions."""

from __future__ import annotations

from pydantic import Field

from minitopo_dc.settings import LegSettings, Settings


def _papers_uplink() -> LegSettings:
    """The uplink of the DC papers (thesis, table 4.3 and listing 4.1)."""
    return LegSettings(rate_mbps=20, delay_ms=10, queue_packets=10_000)


class RadioLeg(Settings):
    """One leg: a direction from the network to the terminal, and one back."""

    downlink: LegSettings
    uplink: LegSettings = Field(default_factory=_papers_uplink)
