"""What a scenario needs by arithmetic, before a run: windows, timers, queues, sizes, ports.

Rates are means of the first 10 s, delays the longest of that time, and queues count where they are
full. It is no verdict: a scenario that falls short may be what somebody asks about.

A caution is what to know before the numbers are believed. It is printed before a run, kept in its
result (`details.cautions`) and shown below its numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, get_args

from minitopo_dc.fields import Direction
from minitopo_dc.pdcp import sn_format
from minitopo_dc.quic.picoquic import CUBIC, OWN_CUBIC
from minitopo_dc.quic.stack import IDLE_TIMEOUT_S
from minitopo_dc.results.path_use import longest_delay_s, round_trip_s
from minitopo_dc.runners.base import Options, get_runner
from minitopo_dc.runners.quic import QuicOptions
from minitopo_dc.runners.sans_io.runner import TUNNEL_BYTES
from minitopo_dc.scenario import DUAL_CONNECTIVITY, LegDirection, ResolvedFlow, Scenario
from minitopo_dc.scenario.addresses import SERVER_PORT
from minitopo_dc.scenario.pdcp import Pdcp
from minitopo_dc.scenario.radio import Leg
from minitopo_dc.units import NS_PER_MS, NS_PER_S

ORDERED = "least-delay"
"""The split that sends so that PDUs arrive in their order: a short timer does not hurt it where it
sees its legs. Over Xn it knows of them what statuses told."""
PDU_BITS = 8 * 1500
LOOK_AHEAD_S = 10.0
"""For how long a trace is read to know its mean rate."""
_PRINTED: set[str] = set()
"""The words that were printed (`print_once`)."""


def print_once(lines: Iterable[str]) -> None:
    """Print lines to standard error but those that this process has printed before."""
    for words in lines:
        if words not in _PRINTED:
            _PRINTED.add(words)
            print(f"minitopo-dc: {words}", file=sys.stderr)  # noqa: T201


def cautions(scenario: Scenario) -> list[str]:
    """Return what is to be known of a scenario's flows, each once.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong.
    """
    plans = (_FlowPlan(scenario, flow, n) for n, flow in enumerate(scenario.resolved_flows))
    return list(dict.fromkeys(line for plan in plans for line in plan.cautions()))


def carriers(flow: ResolvedFlow, way: Direction) -> Sequence[int]:
    """Return the numbers of the legs that carry a flow's packets of a direction."""
    if way == "downlink" or flow.mode not in DUAL_CONNECTIVITY:
        return flow.legs
    return flow.uplink_legs if flow.splits_uplink else flow.uplink_legs[:1]


def drain_s(leg: LegDirection, rate_bps: float) -> float:
    """Return the time (s) of a leg's full queue; one without a limit counts as 0."""
    queued = 8 * leg.queue_holds_bytes()
    return queued / rate_bps if rate_bps and queued < math.inf else 0.0


INITIAL_WINDOW = 14_600
"""Bytes: ten segments (RFC 6928, section 2; RFC 9002, section 7.2 has up to 14,720)."""
KEPT = {"reno": 0.5, "newreno": 0.5, "cubic": 0.7}
"""The part of its window that a congestion control keeps at a loss (RFC 5681, RFC 9438)."""


class Need(NamedTuple):
    """A line of the plan."""

    is_met: bool
    words: str


def needs(scenario: Scenario) -> list[Need]:
    """Return what the flows of a scenario that was checked need, each once.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong.
    """
    plans = (_FlowPlan(scenario, flow, n) for n, flow in enumerate(scenario.resolved_flows))
    return list(dict.fromkeys(need for plan in plans for need in plan.needs()))


def primary_leg(leg: int, given: int | str) -> str:
    """Return a sentence on which leg has the roles of the primary one, by the standards' names."""
    why = "least delay" if given == "nearest" else "as given"
    return (
        f"Leg {leg} is primary ({why}): DC's master node and primaryPath "
        "(TS 37.340, 38.331), multipath's initial path."
    )


@dataclass(frozen=True)
class _FlowPlan:
    """A flow with what its legs can carry in the direction that it loads."""

    scenario: Scenario
    flow: ResolvedFlow
    number: int

    def needs(self) -> Iterator[Need]:
        if self.rate and self.flow.workload.has_goodput:
            yield from self._slow_start()
            yield from self._window()
        if len(self.numbers) > 1:
            yield Need(True, primary_leg(self.scenario.leg_numbers[0], self.scenario.primary_leg))
        yield from self._timer()
        yield from self._queues()
        yield from self._packets()
        yield from self._time()
        runner = get_runner(self.flow.transport)
        if not runner.foreign and not runner.every_leg:
            port = f"{runner.socket_table} port {SERVER_PORT + self.number}"
            yield Need(True, f"ports: server {port}; the client's is the kernel's choice")

    def cautions(self) -> Iterator[str]:
        yield from self._own_cubic()
        yield from self._short_timer()
        yield from self._few_numbers()

    def _own_cubic(self) -> Iterator[str]:
        """Yield that picoquic's CUBIC ignores losses of up to 15 % (its cubic.c, smoothed)."""
        mine = self.flow.congestion_control == OWN_CUBIC
        if mine and any(radio.mean_loss_percent() for radio in self.radios):
            yield (
                f"a leg loses packets at random, and {OWN_CUBIC} reacts to losses above 15 % only; "
                f"congestion_control: {CUBIC} reacts to each, as RFC 9438 says"
            )

    def _short_timer(self) -> Iterator[str]:
        """Yield that t-Reordering expires before the slower leg's PDUs can come."""
        pdcp, timer = self.pdcp, self.pdcp.t_reordering_ms
        if self.flow.mode != "dc" or timer.ns is None or self.keeps_order:
            return
        pairs = zip(self.radios, self.backhauls_ms, strict=True)
        delays = [radio.delay_ms + xn_ms for radio, xn_ms in pairs if not radio.delay_varies]
        skew_ms = max(delays, default=0) - min(delays, default=0)
        if pdcp.delivery == "in-order" and timer.ns < skew_ms * NS_PER_MS:
            over_xn = pdcp.flow_control is not None
            yield (
                f"t-Reordering of {timer} ms is below the legs' skew of {skew_ms:g} ms "
                f"(propagation{' and Xn' * over_xn}, without queues): PDUs of the slower leg come "
                "too late and count as lost; give a longer t_reordering_ms"
                + (f", or split: {ORDERED}" if pdcp.split != ORDERED else "")
            )

    def _few_numbers(self) -> Iterator[str]:
        """Yield that the legs' skew can pass half the SN space (TS 38.323, clause 5.2.2.1)."""
        window = 1 << (self.pdcp.sn_bits - 1)
        if self.flow.mode not in ("dc", "dc-duplicate") or window > 1 << 11:
            return
        pairs = zip(self.radios, self.rates, strict=True)
        nearest_s = min(radio.delay_ms for radio in self.radios) / 1000
        latest_s = max(radio.delay_ms / 1000 + drain_s(radio, rate) for radio, rate in pairs)
        skew_s = latest_s - nearest_s
        if skew_s * self.rate / PDU_BITS >= window:
            yield (
                f"{self.pdcp.sn_bits}-bit SN: the legs' skew of up to {1000 * skew_s:.0f} ms "
                f"(propagation and a full queue) is {skew_s * self.rate / PDU_BITS:.0f} PDUs, and "
                f"half the SN space is {window}: COUNT may run out of step, and stale PDUs are "
                "delivered; take sn_bits: 18"
            )

    @property
    def way(self) -> Direction:
        """Return the direction of the flow's content."""
        return "downlink" if "downlink" in self.flow.workload.loads else "uplink"

    @cached_property
    def numbers(self) -> Sequence[int]:
        """Return the legs that carry the content."""
        return carriers(self.flow, self.way)

    @property
    def pdcp(self) -> Pdcp:
        """Return PDCP of the direction that the flow loads."""
        return self._pdcp_of(self.way)

    def _pdcp_of(self, way: Direction) -> Pdcp:
        return self.flow.pdcp if way == "downlink" else self.flow.uplink_pdcp

    @property
    def keeps_order(self) -> bool:
        """Return whether the split sends so that PDUs arrive in order, as it sees its legs."""
        return self.pdcp.split == ORDERED and self.pdcp.flow_control is None

    @property
    def backhauls_ms(self) -> Sequence[float]:
        """Return Xn's mean one-way delay of each leg in ms, 0 without flow control."""
        control, legs = self.pdcp.flow_control, len(self.radios)
        nodes = () if control is None else control.of_legs(legs)
        return [node.mean_delay_ns / NS_PER_MS for node in nodes] or [0.0] * legs

    @cached_property
    def options(self) -> Options:
        """Return the transport's options, which were checked."""
        return get_runner(self.flow.transport).options_type.check(self.flow.options, "options")

    @cached_property
    def legs(self) -> Sequence[Leg]:
        return [self.scenario.legs[number - 1] for number in self.numbers]

    @cached_property
    def radios(self) -> Sequence[LegDirection]:
        return [leg.direction(self.flow.workload.loads[0]) for leg in self.legs]

    @cached_property
    def rates(self) -> Sequence[float]:
        """Return the legs' mean rates in bit/s."""
        edges = (0, round(LOOK_AHEAD_S * NS_PER_S))
        return [sum(radio.available_bits(edges)) / LOOK_AHEAD_S for radio in self.radios]

    @cached_property
    def rate(self) -> float:
        """Return what all of them carry of one flow, in bit/s."""
        return max(self.rates) if self.flow.mode == "dc-duplicate" else sum(self.rates)

    @cached_property
    def round_trips(self) -> Sequence[float]:
        behind_s = 2 * self.scenario.server_delay_ms / 1000
        return [behind_s + round_trip_s(leg, LOOK_AHEAD_S) for leg in self.legs]

    @cached_property
    def products(self) -> Sequence[float]:
        """Return the bandwidth-delay product of each leg in bytes."""
        pairs = zip(self.rates, self.round_trips, strict=True)
        return [rate * seconds / 8 for rate, seconds in pairs]

    def _skew_s(self, *, full: bool) -> float:
        """Return the most by which a leg is later than another, with its queue full or empty."""
        delays, latest = [], []
        for radio, rate, xn_ms in zip(self.radios, self.rates, self.backhauls_ms, strict=True):
            delays.append(longest_delay_s(radio, LOOK_AHEAD_S) + xn_ms / 1000)
            latest.append(delays[-1] + (drain_s(radio, rate) if full else 0.0))
        return max(latest) - min(delays) if len(delays) > 1 else 0.0

    def _slow_start(self) -> Iterator[Need]:
        """Yield what is sent while windows double up to the product: twice the product."""
        whole = [self.rate * max(self.round_trips) / 8]
        windows = self.products if self.flow.mode == "multipath" else whole
        sent = sum(max(0.0, 2 * window - INITIAL_WINDOW) for window in windows)
        size = self.flow.workload.size_bytes
        trips = math.log2(max(1.0, max(windows) / INITIAL_WINDOW))
        transfer = f"has {_mb(size)}" if size else "lasts a given time"
        yield Need(
            not size or size > sent,
            f"slow start: from 10 packets on it fills the legs after {_mb(sent)} and {trips:.1f} "
            f"round trips; the transfer {transfer}",
        )

    def _window(self) -> Iterator[Need]:
        """Yield RFC 6182's window (section 5.3) of several paths, or with what PDCP holds."""
        seconds = max(self.round_trips) * (2 if self.flow.mode == "multipath" else 1)
        if self.flow.mode == "dc":
            timer = self.flow.pdcp.t_reordering_ms
            skew = self._skew_s(full=True)
            seconds += skew if timer.ns is None else min(skew, timer.ns / NS_PER_S)
        needed = self.rate * seconds / 8
        options = self.options
        if not isinstance(options, QuicOptions):
            yield Need(True, f"receive window: {_mb(needed)} are needed; the kernel sets it")
            return
        window = min(options.max_data, options.max_stream_data)
        yield Need(
            window >= needed,
            f"receive window: {_mb(needed)} are needed, max_data and max_stream_data allow "
            f"{_mb(window)}",
        )

    def _timer(self) -> Iterator[Need]:
        pdcp, timer = self.pdcp, self.pdcp.t_reordering_ms
        if self.flow.mode != "dc" or pdcp.delivery != "in-order" or timer.ns is None:
            return
        bare, full = (1000 * self._skew_s(full=full) for full in (False, True))
        words = (
            f"t-Reordering: {timer} ms; the legs' skew is {bare:.0f} ms, and {full:.0f} ms "
            "when the slower one's queue is full"
        )
        short = next(self._short_timer(), "")  # a caution, which is printed once
        least = bare if pdcp.split == ORDERED else full  # it keeps the slower one's queue short
        met = not short and (self.keeps_order or timer.ns >= least * NS_PER_MS)
        yield Need(met, short or words)

    def _queues(self) -> Iterator[Need]:
        """Yield how long a queue keeps a leg busy when the window shrinks at a loss."""
        kept = KEPT.get(self.flow.congestion_control)
        for number, radio, rate, product in zip(
            self.numbers, self.radios, self.rates, self.products, strict=True
        ):
            queue = drain_s(radio, rate) * rate / 8
            if not (queue and product):
                continue
            need = 0.0 if kept is None else (1 / kept - 1) * product
            wanted = f"; {self.flow.congestion_control} needs {_mb(need)}" if need else ""
            yield Need(
                queue >= need,
                f"queue of leg {number}: {_mb(queue)}, {queue / product:.2g} times its "
                f"bandwidth-delay product of {_mb(product)}{wanted}",
            )

    def _packets(self) -> Iterator[Need]:
        """Yield whether each leg with an MTU passes the transport's largest packets.

        QUIC has such ones in both directions (RFC 9000, sections 8.2.1 and 14.1), TCP where the
        content goes, and it may make them smaller.
        """
        size = self.options.packet_bytes(self.scenario.ip_version)
        is_tcp = get_runner(self.flow.transport).socket_table == "tcp"
        sysctl = getattr(self.scenario, self.scenario.clock).sysctl
        probes = str(sysctl.get("net.ipv4.tcp_mtu_probing", 0)) != "0"  # RFC 4821
        if size is None or (is_tcp and probes):
            return
        if self.flow.proxied and not is_tcp:
            size += TUNNEL_BYTES
        for way in self.flow.workload.loads if is_tcp else get_args(Direction):
            whole = size + self._header_bytes(way)
            for number in carriers(self.flow, way):
                radio = self.scenario.legs[number - 1].direction(way)
                if radio.mtu_bytes is not None and not (is_tcp and radio.mtu_icmp):
                    yield Need(
                        whole <= radio.mtu_bytes,
                        f"MTU of leg {number}: {radio.mtu_bytes} bytes; packets of "
                        f"{self.flow.transport} have up to {whole} there",
                    )

    def _header_bytes(self, way: Direction) -> int:
        """Return the bytes of PDCP's header in a direction, 0 where the packets have none."""
        if self.flow.mode not in DUAL_CONNECTIVITY or (
            way == "uplink" and not self.flow.splits_uplink
        ):
            return 0
        return sn_format(self._pdcp_of(way).sn_bits).size

    def _time(self) -> Iterator[Need]:
        """Yield what takes too long: a packet on a leg, or the transfer on all of them."""
        for number, rate in zip(self.numbers, self.rates, strict=True):
            if rate and PDU_BITS / rate > IDLE_TIMEOUT_S:
                yield Need(
                    False,
                    f"rate of leg {number}: a packet of 1,500 bytes takes {PDU_BITS / rate:.0f} s, "
                    f"and a connection ends after {IDLE_TIMEOUT_S:g} s without any",
                )
        limit_s, bits = self.scenario.timeout_s, 8 * self.flow.workload.size_bytes
        ends = [
            radio.capacity().bits_between(0, round(limit_s * NS_PER_S)) for radio in self.radios
        ]
        most = max(ends) if self.flow.mode == "dc-duplicate" else sum(ends)
        if bits > most:
            yield Need(
                False,
                f"time: the transfer has {_mb(bits / 8)}; its legs carry {_mb(most / 8)} within "
                f"timeout_s, {limit_s:g} s",
            )


def _mb(size_bytes: float) -> str:
    return f"{size_bytes / 1e6:.2g} MB"
