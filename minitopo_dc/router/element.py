"""The common part of an element on both clocks: legs and bearers, made from its settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Generic, Protocol, TypeVar

from minitopo_dc.link import AnyLeg
from minitopo_dc.pdcp import ReceivingEntity, ReportMaker, TransmittingEntity
from minitopo_dc.router.drivers import DeliveryStatistics, Loop, ReportSender, Way
from minitopo_dc.router.recorder import Counters, Series
from minitopo_dc.router.schedule import Schedule
from minitopo_dc.router.settings import ElementSettings, ReceiveBearer, ReportLeg, TransmitBearer


class HasLeg(Protocol):
    """A leg's driver, over real packets or in virtual time."""

    @property
    def leg(self) -> Any:
        """Return the leg or its substitute, which can be started and has statistics."""

    def rearm(self) -> None:
        """Find the leg's next moment anew, after it was changed from outside."""


class Transmits(Protocol):
    """The driver of a bearer's transmitting entity."""

    bearer: int
    entity: TransmittingEntity[Any]

    def legs_changed(self, now: int) -> None:
        """React to legs that went down or up, or got another rate."""


class Receives(Protocol):
    """The driver of a bearer's receiving entity."""

    bearer: int
    reports: ReportMaker | None

    def statistics(self) -> DeliveryStatistics:
        """Return the counters up to now."""


Leg = TypeVar("Leg", bound=HasLeg)
Transmit = TypeVar("Transmit", bound=Transmits)
Receive = TypeVar("Receive", bound=Receives)


class AnyElement(ABC, Generic[Leg, Transmit, Receive]):
    """The legs and bearers of one router host; subclasses add what is specific to a clock."""

    def __init__(self, settings: ElementSettings) -> None:
        self._settings = settings

    def _assemble(
        self, legs: Mapping[int, Leg], seen: Mapping[int, AnyLeg[Any]], loop: Loop
    ) -> None:
        """Make bearers over the legs, and what counts and changes them.

        Args:
            legs: the drivers, by their numbers.
            seen: the legs themselves as far as they can be seen.
            loop: calls what changes legs and what reports.
        """
        settings = self._settings
        self._legs, self._seen = legs, seen
        self._transmit = [
            self._transmitter(bearer, self._transmitting(bearer)) for bearer in settings.transmit
        ]
        self._receive = [self._received(bearer) for bearer in settings.receive]
        senders = list(self._reporters())
        self._counters = Counters(
            settings,
            legs={number: driver.leg.statistics for number, driver in legs.items()},
            transmit=[driver.entity.statistics for driver in self._transmit],
            receive=[driver.statistics for driver in self._receive],
        )
        scheduled = [leg for leg in settings.legs if leg.leg in seen]
        schedule = Schedule(scheduled, seen, self._legs_changed)
        self._parts: list[Schedule | ReportSender] = [schedule, *senders]
        self._alarms = [loop.add_timed(part, first=True) for part in reversed(self._parts)][::-1]

    @abstractmethod
    def _transmitter(self, bearer: TransmitBearer, entity: TransmittingEntity[Any]) -> Transmit:
        """Return the driver of a transmitting entity."""

    @abstractmethod
    def _receiver(
        self, bearer: ReceiveBearer, entity: ReceivingEntity[Any], reports: ReportMaker | None
    ) -> Receive:
        """Return the driver of a receiving entity."""

    @abstractmethod
    def _report_way(self, leg: ReportLeg, port: int) -> Way:
        """Return the leg that a report may take, and what puts it there."""

    def _legs_changed(self, now: int) -> None:
        """Let all parts look at the legs again: some went down or up, or have other parameters."""
        for leg in self._legs.values():
            leg.rearm()
        for transmitter in self._transmit:
            transmitter.legs_changed(now)

    def series(self) -> Iterator[Series]:
        """Begin the time series files."""
        return self._counters.series()

    def _start(self, now: int) -> None:
        """Make `now` (ns) time zero of traces, outages and reports."""
        for driver in self._legs.values():
            driver.leg.start(now)
        for part in self._parts:
            part.start(now)
        for driver in self._legs.values():
            driver.rearm()
        for alarm in self._alarms:
            alarm.rearm()

    def _counted(self) -> dict[str, dict[int, dict[str, Any]]]:
        """Return what the summary says of legs and bearers, those with reports of these too."""
        counters = self._counters.now()
        for transmit in self._transmit:
            if transmit.entity.feedback is not None:
                found = asdict(transmit.entity.feedback.statistics())
                counters["transmit"][transmit.bearer].update(found)
        for receive in self._receive:
            if receive.reports is not None:
                counters["receive"][receive.bearer]["reports_sent"] = receive.reports.made
        return counters

    def _transmitting(self, bearer: TransmitBearer) -> TransmittingEntity[Any]:
        seen = [self._seen[number] for number in bearer.legs if number in self._seen]
        room = self._settings.queue_packets(bearer)
        return bearer.pdcp.transmitter(len(bearer.legs), seen, queue_packets=room)

    def _received(self, bearer: ReceiveBearer) -> Receive:
        legs = len(bearer.legs)
        entity = bearer.pdcp.receiver(legs)
        return self._receiver(bearer, entity, bearer.pdcp.report_maker(entity, legs))

    def _reporters(self) -> Iterator[ReportSender]:
        """Make what sends the reports of each receiving bearer that makes any."""
        for bearer, driver in zip(self._settings.receive, self._receive, strict=True):
            if bearer.report is not None and driver.reports is not None:
                ways = [self._report_way(leg, bearer.report.port) for leg in bearer.report.legs]
                every = bearer.pdcp.leg_failure_ms is not None
                yield ReportSender(driver.reports, ways, every_leg=every)
