"""The receiver's reports in virtual time: packets of their own on a leg."""

from __future__ import annotations

from collections.abc import Sequence

from minitopo_dc.pdcp import ReportMaker
from minitopo_dc.router import ReportPath
from minitopo_dc.simulation.drivers import LegDriver
from minitopo_dc.simulation.loop import Loop, Timer
from minitopo_dc.simulation.packet import Flow, Packet, Take


class ReportSender:
    """Puts each report of one bearer on a leg when it is due.

    Args:
        maker: of the reports.
        path: the way they may take.
        legs: those of the path.
        loop: gives the time.
        every_leg: whether each report takes all legs that are up, not one.
    """

    def __init__(
        self,
        maker: ReportMaker,
        path: ReportPath,
        legs: Sequence[LegDriver],
        loop: Loop,
        *,
        every_leg: bool = False,
    ) -> None:
        ends = ((str(leg.source), str(leg.destination)) for leg in path.legs)
        flows = [Flow((source, path.port), (to, path.port)) for source, to in ends]
        self._maker = maker
        self._ways = list(zip(legs, flows, strict=True))
        self._most = len(legs) if every_leg else 1
        self._loop = loop
        self._timer = Timer(loop, self._fire)

    def connect(self, take: Take) -> None:
        """The reports reach `take`, by whichever leg."""
        for _, flow in self._ways:
            flow.deliver = take

    def start(self) -> None:
        """Reports begin now."""
        self._maker.start(self._loop.now)
        self._timer.set(self._maker.next_timeout())

    def _fire(self) -> None:
        report = self._maker.poll(self._loop.now)
        if report is not None:
            up = [way for way in self._ways if way[0].leg.is_up] or self._ways
            for leg, flow in up[: self._most]:
                leg.push_plain(Packet(flow, report))
        self._timer.set(self._maker.next_timeout())
