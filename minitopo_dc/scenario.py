"""A scenario: everything that fixes one run."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from minitopo_dc.settings import LegSettings, PdcpSettings, Settings

Mode = Literal["sc", "dc", "dc-duplicate", "multipath"]
"""One leg; split over the legs below IP; sent on all legs below IP; split by the transport."""
CongestionControl = Literal["reno", "cubic", "bbr"]


def _papers_uplink() -> LegSettings:
    """The uplink of the DC papers (thesis, table 4.3 and listing 4.1)."""
    return LegSettings(rate_mbps=20, delay_ms=10, queue_packets=10_000)


class RadioLeg(Settings):
    """One leg: a direction from the network to the terminal, and one back."""

    downlink: LegSettings
    uplink: LegSettings = Field(default_factory=_papers_uplink)


class Scenario(Settings):
    """One run. Which element is where, and who sends, is fixed by the two-path topology."""

    transport: str
    """A runner's name: tcp, quic, mptcp, mpquic, ..."""
    mode: Mode
    legs: Annotated[tuple[RadioLeg, ...], Field(min_length=1, max_length=250)]
    leg: PositiveInt = 1
    """The leg that ``mode: sc`` uses."""
    pdcp: PdcpSettings = PdcpSettings()
    """The bearer's parameters in the modes ``dc`` and ``dc-duplicate``."""
    split_uplink: bool = False
    """Whether the uplink is split too; by default it takes leg 1, as in the papers."""
    size_mb: PositiveFloat = 10.0
    """Size of the download in units of 10^6 bytes."""
    congestion_control: CongestionControl = "reno"
    """NewReno for all transports, as in the papers."""
    seed: int = 1
    """Fixes losses and jitter of every leg and direction."""
    timeout_s: PositiveFloat = 300.0
    """A transfer that takes longer has failed; at 1 Mbit/s, 300 s are enough for 37 MB."""
    statistics_ms: PositiveInt = 100
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the runner, e.g. ``receive_buffer_bytes`` of quic."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.leg > len(self.legs):
            raise ValueError(f"leg: {self.leg} does not exist; allowed: 1 to {len(self.legs)}")
        if self.mode != "sc" and len(self.legs) < 2:
            raise ValueError(f"mode {self.mode} needs at least two legs")
        self.bearer().policy(len(self.legs))
        return self

    def read_traces(self) -> None:
        """Read every trace once, so that a wrong one is found before a run begins.

        Raises:
            SettingsError, TraceError: a trace is missing or wrong; the message says where.
        """
        for leg in self.legs:
            leg.downlink.capacity()
            leg.uplink.capacity()

    def bearer(self) -> PdcpSettings:
        """The bearer's parameters with the mode's split policy."""
        if self.mode == "dc-duplicate":
            return self.pdcp.model_copy(update={"split": "duplicate"})
        return self.pdcp

    @property
    def size_bytes(self) -> int:
        """Size of the download in bytes."""
        return round(self.size_mb * 1e6)

    @property
    def label(self) -> str:
        """Transport and mode, as one name of a file or of a curve."""
        return f"{self.transport}-{self.mode}"
