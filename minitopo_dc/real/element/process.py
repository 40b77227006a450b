"""Assembles elements from their settings, and runs them until they are told to stop."""

from __future__ import annotations

import resource
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import IPv4Address, IPv6Address
from mmap import mmap
from time import sleep
from typing import Any

from minitopo_dc.capture import wall_clock_offset
from minitopo_dc.fields import IpVersion
from minitopo_dc.interruption import heed
from minitopo_dc.link import WifiPath, make_leg
from minitopo_dc.link.rlc.leg import SHOWN_BYTES
from minitopo_dc.pdcp import sn_format
from minitopo_dc.real.element import rules
from minitopo_dc.real.element.captures import Captures
from minitopo_dc.real.element.injection import Injector, ReportReceiver
from minitopo_dc.real.element.kernel_leg import KernelLeg
from minitopo_dc.real.element.loop import ElementError, RealLoop, clock, configure_realtime, inside
from minitopo_dc.real.element.next_hops import NextHops
from minitopo_dc.real.element.packets import (
    Datagram,
    Take,
    Wire,
    departures,
    pdu_packets,
    pdus,
    sdus,
)
from minitopo_dc.real.element.queues import (
    HEADER_ONLY,
    WHOLE_PACKET,
    KernelQueue,
    read_drops,
    read_refusals,
    refused_since,
)
from minitopo_dc.router.drivers import LegDriver, ReceiveDriver, Send, TransmitDriver, Way
from minitopo_dc.router.element import AnyElement
from minitopo_dc.router.ip import too_big, udp_datagram
from minitopo_dc.router.recorder import Recorder
from minitopo_dc.scenario.element import (
    READY,
    Bearer,
    Core,
    ElementLeg,
    ElementSettings,
    ReportLeg,
    TransmitBearer,
)
from minitopo_dc.units import NS_PER_S


class RealElement(AnyElement):
    """The legs and bearers of one router host, over the kernel's queues."""

    core: Core = "python"
    core_reason: str | None = None
    """Why the core is not the native one; None: it is."""

    def __init__(
        self,
        settings: ElementSettings,
        loop: RealLoop,
        *,
        paths: Mapping[int, WifiPath],
        host: int | None = None,
    ) -> None:
        """Make the legs and bearers of one host.

        Args:
            settings: of this host.
            loop: serves this element, and others of the process.
            paths: of legs over WiFi (`wifi_paths`).
            host: a process in the host's network namespace; None: this process is.

        Raises:
            ElementError, OSError: the host has not what the settings name.
        """
        super().__init__(settings)
        self.name, self.realtime = settings.host, settings.realtime
        self._loop = loop
        self._paths = paths
        self._host = host
        with inside(host):
            self._make()

    def _make(self) -> None:
        settings = self._settings
        self._rules: list[rules.Rule] = []
        self._queues: list[int] = []
        self._open = ExitStack()
        self._started: int | None = None
        self._wall_clock_offset = wall_clock_offset()
        self._captures = self._open_captures()
        self._open.callback(self._close_captures)
        self._counts: dict[tuple[str, int], dict[str, int]] = {}
        self._kernel_legs: dict[int, KernelLeg] = {}
        self._injectors: dict[int, Injector] = {}
        self._others: list[tuple[Any, str]] = []
        legs = {leg.leg: self._leg_driver(leg) for leg in settings.legs}
        legs |= {wire.leg: self._driver(wire.leg, Wire()) for wire in settings.wires}
        for injector in self._injectors.values():
            self._open.callback(injector.close)
        self._next_hops = self._watched()
        user = settings.legs if settings.backend == "user" else ()
        self._assemble(legs, {leg.leg: legs[leg.leg].leg for leg in user}, self._loop)
        for leg in user:
            reads = settings.pcap or leg.radio.discipline() or leg.radio.mtu_icmp
            queue = self._departures(legs[leg.leg], WHOLE_PACKET if reads else HEADER_ONLY)
            self._rules += (
                rules.outgoing(leg.interface, queue, version) for version in settings.ip_versions
            )

    @contextmanager
    def serving(self, refused: list[str]) -> Iterator[None]:
        """Let packets reach it for a block; write the summary if nothing went wrong.

        Args:
            refused: what the kernel has refused this process.
        """
        # A row is in its file at once: this process may be killed.
        series = list(self.series(buffering=1))
        recorder = Recorder(series, self._settings.statistics_ms, clock())
        self._loop.add_timed(recorder)
        with inside(self._host):
            before = read_refusals()
        with rules.installed(self._rules, self._host):
            if self._next_hops is not None:
                self._next_hops.start()
            yield
        recorder.close(clock())
        self._captures.close()
        self._summarise(refused, before)

    def close(self) -> None:
        """Unbind the queues; the kernel drops what the cores still hold."""
        self._open.close()

    def _close_captures(self) -> None:
        with suppress(OSError):  # `serving` has closed them, unless something has failed already
            self._captures.close()

    def _open_captures(self) -> Captures:
        return Captures(self._settings, self._wall_clock_offset)

    def _leg_driver(self, leg: ElementLeg) -> LegDriver:
        """Return the driver of a leg, and open what sends the element's own packets on it."""
        if self._settings.backend == "kernel":
            made = KernelLeg(leg.interface, leg.radio)
            self._open.callback(made.close)
            self._kernel_legs[leg.leg] = made
            return self._driver(leg.leg, made)
        driver = self._driver(leg.leg, self._built(leg, self._paths))
        self._share(leg, driver.leg, make_leg)
        if leg.radio.mtu_icmp and leg.radio.mtu_bytes:
            self._answer_errors(driver, leg.radio.mtu_bytes)
        return driver

    def _share(self, leg: ElementLeg, core: Any, make: Any) -> None:
        """Let a leg and its other direction, in another process, see each other."""
        if leg.other is None:
            return
        core.share(self._memory(leg.interface))
        other = leg.other.radio.build(leg.seed, make=make)
        core.pair(other)
        self._others.append((other, leg.other.interface))

    def _memory(self, interface: str) -> memoryview[int]:
        """Return what a direction shows, in memory of all processes of a run."""
        path = self._settings.directory / f"{interface}.shown"
        self._open.callback(path.unlink, missing_ok=True)
        with path.open("a+b") as file:
            file.truncate(SHOWN_BYTES)
            return memoryview(mmap(file.fileno(), SHOWN_BYTES)).cast("q")

    def _driver(self, number: int, leg: Any) -> LegDriver:
        self._injectors[number] = Injector(number, self._host)
        return LegDriver(number, leg, self._loop)

    def _answer_errors(self, driver: LegDriver, mtu: int) -> None:
        """Have the sources of packets that are larger than a leg's MTU (bytes) told of it."""
        errors = Injector(None, self._host)
        self._open.callback(errors.close)

        def answer(packet: Datagram) -> None:
            errors.send(too_big(packet.data, mtu, of_bearer=packet.bearer is not None))

        driver.mtu, driver.answer = mtu, answer

    def _count(self, series: str, number: int) -> dict[str, int]:
        """Return what counts, for the summary, packets that did not get to a leg or bearer."""
        return self._counts.setdefault((series, number), {})

    def _watched(self) -> NextHops | None:
        """Return the watcher of legs whose interfaces may go down, None if there are none."""
        hops = self._settings.next_hops
        if not hops:
            return None
        interfaces = [self._settings.interface(hop.leg) for hop in hops]
        watch = NextHops(hops, interfaces, self._interfaces_changed)
        self._loop.add_source(watch)
        self._open.callback(watch.close)
        return watch

    def _departures(self, driver: LegDriver, copy: int) -> int:
        """Make the queue of what leaves on a leg without a bearer, and return its number."""
        number = driver.number
        counts = self._count("legs", number)
        take = departures(driver, self._loop, counts, self._captures.plain(number))
        return self._queue(take, copy)

    def _queue(self, callback: Take, copy: int) -> int:
        queue = KernelQueue(len(self._queues), callback, copy)
        self._queues.append(queue.number)
        self._open.callback(queue.close)
        self._loop.add_source(queue)
        return queue.number

    def _transmitter(self, bearer: TransmitBearer) -> TransmitDriver:
        number, numbers = bearer.bearer, sn_format(bearer.pdcp.sn_bits)
        carry = pdu_packets(number, numbers, self._injectors, self._captures.outbound(bearer))
        legs = [self._legs[leg] for leg in bearer.legs]
        driver = TransmitDriver(number, self._transmitting(bearer), legs, self._loop, carry)
        take = sdus(driver, numbers, self._loop, self._count("transmit", number))
        self._admit(bearer, self._queue(take, WHOLE_PACKET))
        return driver

    def _admit(self, bearer: TransmitBearer, queue: int) -> None:
        """Let a bearer get its SDUs by their queue."""
        own = rules.accepts_local(bearer.interface)
        for version in self._versions(bearer):
            rule = rules.forwarded(bearer.interface, bearer.match, queue, version, own=own)
            self._rules.append(rule)

    def _listen(self, address: IPv4Address | IPv6Address, port: int, take: Send) -> None:
        receiver = ReportReceiver(address, port, take)
        self._open.callback(receiver.close)
        self._loop.add_source(receiver)

    def _receiver(self, bearer: Bearer) -> ReceiveDriver:
        number, numbers = bearer.bearer, sn_format(bearer.pdcp.sn_bits)
        indices = self._indices(bearer)
        positions = {index: position for position, index in enumerate(indices)}
        driver = self._receive_driver(bearer, self._loop)
        take = pdus(driver, numbers, positions, self._loop, self._count("receive", number))
        legs = dict(zip(indices, bearer.legs, strict=True))
        arrivals = self._captures.arrivals(take, bearer, legs)
        self._admit_pdus(bearer, self._queue(arrivals, WHOLE_PACKET))
        return driver

    def _indices(self, bearer: Bearer) -> list[int]:
        """Return the kernel's indices of the interfaces by which a bearer's PDUs enter."""
        indices = []
        for interface in (self._settings.interface(number) for number in bearer.legs):
            try:
                indices.append(socket.if_nametoindex(interface))
            except OSError:
                raise ElementError(f"no interface {interface} on this host") from None
        return indices

    def _admit_pdus(self, bearer: Bearer, queue: int) -> None:
        """Let a bearer get its PDUs by their queue."""
        for number in bearer.legs:
            interface = self._settings.interface(number)
            for version in self._versions(bearer):
                self._rules.append(rules.incoming(interface, bearer.match, queue, version))

    def _report_way(self, leg: ReportLeg, port: int) -> Way:
        put = self._putting(leg.leg)

        def send(report: bytes, now: int) -> None:
            put(udp_datagram(leg.source, leg.destination, port, report), now)

        return self._legs[leg.leg].leg, send

    def _putting(self, number: int) -> Send:
        """Return what puts a datagram of the element's own on a leg."""
        driver, injector = self._legs[number], self._injectors[number]
        record = self._captures.plain(number)

        def put(data: bytes, now: int) -> None:
            driver.push(Datagram(data, injector=injector, record=record), len(data), now)

        return put

    def _versions(self, bearer: Bearer) -> Sequence[IpVersion]:
        """Return the IP versions that a bearer carries: both, where its match names no network."""
        version = bearer.match.ip_version
        return (version,) if version else self._settings.ip_versions

    def order(self, line: str) -> None:
        """Carry out `start`, `start MOMENT` (ns, of all hosts), `down LEG` or `up LEG`."""
        now = clock()
        match line.split():
            case ["start"]:
                self._start(now)
            case ["start", moment] if moment.isdigit():
                now = int(moment)
                sleep(max(0, now - clock()) / NS_PER_S)
                self._start(now)
            case [("down" | "up") as state, number] if (
                number.isdigit() and int(number) in self._legs
            ):
                self._legs[int(number)].leg.set_up(state == "up", now)
                self._legs_changed(now)
            case _:
                raise ElementError(f"unknown order {line!r}; allowed: start, down LEG, up LEG")
        self._loop.serve(now)

    def _start(self, now: int) -> None:
        self._started = now
        super()._start(now)
        for other, interface in self._others:
            other.start(now)
            other.share(self._memory(interface))

    def _interfaces_changed(self, up: Mapping[int, bool], now: int) -> None:
        """Take legs down or up with their interfaces; bearers use those that are up."""
        for number, state in up.items():
            self._legs[number].leg.set_up(state, now)
        for driver, bearer in zip(self._transmit, self._settings.transmit, strict=True):
            driver.use([up.get(number, True) for number in bearer.legs])
        self._legs_changed(now)
        self._loop.serve(now)

    def _uncarried(self) -> Mapping[tuple[str, int], Mapping[str, int]]:
        """Return, by their counters, the packets that did not get to each leg or bearer."""
        return self._counts

    def _copies_refused(self) -> int:
        """Return how many packets of the element's own the kernel did not send."""
        return sum(injector.refused for injector in self._injectors.values())

    def _summarise(self, refused: list[str], before: dict[str, int]) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        with inside(self._host):
            drops, ip_refusals = read_drops(), refused_since(before)
        counters = self._counted()
        for (series, number), counts in self._uncarried().items():
            counters[series][number] |= counts
        summary = {
            "core": self.core,
            "core_reason": self.core_reason,
            "start_ns": self._started,
            "wall_clock_offset_ns": self._wall_clock_offset,
            **counters,
            "kernel_drops": {queue: drops[queue] for queue in self._queues},
            "ip_refusals": ip_refusals,
            "copies_refused": self._copies_refused(),
            "kernel_changes": {n: leg.lateness_ms() for n, leg in self._kernel_legs.items()},
            "timer_lateness_log2_ns": self._loop.lateness,
            "stalls_ns": self._loop.stalls,
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "refused_by_kernel": refused,
        }
        self._save_summary(summary)


def run(elements: Sequence[RealElement], loop: RealLoop) -> None:
    """Run the elements of one process until it is told to stop.

    An order is for all elements, or begins with the name of its host and a colon.

    Raises:
        ElementError: one of them cannot, or an order is none.
    """
    refused = configure_realtime(realtime=any(element.realtime for element in elements))
    heed(lambda *_: loop.stop(), signal.SIGTERM, signal.SIGINT)

    def order(line: str) -> None:
        host, colon, rest = line.partition(": ")
        meant = [element for element in elements if not colon or element.name == host]
        if not meant:
            raise ElementError(f"order {line!r}: no element of {host} is here")
        for element in meant:
            element.order(rest if colon else line)

    with ExitStack() as stack:
        for element in elements:
            stack.enter_context(element.serving(refused))
        print(READY, flush=True)  # noqa: T201 - who started us waits for this line
        loop.run(order)
