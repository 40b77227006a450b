"""The common part of an element on both clocks: legs, bearers and events, by its settings.

A change of a leg's rate is no event: it is part of the leg's capacity (`LegDirection.capacity`).
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from minitopo_dc.files import write_json
from minitopo_dc.link import AnyLeg, Bernoulli, WifiPath, make_leg
from minitopo_dc.pdcp import TransmittingEntity
from minitopo_dc.pdcp.policies.policy import needs_of
from minitopo_dc.router.drivers import (
    Action,
    LegDriver,
    Loop,
    Planned,
    ReceiveDriver,
    ReportSender,
    Schedule,
    Send,
    TransmitDriver,
    Way,
    answering,
    echoing,
    measuring,
)
from minitopo_dc.router.recorder import Series, Snapshot, open_series, snapshot
from minitopo_dc.scenario import LegDirection
from minitopo_dc.scenario.element import (
    Bearer,
    ElementLeg,
    ElementSettings,
    ReportLeg,
    TransmitBearer,
)
from minitopo_dc.scenario.leg import MakeLeg
from minitopo_dc.units import NS_PER_MS, NS_PER_S

NO_LOSS = Bernoulli(0.0)
REPORTS = ("reports_received", "reports_stale", "reports_malformed")
"""What the summary counts of the reports that reached a transmitting entity."""


def leg_changes(
    settings: Iterable[ElementLeg], legs: Mapping[int, AnyLeg[Any]]
) -> Iterator[Planned]:
    """Return the outages and changes of these legs in order of time."""
    made = [(element_leg.radio, legs[element_leg.leg]) for element_leg in settings]
    planned = [
        (round(moment * NS_PER_S), action)
        for radio, leg in made
        for moment, action in _actions(radio, leg)
    ]
    delays = [_delays(radio, leg) for radio, leg in made if radio.delay_varies]
    # A trace that loops changes its delay for ever, so changes are made as they are needed.
    return heapq.merge(
        sorted(planned, key=lambda entry: entry[0]), *delays, key=lambda entry: entry[0]
    )


def _actions(radio: LegDirection, leg: AnyLeg[Any]) -> Iterator[tuple[float, Action]]:
    """Yield when (s) something is to be done to the leg, and what."""
    for begin, end in radio.outages:
        yield begin, partial(leg.set_up, False)
        yield end, partial(leg.set_up, True)
    for change, stage in radio.stages():
        changed: dict[str, Any] = {}
        if change.delay_ms is not None or change.jitter_ms is not None:
            changed["delay"] = stage.delay_model()
        if change.loss_percent is not None:
            changed["loss"] = stage.loss_model() or NO_LOSS
        if change.block_error_percent is not None and stage.rlc is not None:
            changed["block_error"] = stage.rlc.block_error_percent / 100
        if changed:
            yield change.at_s, partial(leg.retune, **changed)


def _delays(radio: LegDirection, leg: AnyLeg[Any]) -> Iterator[tuple[int, Action]]:
    """Yield when (ns) the leg gets another delay, and the change; the first delay is set before."""
    for moment, delay in radio.delays():
        if moment:
            yield moment, partial(leg.retune, delay=delay)


class AnyElement(ABC):
    """The legs and bearers of one router host; subclasses add what is specific to a clock."""

    def __init__(self, settings: ElementSettings) -> None:
        self._settings = settings
        self._cells = [made.cell.build(made.seed) for made in settings.cells]
        self._in_cells: dict[int, MakeLeg] = {
            number: make
            for made, cell in zip(settings.cells, self._cells, strict=True)
            for number, make in made.cell.makers(cell)
        }

    def _built(self, leg: ElementLeg, paths: Mapping[int, WifiPath]) -> AnyLeg[Any]:
        """Return a leg in Python, in its cell if it has one; `paths` are of legs over WiFi."""
        return leg.build(paths, make=self._in_cells.get(leg.leg, make_leg))

    def _assemble(
        self, legs: Mapping[int, LegDriver], seen: Mapping[int, AnyLeg[Any]], loop: Loop
    ) -> None:
        """Make bearers over the legs, and what counts and changes them.

        Args:
            legs: the drivers, by their numbers.
            seen: the legs themselves as far as they can be seen.
            loop: calls what changes legs and what reports.
        """
        settings = self._settings
        self._legs, self._seen = legs, seen
        self._transmit = [self._transmitter(bearer) for bearer in settings.transmit]
        self._receive = [self._receiver(bearer) for bearer in settings.receive]
        for bearer, driver in zip(settings.transmit, self._transmit, strict=True):
            if (path := bearer.report) is not None and driver.entity.feedback is not None:
                for leg in path.legs:
                    self._listen(leg.destination, path.port, partial(_reported, driver))
        senders: list[Schedule | ReportSender] = [*self._reporters(), *self._echoes()]
        self._sources = self._counted_parts()
        scheduled = [leg for leg in settings.legs if leg.leg in seen]
        schedule = Schedule(leg_changes(scheduled, seen), self._legs_changed)
        self._parts = [schedule, *senders]
        self._rearms = [loop.add_timed(part, first=True) for part in reversed(self._parts)][::-1]

    def _save_summary(self, summary: Mapping[str, Any]) -> None:
        """Write the summary of this host at once: a reader sees all of it or none."""
        path = self._settings.directory / f"{self._settings.host}-summary.json"
        write_json(path, {"host": self._settings.host, **summary}, synced=False)

    @abstractmethod
    def _transmitter(self, bearer: TransmitBearer) -> TransmitDriver:
        """Return the driver of a bearer's transmitting entity."""

    @abstractmethod
    def _receiver(self, bearer: Bearer) -> ReceiveDriver:
        """Return the driver of a bearer's receiving entity."""

    def _receive_driver(self, bearer: Bearer, loop: Loop) -> ReceiveDriver:
        """Return the driver in Python of a bearer's receiving entity and of its reports."""
        entity = bearer.pdcp.receiver(len(bearer.legs))
        reports = bearer.pdcp.report_maker(entity, len(bearer.legs))
        return ReceiveDriver(bearer.bearer, entity, loop, reports=reports)

    @abstractmethod
    def _report_way(self, leg: ReportLeg, port: int) -> Way:
        """Return the leg that a report may take, and what puts it there."""

    @abstractmethod
    def _listen(self, address: IPv4Address | IPv6Address, port: int, take: Send) -> None:
        """Give the data of what reaches a UDP port of this host to a function, with the time."""

    def _legs_changed(self, now: int) -> None:
        """Let all parts look at the legs again: some went down or up, or have other parameters."""
        for leg in self._legs.values():
            leg.rearm()
        for transmitter in self._transmit:
            transmitter.legs_changed(now)

    def _counted_parts(self) -> dict[str, dict[int, Snapshot]]:
        """Return what counts, by the file that its counters are in and its number."""
        settings = self._settings
        transmit = zip(settings.transmit, self._transmit, strict=True)
        receive = zip(settings.receive, self._receive, strict=True)
        cells = {n: snapshot(cell.statistics, None) for n, cell in enumerate(self._cells, start=1)}
        parts = {
            "legs": {n: snapshot(driver.leg.statistics) for n, driver in self._legs.items()},
            "transmit": {
                it.bearer: snapshot(own.entity.statistics, it.legs) for it, own in transmit
            },
            "receive": {it.bearer: snapshot(own.statistics, it.legs) for it, own in receive},
        }
        return parts | ({"cells": cells} if cells else {})

    def series(self, buffering: int = -1) -> Iterator[Series]:
        """Begin the time series files; `buffering` as of `Series`."""
        return open_series(self._settings, self._sources, buffering)

    def _start(self, now: int) -> None:
        """Make `now` (ns) time zero of traces, outages and reports."""
        for driver in self._legs.values():
            driver.leg.start(now)
        for part in self._parts:
            part.start(now)
        for driver in self._legs.values():
            driver.rearm()
        for rearm in self._rearms:
            rearm()

    def _counted(self) -> dict[str, dict[int, dict[str, Any]]]:
        """Return what the summary says of legs and bearers, those with reports of these too."""
        counters = {
            name: {number: source() for number, source in of_file.items()}
            for name, of_file in self._sources.items()
        }
        for transmit in self._transmit:
            if transmit.entity.feedback is not None:
                counted = dict(zip(REPORTS, transmit.entity.feedback.counts(), strict=True))
                counters["transmit"][transmit.bearer].update(counted)
        for receive in self._receive:
            if receive.reports is not None:
                counters["receive"][receive.bearer]["reports_sent"] = receive.reports.made
        return counters

    def _transmitting(
        self,
        bearer: TransmitBearer,
        make: Callable[..., Any] = TransmittingEntity,
    ) -> Any:
        """Return a transmitting entity over the legs that can be seen.

        `make` takes what `TransmittingEntity` takes.
        """
        seen = [self._seen[number] for number in bearer.legs if number in self._seen]
        limit = self._settings.buffer_limit(bearer)
        control = self._settings.flow_control(bearer)
        return bearer.pdcp.transmitter(
            len(bearer.legs), seen, buffer_limit=limit, flow_control=control, make=make
        )

    def _reporters(self) -> Iterator[ReportSender]:
        """Make what sends the reports of each receiving bearer that makes any."""
        for bearer, driver in zip(self._settings.receive, self._receive, strict=True):
            if bearer.report is not None and driver.reports is not None:
                ways = [self._report_way(leg, bearer.report.port) for leg in bearer.report.legs]
                every = bearer.pdcp.leg_failure_ms is not None
                yield ReportSender(driver.reports, ways, every_leg=every)

    def _echoes(self) -> Iterator[Schedule]:
        """Make what measures the legs of bearers by echoes, and answer those of the other host."""
        for bearer, driver in zip(self._settings.transmit, self._transmit, strict=True):
            policy: Any = driver.entity.policy
            path = bearer.echo
            if path and bearer.pdcp.echo_ms and "echoes" in needs_of(policy):
                ways = [self._report_way(leg.back(), path.port)[1] for leg in path.legs]
                for position, leg in enumerate(path.legs):
                    take = measuring(policy.echo_answered, position)
                    self._listen(leg.destination, path.port, take)
                yield echoing(ways, round(bearer.pdcp.echo_ms * NS_PER_MS))
        answered = [receive for receive in self._settings.receive if receive.pdcp.echo_ms]
        for path in [receive.echo for receive in answered if receive.echo]:
            for leg in path.legs:
                self._listen(leg.source, path.port, answering(self._report_way(leg, path.port)[1]))


def _reported(driver: TransmitDriver, data: bytes, now: int) -> None:
    """Take in a report of a bearer's receiver, which changes what is known of the legs."""
    if driver.entity.feedback is not None:
        driver.entity.feedback.push(data, now)
        driver.legs_changed(now)
