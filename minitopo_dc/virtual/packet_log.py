"""The files of a run about each packet: `packets.csv`, and where its delay went."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from minitopo_dc.capture import CaptureFile
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.loop import AnyLoop
from minitopo_dc.virtual.packet import Packet, PacketMoments


class PacketLog(ABC):
    """A file with rows of packets that leave or reach an end host.

    `time_ns` since the start, `flow`, `direction` (`downlink`, `uplink`), `bytes` of the IP packet,
    and `packet`: its number among those that its flow has sent in its direction (1, 2, ...).
    """

    name: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]

    def __init__(self, directory: Path, loop: AnyLoop) -> None:
        """Begin the file in a run's directory."""
        self._loop = loop
        self._begin = loop.now
        self._file = (directory / self.name).open("w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._file)
        self._rows.writerow(["time_ns", "flow", "direction", *self.columns])
        self._sent: Counter[tuple[int, str]] = Counter()

    def sent(self, flow: int, direction: str, packet: Packet) -> None:
        """Give a packet that is sent now its number."""
        self._sent[flow, direction] += 1
        packet.number = self._sent[flow, direction]

    @abstractmethod
    def received(self, flow: int, direction: str, packet: Packet) -> None:
        """Add the row of a packet that is received now."""

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()

    def _add(self, flow: int, direction: str, *values: object) -> None:
        self._rows.writerow([self._loop.now - self._begin, flow, direction, *values])


class PacketTrace(PacketLog):
    """The file `packets.csv`, with a row where a packet is `sent`, and where `received`."""

    name = "packets.csv"
    columns = ("event", "bytes", "packet")

    def sent(self, flow: int, direction: str, packet: Packet) -> None:
        """Give a packet that is sent now its number, and add its row."""
        super().sent(flow, direction, packet)
        self._add(flow, direction, "sent", packet.size, packet.number)

    def received(self, flow: int, direction: str, packet: Packet) -> None:
        """Add the row of a packet that is received now."""
        self._add(flow, direction, "received", packet.size, packet.number)


class PacketDelays(PacketLog):
    """The file `packet-delays.csv`: of each packet that was received, where its delay went (ns)."""

    name = "packet-delays.csv"
    columns = (
        *("bytes", "packet", "leg"),
        *("split_ns", "queue_ns", "air_ns", "rlc_ns", "propagation_ns", "reordering_ns"),
    )

    def sent(self, flow: int, direction: str, packet: Packet) -> None:
        """Give a packet that is sent now its number, and begin its moments."""
        super().sent(flow, direction, packet)
        packet.moments = PacketMoments(self._loop.now)

    def received(self, flow: int, direction: str, packet: Packet) -> None:
        """Add the row of a packet that is received now."""
        moments = packet.moments
        assert moments is not None
        parts = moments.parts(self._loop.now)
        self._add(flow, direction, packet.size, packet.number, moments.leg, *parts)


class HostCapture:
    """The file `HOST.pcap` with every IP packet that leaves or reaches an end host.

    Its times are those of the guests' clocks, on which `tcp-info.csv` is. Datagrams get the headers
    here that they have no need of in virtual time.
    """

    def __init__(self, directory: Path, host: Literal["client", "server"], loop: AnyLoop) -> None:
        """Begin the file in a run's directory."""
        self._loop = loop
        self._sends = "uplink" if host == "client" else "downlink"
        self._file = CaptureFile(directory / f"{host}.pcap", offset=0)

    def sent(self, _flow: int, direction: str, packet: Packet) -> None:
        """Add a packet that is sent now if this host sends it."""
        if direction == self._sends:
            self._file.write(self._loop.now, _whole(packet))

    def received(self, _flow: int, direction: str, packet: Packet) -> None:
        """Add a packet that is received now if this host receives it."""
        if direction != self._sends:
            self._file.write(self._loop.now, _whole(packet))

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()


def _whole(packet: Packet) -> bytes:
    flow = packet.flow
    if not flow.headers_bytes:
        return packet.data
    from minitopo_dc.capture.layers import udp_packet  # noqa: PLC0415 (scapy takes a second)

    return udp_packet(flow.source, flow.destination, flow.dscp << 2 | packet.ecn, packet.data)


AnyLog = PacketLog | HostCapture


def packet_logs(scenario: Scenario, directory: Path, loop: AnyLoop) -> Iterator[AnyLog]:
    """Yield the files that a scenario asks for."""
    for host in scenario.virtual.capture:
        yield HostCapture(directory, host, loop)
    if scenario.virtual.packet_trace:
        yield PacketTrace(directory, loop)
    if scenario.virtual.packet_delays:
        yield PacketDelays(directory, loop)
