"""The network of a scenario in virtual time: end hosts, gnb, ue, and their time series."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from minitopo_dc.router import wifi_paths
from minitopo_dc.router.recorder import Recorder, Rows
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runs.routers import gnb_settings, ue_settings
from minitopo_dc.scenario import ResolvedFlow, Scenario
from minitopo_dc.scenario.addresses import client_address
from minitopo_dc.units import NS_PER_S
from minitopo_dc.virtual.choice import chosen_core
from minitopo_dc.virtual.connection import AnyConnection, Connection
from minitopo_dc.virtual.guest import GuestConnection
from minitopo_dc.virtual.loop import START_NS, TimedPart
from minitopo_dc.virtual.packet import Packet, Take
from minitopo_dc.virtual.series import ConnectionSeries, PacketTrace, PathSeries
from minitopo_dc.workloads import Download


class Testbed:
    """The network and its end hosts, as on the real clock; its files go to `directory`."""

    __test__ = False  # not a test class

    def __init__(self, scenario: Scenario, directory: Path) -> None:
        self.core = chosen_core(scenario)
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
            _kind(flow)(
                scenario, flow, index, core=self.core, directory=directory, ended=self._one_ended
            )
            for index, flow in enumerate(scenario.resolved_flows)
        ]
        for connection in self.connections:
            connection.attach(self.gnb, self.ue)
            self.core.join(connection.hosts())
        self._trace = self._tap(directory) if scenario.virtual.packet_trace else None
        self._recorder = self._record(directory)

    def run(self) -> None:
        """Run until all flows end, or until the longest workload or the timeout is over.

        Raises:
            PolicyError: a bearer's split policy named a leg that does not exist.
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
            if self._trace is not None:
                self._trace.close()
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
        sharp = cut_off and all(isinstance(each, Download) for each in flows)
        return max(
            patience if each.lasts_s is None else each.lasts_s + (0 if sharp else patience)
            for each in flows
        )

    def _one_ended(self) -> None:
        self._ended += 1
        if self._ended == len(self.connections):
            self.loop.stop()

    def _record(self, directory: Path) -> Recorder:
        series: list[Rows] = [
            *self.gnb.series(),
            *self.ue.series(),
            ConnectionSeries(directory, self.connections, START_NS),
        ]
        if any(each.has_paths for each in self.connections):
            series.append(PathSeries(directory, self.connections))
        recorder = Recorder(series, self._scenario.statistics_ms, START_NS)
        TimedPart(self.loop, recorder).rearm()
        return recorder

    def _tap(self, directory: Path) -> PacketTrace:
        trace = PacketTrace(directory / "packets.csv", self.loop)
        for number, connection in enumerate(self.connections, start=1):
            for direction, flows in (
                ("downlink", connection.downlinks),
                ("uplink", connection.uplinks),
            ):
                for flow in flows:
                    flow.enter = _observed(partial(trace.sent, number, direction), flow.enter)
                    flow.deliver = _observed(
                        partial(trace.received, number, direction), flow.deliver
                    )
        return trace


def _kind(flow: ResolvedFlow) -> type[AnyConnection]:
    return Connection if get_runner(flow.transport).virtual() else GuestConnection


def _observed(observe: Take, take: Take) -> Take:
    def both(packet: Packet) -> None:
        observe(packet)
        take(packet)

    return both
