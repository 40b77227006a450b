"""gnb or ue in virtual time: made from the same settings as the element on real packets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from minitopo_dc.link import WifiPath
from minitopo_dc.pdcp import sn_format
from minitopo_dc.router import ElementSettings, ReceiveBearer, TransmitBearer
from minitopo_dc.router.recorder import Counters, Series, write_summary
from minitopo_dc.router.report_counters import add_report_counters
from minitopo_dc.router.schedule import Schedule
from minitopo_dc.simulation.drivers import LegDriver, ReceiveDriver, TransmitDriver, delayed
from minitopo_dc.simulation.loop import Loop, Timer
from minitopo_dc.simulation.packet import Flow, Packet, Take
from minitopo_dc.simulation.reports import ReportSender


class Element:
    """The legs and bearers of one router host."""

    def __init__(
        self,
        settings: ElementSettings,
        loop: Loop,
        *,
        leg_of: Mapping[str, int],
        processing_ns: int,
        paths: Mapping[int, WifiPath],
    ) -> None:
        """Make legs and bearers.

        Args:
            settings: the real element's.
            loop: gives the time.
            leg_of: the leg that a packet without a bearer takes, by each address of the client.
            processing_ns: what a bearer's packet waits before it is split, or reordered.
            paths: of each leg with `wifi`, by its number: that of both directions.
        """
        self._settings = settings
        self._loop = loop
        self._leg_of = leg_of
        self._processing = processing_ns
        self._paths = paths
        self._legs = {leg.leg: LegDriver(leg.leg, leg.build(paths), loop) for leg in settings.legs}
        self._transmit = [self._transmitter(bearer) for bearer in settings.transmit]
        self._receive = [self._receiver(bearer) for bearer in settings.receive]
        self._report_senders = dict(self._reporters())
        self._counters = Counters(
            settings,
            legs={number: driver.leg.statistics for number, driver in self._legs.items()},
            transmit=[driver.entity.statistics for driver in self._transmit],
            receive=[driver.statistics for driver in self._receive],
        )
        self._incoming: dict[Flow, Callable[[tuple[int, Packet, int]], None]] = {}
        self._schedule = Schedule(settings.legs, self._legs, self._legs_changed)
        self._changes = Timer(loop, self._switch)
        self._started = loop.now

    def connect(self, peer: Element) -> None:
        """The PDUs that cross this element's legs reach `peer`."""
        for number, leg in self._legs.items():
            leg.arrive = peer.arrive
            if number in self._paths:
                leg.other = peer._legs[number]
        for bearer, sender in self._report_senders.items():
            sender.connect(peer.report_taker(bearer))

    def start(self) -> None:
        """Now is time zero of traces and outages."""
        self._started = self._loop.now
        for driver in self._legs.values():
            driver.leg.start(self._started)
            driver.rearm()
        self._schedule.start(self._started)
        self._changes.set(self._schedule.next_timeout())
        for sender in self._report_senders.values():
            sender.start()

    def entrance(self, flow: Flow) -> Take:
        """What takes a flow's packets from the end host on this side.

        That is the bearer whose filter the flow fits, else the leg of the client's address.
        """
        for bearer, driver in zip(self._settings.transmit, self._transmit, strict=True):
            if flow.belongs_to(bearer.match):
                return delayed(self._loop, self._processing, driver.push)
        addresses = (flow.source[0], flow.destination[0])
        leg = self._legs[next(self._leg_of[each] for each in addresses if each in self._leg_of)]
        return leg.push_plain

    def arrive(self, leg: int, packet: Packet, sn: int) -> None:
        """A PDU crossed a leg of the other element."""
        receive = self._incoming.get(packet.flow)
        if receive is None:
            receive = self._incoming[packet.flow] = self._reorder(packet.flow)
        receive((leg, packet, sn))

    def report_taker(self, bearer: int) -> Take:
        """What takes the reports of a bearer that this element transmits."""
        [driver] = [each for each in self._transmit if each.bearer == bearer]
        feedback = driver.entity.feedback
        assert feedback is not None

        def take(packet: Packet) -> None:
            feedback.push(packet.data, self._loop.now)
            driver.legs_changed()

        return take

    def delivered_bytes(self) -> list[int]:
        """IP bytes that each leg delivered."""
        return [driver.leg.statistics().delivered_bytes for driver in self._legs.values()]

    def series(self) -> Iterator[Series]:
        """The real element's time series files."""
        return self._counters.series()

    def summarise(self) -> None:
        """Write the real element's summary, but for what only a real process has."""
        host, counters = self._settings.host, self._counters.now()
        add_report_counters(
            counters,
            transmit={driver.bearer: driver.entity.feedback for driver in self._transmit},
            receive={driver.bearer: driver.reports for driver in self._receive},
        )
        summary = {"host": host, "start_ns": self._started, **counters}
        write_summary(self._settings.directory / f"{host}-summary.json", summary)

    def _transmitter(self, bearer: TransmitBearer) -> TransmitDriver:
        legs = [self._legs[number] for number in bearer.legs]
        entity = bearer.pdcp.transmitter(
            len(legs),
            [driver.leg for driver in legs],
            queue_packets=self._settings.queue_packets(bearer),
        )
        return TransmitDriver(
            bearer.bearer,
            entity,
            sn_format(bearer.pdcp.sn_bits),
            legs,
            self._loop,
            belongs=lambda carried: (
                carried[1] is not None and carried[0].flow.belongs_to(bearer.match)
            ),
        )

    def _receiver(self, bearer: ReceiveBearer) -> ReceiveDriver:
        positions = {number: position for position, number in enumerate(bearer.legs)}
        entity = bearer.pdcp.receiver(len(positions))
        reports = bearer.pdcp.report_maker(entity, len(positions))
        return ReceiveDriver(bearer.bearer, entity, positions, self._loop, reports=reports)

    def _reporters(self) -> Iterator[tuple[int, ReportSender]]:
        """What sends the reports of each receiving bearer that makes any."""
        for bearer, driver in zip(self._settings.receive, self._receive, strict=True):
            if bearer.report is not None and driver.reports is not None:
                legs = [self._legs[each.leg] for each in bearer.report.legs]
                sender = ReportSender(
                    driver.reports,
                    bearer.report,
                    legs,
                    self._loop,
                    every_leg=bearer.pdcp.leg_failure_ms is not None,
                )
                yield bearer.bearer, sender

    def _reorder(self, flow: Flow) -> Callable[[tuple[int, Packet, int]], None]:
        for bearer, driver in zip(self._settings.receive, self._receive, strict=True):
            if flow.belongs_to(bearer.match):
                return delayed(self._loop, self._processing, driver.push)
        raise LookupError(f"{self._settings.host}: a PDU that no bearer receives")

    def _switch(self) -> None:
        """An outage begins or ends."""
        self._schedule.handle(self._loop.now)
        self._changes.set(self._schedule.next_timeout())

    def _legs_changed(self, _now: int) -> None:
        for driver in self._legs.values():
            driver.rearm()
        for transmitter in self._transmit:
            transmitter.legs_changed()
