"""A scenario: everything that fixes one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from minitopo_dc.addresses import IpVersion
from minitopo_dc.settings import LegSettings, PdcpSettings, Settings

FlowMode = Literal["sc", "dc", "dc-duplicate", "multipath"]
"""One leg; split over the legs below IP; sent on all legs below IP; split by the transport."""
Mode = Literal["sc", "dc", "dc-duplicate", "multipath", "flows"]
"""As for a flow; several flows at once."""
Clock = Literal["real", "virtual"]
CongestionControl = Literal["reno", "cubic", "bbr"]
Recovery = Literal["modern", "draft-27"]
SysctlName = Annotated[str, Field(pattern=r"^net\.[A-Za-z0-9_.-]+$")]
"""Only what a network namespace has of its own can be set for one run."""
ENDLESS_BYTES = 10**12
"""More than two legs of 10 Gbit/s carry in 6 minutes, the papers' longest being 3."""
DAY_S = 86_400
"""The longest that a run may be asked to take: far above any use, far below what overflows poll(2),
which counts milliseconds in an int."""
Seconds = Annotated[float, Field(gt=0, le=DAY_S)]
SysctlValue = Annotated[str, Field(pattern=r"^[A-Za-z0-9_. \t-]+$")]


def _papers_uplink() -> LegSettings:
    """The uplink of the DC papers (thesis, table 4.3 and listing 4.1)."""
    return LegSettings(rate_mbps=20, delay_ms=10, queue_packets=10_000)


class RadioLeg(Settings):
    """One leg: a direction from the network to the terminal, and one back."""

    downlink: LegSettings
    uplink: LegSettings = Field(default_factory=_papers_uplink)


class FlowSettings(Settings):
    """One of several downloads at once: its own server, client and PDCP bearer, the same legs.

    A flow of ``mode: multipath`` has no bearer, and a client address a leg.
    """

    mode: FlowMode
    leg: PositiveInt = 1
    """The leg that ``mode: sc`` uses."""
    transport: str | None = None
    """None: the scenario's, here and below."""
    congestion_control: CongestionControl | None = None
    options: dict[str, Any] | None = None
    """None: the scenario's where the transport is the scenario's, else none."""


@dataclass(frozen=True)
class ResolvedFlow:
    """A download with what it leaves to the scenario filled in."""

    mode: FlowMode
    leg: int
    transport: str
    congestion_control: CongestionControl
    options: Mapping[str, Any]


class VirtualSettings(Settings):
    """What a testbed has and a bare simulation lacks; 0 is an ideal machine. Virtual clock only."""

    processing_delay_ms: NonNegativeFloat = 0.0
    """What a bearer's packet waits before it is split, and again before it is reordered.

    The papers' proxies: 1 ms each (thesis, table 5.1: a round-trip time of 58.07 against 56.01 ms).
    """
    cpu_us_per_packet: NonNegativeFloat = 0.0
    """CPU time of an end host for each datagram that it reads or sends."""
    recovery: Recovery = "modern"
    """The installed aioquic's loss recovery, or that of aioquic in 2020 (docs/virtual-clock.md)."""
    packet_trace: bool = False
    """Write ``packets.csv``: time, flow, direction and size of every datagram at the end hosts."""


class Scenario(Settings):
    """One run. Which element is where, and who sends, is fixed by the two-path topology."""

    transport: str
    """A runner's name: tcp, quic, quic-ngtcp2, mptcp, mpquic, ..."""
    mode: Mode
    legs: Annotated[tuple[RadioLeg, ...], Field(min_length=1, max_length=250)]
    leg: PositiveInt = 1
    """The leg that ``mode: sc`` uses."""
    backhaul: Annotated[tuple[RadioLeg, ...], Field(max_length=250)] = ()
    """Links between the server and gnb, the server having one address on each; none: a wire.

    Transfers use the server's first address. Real clock only.
    """
    ip_version: IpVersion = 4
    """Of the addresses that transports use (docs/mininet.md); 4 as in the papers."""
    pdcp: PdcpSettings = PdcpSettings()
    """The bearer's parameters in the modes ``dc`` and ``dc-duplicate``."""
    split_uplink: bool = False
    """Whether the uplink is split too; by default it takes leg 1, as in the papers."""
    size_mb: PositiveFloat = 10.0
    """Size of the download in units of 10^6 bytes."""
    flows: tuple[FlowSettings, ...] = ()
    """The downloads of ``mode: flows``, each of ``size_mb``."""
    duration_s: Seconds | None = None
    """Measure what arrives in this time, in place of the time for ``size_mb``.

    Real clock: of transports whose client can stop then, counted from its start of connecting. At
    most a day, as ``timeout_s``.
    """
    congestion_control: CongestionControl = "reno"
    """NewReno for all transports, as in the papers; a flow may have its own."""
    seed: int = 1
    """Fixes losses and jitter of every leg and direction."""
    timeout_s: Seconds = 300.0
    """A transfer that takes longer has failed; at 1 Mbit/s, 300 s are enough for 37 MB.

    With ``duration_s``: that it may take longer than that, to begin and to close.
    """
    statistics_ms: PositiveInt = 100
    clock: Clock = "real"
    """What drives the run: kernels and processes, or discrete events."""
    virtual: VirtualSettings = VirtualSettings()
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the runner, e.g. ``receive_buffer_bytes`` of quic."""
    sysctl: dict[SysctlName, SysctlValue] = Field(default_factory=dict)
    """Kernel settings of server and client, e.g. ``net.ipv4.tcp_rmem``. Real clock only."""
    backend: Literal["auto", "user", "kernel"] = "auto"
    """What legs are made of: this project's process (auto: too), or the kernel's netem and tbf
    (docs/kernel-backend.md). Real clock only."""
    capture: tuple[Literal["legs", "client", "server"], ...] = ()
    """What is captured (docs/captures.md): every leg, an end host's packets. Real clock only."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.mode == "flows") != bool(self.flows):
            raise ValueError("mode flows needs a list of flows, and only this mode has one")
        self._check_legs(self, "")
        for number, flow in enumerate(self.flows):
            self._check_legs(flow, f"flows.{number}.")
        self.bearer().policy(len(self.legs))
        return self

    def _check_legs(self, flow: FlowSettings | Scenario, where: str) -> None:
        legs = len(self.legs)
        if flow.leg > legs:
            raise ValueError(f"{where}leg: {flow.leg} does not exist; allowed: 1 to {legs}")
        if flow.mode not in ("sc", "flows") and legs < 2:
            raise ValueError(f"{where}mode {flow.mode} needs at least two legs")
        if flow.mode == "dc" and self.pdcp.split == "duplicate":
            # By its mode a duplicated run is told from a split one in every table.
            raise ValueError(f"{where}mode dc: pdcp.split duplicate is mode dc-duplicate")

    def read_traces(self) -> None:
        """Read every trace once, so that a wrong one is found before a run begins.

        Raises:
            SettingsError, TraceError: a trace is missing or wrong; the message says where.
        """
        for leg in (*self.legs, *self.backhaul):
            leg.downlink.capacity()
            leg.uplink.capacity()

    def bearer(self, mode: Mode | None = None) -> PdcpSettings:
        """The bearer's parameters with the split policy of a mode, by default the scenario's."""
        if (mode or self.mode) == "dc-duplicate":
            return self.pdcp.model_copy(update={"split": "duplicate"})
        return self.pdcp

    @property
    def resolved_flows(self) -> tuple[ResolvedFlow, ...]:
        """The flows of ``mode: flows``; in every other mode the one that the scenario itself is."""
        if self.mode != "flows":
            own = FlowSettings(mode=self.mode, leg=self.leg)
            return (self._resolve(own),)
        return tuple(self._resolve(flow) for flow in self.flows)

    def _resolve(self, flow: FlowSettings) -> ResolvedFlow:
        transport = flow.transport or self.transport
        options = self.options if transport == self.transport else {}
        return ResolvedFlow(
            mode=flow.mode,
            leg=flow.leg,
            transport=transport,
            congestion_control=flow.congestion_control or self.congestion_control,
            options=options if flow.options is None else flow.options,
        )

    @property
    def captured_hosts(self) -> tuple[str, ...]:
        """The end hosts whose packets are captured."""
        return tuple(name for name in self.capture if name != "legs")

    @property
    def size_bytes(self) -> int:
        """Size of the download in bytes."""
        return round(self.size_mb * 1e6)

    @property
    def requested_bytes(self) -> int:
        """What a client asks for: ``size_bytes``, or what no leg carries in ``duration_s``."""
        return self.size_bytes if self.duration_s is None else ENDLESS_BYTES

    @property
    def label(self) -> str:
        """Transport and mode, as one name of a file or of a curve."""
        return f"{self.transport}-{self.mode}"
