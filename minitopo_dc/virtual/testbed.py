"""The network of a scenario in virtual time: end hosts, gnb, ue; files of packets and series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from minitopo_dc.capture import CaptureFile
from minitopo_dc.files import CsvFile
from minitopo_dc.router.recorder import Recorder, SeriesWriter
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runs.element_settings import router_settings
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address
from minitopo_dc.scenario.element import wifi_paths
from minitopo_dc.units import NS_PER_S
from minitopo_dc.virtual.connection import AnyConnection, SansIoConnection
from minitopo_dc.virtual.core import Core
from minitopo_dc.virtual.guest import GuestConnection
from minitopo_dc.virtual.network import START_NS, Flow, Packet, PacketMoments, Take, VirtualLoop
from minitopo_dc.workloads import Download
from minitopo_dc.workloads.path_reports import COLUMNS, path_rows


class PacketLog:
    """A file with rows of packets that leave or reach an end host.

    `time_ns` since the start, `flow`, `direction` (`downlink`, `uplink`), `bytes` of the IP packet,
    and `packet`: its number among those that its flow has sent in its direction (1, 2, ...).
    `packets.csv` has a row where a packet is `sent`, and one where it is `received`, with `event`;
    `packet-delays.csv` has of each packet that was received where its delay went (ns).
    """

    def __init__(self, directory: Path, loop: VirtualLoop, *, of_delays: bool) -> None:
        """Begin the file in a run's directory."""
        self._loop = loop
        self._begin = loop.now
        self._of_delays = of_delays
        name = "packet-delays.csv" if of_delays else "packets.csv"
        columns = ("bytes", "packet", "leg", *DELAYS) if of_delays else ("event", "bytes", "packet")
        self._file = CsvFile(directory / name, ["time_ns", "flow", "direction", *columns])
        self._sent: Counter[tuple[int, str]] = Counter()

    def tap(self, flow: Flow, number: int, direction: str) -> None:
        """Log the packets of a flow, which has this number and direction in the file."""
        flow.enter = _observed(partial(self._take_sent, number, direction), flow.enter)
        flow.deliver = _observed(partial(self._take_received, number, direction), flow.deliver)

    def _take_sent(self, flow: int, direction: str, packet: Packet) -> None:
        """Give a packet that is sent now its number, and begin its moments or add its row."""
        self._sent[flow, direction] += 1
        packet.number = self._sent[flow, direction]
        if self._of_delays:
            packet.moments = PacketMoments(self._loop.now)
        else:
            self._add(flow, direction, "sent", packet.size, packet.number)

    def _take_received(self, flow: int, direction: str, packet: Packet) -> None:
        """Add the row of a packet that is received now."""
        if not self._of_delays:
            self._add(flow, direction, "received", packet.size, packet.number)
            return
        moments = packet.moments
        assert moments is not None
        parts = moments.parts(self._loop.now)
        self._add(flow, direction, packet.size, packet.number, moments.leg, *parts)

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()

    def _add(self, flow: int, direction: str, *values: object) -> None:
        self._file.add([self._loop.now - self._begin, flow, direction, *values])


DELAYS = ("split_ns", "queue_ns", "air_ns", "rlc_ns", "propagation_ns", "reordering_ns")
"""The parts of a packet's delay (`PacketMoments.parts`)."""


def _whole(packet: Packet) -> bytes:
    flow = packet.flow
    if not flow.headers_bytes:
        return packet.data
    from minitopo_dc.capture.layers import udp_packet  # noqa: PLC0415 (scapy takes a second)

    return udp_packet(flow.source, flow.destination, flow.dscp << 2 | packet.ecn, packet.data)


class ConnectionSeries:
    """The series `client-rate.csv`, as on the real clock, and `connections.csv`: a row per flow.

    `connections.csv`: `time_s`, `flow` (1, 2, ...), `received_bytes` (IP, cumulative), and
    of the server's congestion control `cwnd_bytes`, `in_flight_bytes`, `ssthresh_bytes`
    (empty in the first slow start), `smoothed_rtt_ms`. `paths.csv`, if any flow has several paths:
    a row per flow and path, at each interval, opening and closing.
    """

    def __init__(self, directory: Path, connections: Sequence[AnyConnection], begin: int) -> None:
        self._connections = connections
        self._begin = begin
        self._paths: CsvFile | None = None
        if any(connection.has_paths for connection in connections):
            self._paths = CsvFile(directory / "paths.csv", COLUMNS)
        self._rate = CsvFile(directory / "client-rate.csv", ["time_s", "received_bytes"])
        self._flows = CsvFile(
            directory / "connections.csv",
            [
                *("time_s", "flow", "received_bytes", "cwnd_bytes", "in_flight_bytes"),
                *("ssthresh_bytes", "smoothed_rtt_ms"),
            ],
        )

    def write(self, now: int) -> None:
        """Add a row per flow, and one of their sum, for the time `now` (ns)."""
        time = f"{(now - self._begin) / NS_PER_S:.4f}"
        received = [connection.client_host.received_bytes for connection in self._connections]
        self._rate.add([time, sum(received)])
        for number, (connection, count) in enumerate(
            zip(self._connections, received, strict=True), start=1
        ):
            self._flows.add([time, number, count, *connection.ends.congestion()])
            if self._paths is not None:
                self._paths.add_all(path_rows(number, connection.ends.path_samples()))

    def close(self) -> None:
        """Flush and close the files."""
        for file in filter(None, (self._paths, self._rate, self._flows)):
            file.close()


class VirtualTestbed:
    """The network and its end hosts, as on the real clock; its files go to `directory`.

    Args:
        scenario: what is run.
        directory: gets the files.
    """

    __test__ = False  # not a test class

    def __init__(self, scenario: Scenario, directory: Path) -> None:
        hosts = router_settings(scenario, directory)
        self.core = Core(scenario.virtual, hosts)
        self.loop = self.core.loop
        self._scenario = scenario
        self._ended = 0
        numbers, version = range(1, len(scenario.legs) + 1), scenario.ip_version
        leg_of = {client_address(leg, version): leg for leg in numbers}
        processing = round(scenario.virtual.processing_delay_ms * 1e6)
        paths = wifi_paths(hosts)
        self.gnb, self.ue = (
            self.core.element(settings, leg_of=leg_of, processing_ns=processing, paths=paths)
            for settings in hosts
        )
        self.gnb.connect(self.ue)
        self.ue.connect(self.gnb)
        self.connections = [
            (SansIoConnection if get_runner(flow.transport).virtual() else GuestConnection)(
                scenario, flow, index, core=self.core, directory=directory, ended=self._one_ended
            )
            for index, flow in enumerate(scenario.resolved_flows)
        ]
        for connection in self.connections:
            connection.attach(self.gnb, self.ue)
        self._files: list[CaptureFile | PacketLog] = [*self._captures(directory)]
        self._files += self._packet_logs(directory)
        self._recorder = self._record(directory)

    def run(self) -> None:
        """Run until all flows end, or until the longest workload or the timeout is over.

        Raises:
            PolicyError: a bearer's split policy named a leg that does not exist.
            InputError: a cell's scheduler named a user that does not exist.
            GuestError: a guest kernel did not boot, died or hangs.
        """
        self.gnb.start()
        self.ue.start()
        try:
            for connection in self.connections:
                connection.start()
            self.loop.run(START_NS + round(self._limit_s() * NS_PER_S))
        finally:
            self._recorder.close(self.loop.now)
            for file in self._files:
                file.close()
            for connection in self.connections:
                connection.close()
        self.gnb.summarise()
        self.ue.summarise()

    def _limit_s(self) -> float:
        """Return when (s) the run ends at the latest.

        A download for a given time is cut off exactly then; other workloads have the timeout on
        top. Clients in a guest stop themselves, microseconds later, and so do those beside them.
        """
        patience = self._scenario.timeout_s
        flows = [connection.workload for connection in self.connections]
        in_guest = any(connection.in_guest for connection in self.connections)
        sharp = not in_guest and all(isinstance(workload, Download) for workload in flows)
        return max(
            patience if workload.lasts_s is None else workload.lasts_s + (0 if sharp else patience)
            for workload in flows
        )

    def _one_ended(self) -> None:
        self._ended += 1
        if self._ended == len(self.connections):
            self.loop.stop()

    def _record(self, directory: Path) -> Recorder:
        series: list[SeriesWriter] = [
            *self.gnb.series(),
            *self.ue.series(),
            ConnectionSeries(directory, self.connections, START_NS),
        ]
        recorder = Recorder(series, self._scenario.sampling_ms, START_NS)
        self.loop.add_timed(recorder)()
        return recorder

    def _captures(self, directory: Path) -> Iterator[CaptureFile]:
        """Begin each file `HOST.pcap` with all IP packets that leave or reach an end host.

        Its times are those of the guests' clocks, on which `tcp-info.csv` is. Datagrams get the
        headers here that they have no need of in virtual time.
        """
        for host in self._scenario.virtual.capture:
            file = CaptureFile(directory / f"{host}.pcap", offset=0)
            add = partial(self._add_whole, file)
            for connection in self.connections:
                ways = (connection.uplinks, connection.downlinks)
                sends, gets = ways if host == "client" else ways[::-1]
                for flow in sends:
                    flow.enter = _observed(add, flow.enter)
                for flow in gets:
                    flow.deliver = _observed(add, flow.deliver)
            yield file

    def _add_whole(self, file: CaptureFile, packet: Packet) -> None:
        file.write(self.loop.now, _whole(packet))

    def _packet_logs(self, directory: Path) -> Iterator[PacketLog]:
        virtual = self._scenario.virtual
        for wanted, of_delays in ((virtual.packet_trace, False), (virtual.packet_delays, True)):
            if wanted:
                log = PacketLog(directory, self.loop, of_delays=of_delays)
                for number, connection in enumerate(self.connections, start=1):
                    for flow in connection.downlinks:
                        log.tap(flow, number, "downlink")
                    for flow in connection.uplinks:
                        log.tap(flow, number, "uplink")
                yield log


def _observed(observe: Take, take: Take) -> Take:
    def both(packet: Packet) -> None:
        observe(packet)
        take(packet)

    return both
