"""The receiver's reports in virtual time: packets of their own on an uplink leg."""

from __future__ import annotations

from minitopo_dc.pdcp import ReportMaker
from minitopo_dc.router import ReportPath
from minitopo_dc.simulation.drivers import LegDriver
from minitopo_dc.simulation.loop import Loop, Timer
from minitopo_dc.simulation.packet import Flow, Packet


class ReportSender:
    """Puts each report of one bearer on its leg when it is due."""

    def __init__(self, maker: ReportMaker, path: ReportPath, leg: LegDriver, loop: Loop) -> None:
        self.flow = Flow((str(path.source), path.port), (str(path.destination), path.port))
        self._maker = maker
        self._leg = leg
        self._loop = loop
        self._timer = Timer(loop, self._fire)

    def start(self) -> None:
        """Reports begin now."""
        self._maker.start(self._loop.now)
        self._timer.set(self._maker.next_timeout())

    def _fire(self) -> None:
        report = self._maker.poll(self._loop.now)
        if report is not None:
            packet = Packet(self.flow, report)
            self._leg.push_plain(packet)
        self._timer.set(self._maker.next_timeout())
