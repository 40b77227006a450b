"""Settings that only one of the clocks has."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from minitopo_dc.scenario.radio import Leg
from minitopo_dc.settings import Settings
from minitopo_dc.settings.base import LeftOut
from minitopo_dc.settings.ranges import CpuPercent, Microseconds, Milliseconds, within

Clock = Literal["real", "virtual"]
Backend = Literal["auto", "user", "kernel"]
UdpMemory = Literal["modern", "linux-4.15"]
Core = Literal["auto", "native", "python"]
"""What computes a run: `auto` is the native core where it is built and has all that is needed."""
SysctlName = Annotated[str, Field(pattern=r"^net\.[A-Za-z0-9_.-]+$")]
"""Only what a network namespace has of its own can be set for one run."""
EarlierDownloads = Annotated[int, *within(0, 100)]
SysctlValue = Annotated[str, Field(pattern=r"^[A-Za-z0-9_. \t-]+$")]


class RealSettings(Settings):
    """Settings that kernels and processes have, and discrete events lack.

    The virtual clock ignores them, but for a backhaul, which it refuses.
    """

    backhaul: Annotated[tuple[Leg, ...], Field(max_length=250)] = ()
    """Links between the server and gnb, the server having one address on each; none: a wire.

    Flows use the server's first address; workload `ping` uses them all.
    """
    sysctl: dict[SysctlName, SysctlValue] = Field(default_factory=dict)
    """Kernel settings of server and client, e.g. `net.ipv4.tcp_rmem`."""
    backend: Backend = "auto"
    """What legs are made of: this project's process (auto: too), or the kernel's netem and tbf
    (docs/legs.md)."""
    core: LeftOut[Core] = "auto"
    """What carries the elements' packets: C, or Python (docs/element.md)."""
    client_cpu_percent: LeftOut[CpuPercent | None] = None
    """CPU time that all programs of the clients have together, of one CPU; None: all there is."""
    capture: tuple[Literal["legs", "client", "server"], ...] = ()
    """What is captured (docs/element.md): every leg, an end host's packets."""

    @property
    def captured_hosts(self) -> tuple[str, ...]:
        """Return the end hosts whose packets are captured."""
        return tuple(name for name in self.capture if name != "legs")


class VirtualSettings(Settings):
    """Settings that give a simulation what a testbed has; 0 is an ideal machine.

    The real clock ignores them.
    """

    processing_delay_ms: Milliseconds = 0.0
    """What a bearer's packet waits before it is split, and again before it is reordered.

    The papers' proxies: 1 ms each (thesis, table 5.1: a round-trip time of 58.07 against 56.01 ms).
    """
    cpu_us_per_packet: Microseconds = 0.0
    """CPU time of an end host for each datagram that it reads or sends."""
    client_cpu_us_per_packet: LeftOut[Microseconds | None] = None
    """The same of the clients alone; None: as `cpu_us_per_packet`."""
    core: LeftOut[Core] = "auto"
    """Whether legs and bearers are computed in C or in Python; results are the same."""
    udp_memory: LeftOut[UdpMemory] = "modern"
    """When a UDP socket frees the memory of what was read: as Linux does now, or as 4.14 to 5.4 did
    (docs/virtual-clock.md)."""
    sysctl: LeftOut[dict[SysctlName, SysctlValue]] = Field(default_factory=dict)
    """Kernel settings of server and client in guests, as `real.sysctl`."""
    earlier_downloads: LeftOut[EarlierDownloads] = 0
    """In guests: downloads of the same size, one after the other, before the one that is measured.

    Each has a connection of its own. What the kernel keeps of it, the next one finds."""
    packet_trace: bool = False
    """Write `packets.csv`: time, flow, direction, size, number of datagrams at the end hosts."""

    @model_validator(mode="before")
    @classmethod
    def _without_recovery(cls, values: Any) -> Any:
        """Leave out `recovery`, which files of version 0.1 have."""
        if not isinstance(values, dict) or "recovery" not in values:
            return values
        if values["recovery"] != "modern":
            raise ValueError("recovery: has gone; transport quic-aioquic-2020 is that of 2020")
        return {name: value for name, value in values.items() if name != "recovery"}
