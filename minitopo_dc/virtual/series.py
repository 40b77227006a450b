"""Time series and packet trace of the end hosts."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from minitopo_dc.units import NS_PER_S
from minitopo_dc.virtual.connection import AnyConnection
from minitopo_dc.virtual.loop import AnyLoop
from minitopo_dc.virtual.packet import Packet
from minitopo_dc.workloads.path_reports import PathFile


class ConnectionSeries:
    """The series `client-rate.csv`, as on the real clock, and `connections.csv`: a row per flow.

    `connections.csv`: `time_s`, `flow` (1, 2, ...), `received_bytes` (IP, cumulative), and
    of the server's congestion control `cwnd_bytes`, `in_flight_bytes`, `ssthresh_bytes`
    (empty in the first slow start), `smoothed_rtt_ms`.
    """

    def __init__(self, directory: Path, connections: Sequence[AnyConnection], begin: int) -> None:
        self._connections = connections
        self._begin = begin
        self._files: list[TextIO] = []
        self._rate = self._open(directory / "client-rate.csv", ["time_s", "received_bytes"])
        self._flows = self._open(
            directory / "connections.csv",
            [
                *("time_s", "flow", "received_bytes", "cwnd_bytes", "in_flight_bytes"),
                *("ssthresh_bytes", "smoothed_rtt_ms"),
            ],
        )

    def write(self, now: int) -> None:
        """Add a row per flow, and one of their sum, for the time `now` (ns)."""
        time = f"{(now - self._begin) / NS_PER_S:.4f}"
        received = [each.received_bytes for each in self._connections]
        self._rate.writerow([time, sum(received)])
        for number, (each, count) in enumerate(
            zip(self._connections, received, strict=True), start=1
        ):
            self._flows.writerow([time, number, count, *each.congestion()])

    def close(self) -> None:
        """Flush and close both files."""
        for file in self._files:
            file.close()

    def _open(self, path: Path, header: Sequence[str]) -> Any:
        self._files.append(path.open("w", encoding="utf-8", newline=""))
        rows = csv.writer(self._files[-1])
        rows.writerow(header)
        return rows


class PathSeries:
    """The series `paths.csv`: a row per flow and path, at each interval, opening and closing."""

    def __init__(self, directory: Path, connections: Sequence[AnyConnection]) -> None:
        self._connections = connections
        self._file = PathFile(directory / "paths.csv")

    def write(self, _now: int) -> None:
        """Add the rows since the last call."""
        for number, each in enumerate(self._connections, start=1):
            self._file.write(number, each.path_samples())

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()


class PacketTrace:
    """The file `packets.csv` with every datagram as it leaves and reaches an end host.

    `time_ns` since the start, `flow`, `direction` (`downlink`, `uplink`), `event`
    (`sent`, `received`), `bytes` of the IP packet, and `packet`: its number among those that its
    flow has sent in its direction (1, 2, ...), which it has where it is received, too.
    """

    def __init__(self, path: Path, loop: AnyLoop) -> None:
        self._loop = loop
        self._begin = loop.now
        self._file = path.open("w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._file)
        self._rows.writerow(["time_ns", "flow", "direction", "event", "bytes", "packet"])
        self._sent: Counter[tuple[int, str]] = Counter()

    def sent(self, flow: int, direction: str, packet: Packet) -> None:
        """Give a packet that is sent now its number, and add its row."""
        self._sent[flow, direction] += 1
        packet.number = self._sent[flow, direction]
        self._add(flow, direction, "sent", packet)

    def received(self, flow: int, direction: str, packet: Packet) -> None:
        """Add the row of a packet that is received now."""
        self._add(flow, direction, "received", packet)

    def _add(self, flow: int, direction: str, event: str, packet: Packet) -> None:
        time = self._loop.now - self._begin
        self._rows.writerow([time, flow, direction, event, packet.size, packet.number])

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()
