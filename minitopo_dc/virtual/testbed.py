"""The network of a scenario in virtual time: end hosts, gnb, ue, and their time series."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from minitopo_dc.router.recorder import Recorder, SeriesWriter
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runs.element_settings import gnb_settings, ue_settings
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address
from minitopo_dc.scenario.element import wifi_paths
from minitopo_dc.units import NS_PER_S
from minitopo_dc.virtual.connection import AnyConnection, SansIoConnection
from minitopo_dc.virtual.core import core_of
from minitopo_dc.virtual.guest import GuestConnection
from minitopo_dc.virtual.loop import START_NS
from minitopo_dc.virtual.packet import Packet, Take
from minitopo_dc.virtual.packet_log import AnyLog, packet_logs
from minitopo_dc.workloads import Download
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
        received = [connection.received_bytes for connection in self._connections]
        self._rate.writerow([time, sum(received)])
        for number, (connection, count) in enumerate(
            zip(self._connections, received, strict=True), start=1
        ):
            self._flows.writerow([time, number, count, *connection.congestion()])

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
        for number, connection in enumerate(self._connections, start=1):
            self._file.write(number, connection.path_samples())

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()


class VirtualTestbed:
    """The network and its end hosts, as on the real clock; its files go to `directory`.

    Args:
        scenario: what is run.
        directory: gets the files.
        core: which core computes it (`core_name`).
    """

    __test__ = False  # not a test class

    def __init__(self, scenario: Scenario, directory: Path, core: str) -> None:
        self.core = core_of(scenario, core)
        self.loop = self.core.loop
        self._scenario = scenario
        self._ended = 0
        numbers, version = range(1, len(scenario.legs) + 1), scenario.ip_version
        leg_of = {client_address(leg, version): leg for leg in numbers}
        processing = round(scenario.virtual.processing_delay_ms * 1e6)
        hosts = (gnb_settings(scenario, directory), ue_settings(scenario, directory))
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
            self.core.join(connection.hosts())
        self._logs = [self._tap(log) for log in packet_logs(scenario, directory, self.loop)]
        self._recorder = self._record(directory)

    def run(self) -> None:
        """Run until all flows end, or until the longest workload or the timeout is over.

        Raises:
            PolicyError: a bearer's split policy named a leg that does not exist.
            SchedulerError: a cell's scheduler named a user that does not exist.
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
            for log in self._logs:
                log.close()
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
        cut_off = all(connection.is_cut_off for connection in self.connections)
        sharp = cut_off and all(isinstance(workload, Download) for workload in flows)
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
        if any(connection.has_paths for connection in self.connections):
            series.append(PathSeries(directory, self.connections))
        recorder = Recorder(series, self._scenario.statistics_ms, START_NS)
        self.loop.add_timed(recorder).rearm()
        return recorder

    def _tap(self, log: AnyLog) -> AnyLog:
        for number, connection in enumerate(self.connections, start=1):
            for direction, flows in (
                ("downlink", connection.downlinks),
                ("uplink", connection.uplinks),
            ):
                for flow in flows:
                    flow.enter = _observed(partial(log.sent, number, direction), flow.enter)
                    flow.deliver = _observed(partial(log.received, number, direction), flow.deliver)
        return log


def _observed(observe: Take, take: Take) -> Take:
    def both(packet: Packet) -> None:
        observe(packet)
        take(packet)

    return both
