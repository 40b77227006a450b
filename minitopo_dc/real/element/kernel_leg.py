"""A leg made of the kernel's own queueing disciplines, and the controller that changes it.

    netem (loss, delay, jitter) -> tbf (rate) -> pfifo (the drop-tail queue)

The same as `minitopo_dc.link.CapacityLeg` as seen from outside, with these differences, all of
them the kernel's:

* Packets are delayed before they queue, not after. So a change of the rate is made later by the
  delay, when those packets reach the queue that the change is for.
* A lost packet takes no place in the queue and no time of serialisation.
* netem's jitter is uniform and reorders; its losses follow no seed.
* tbf cannot stop: a rate of 0 is `SLOWEST` here.
* tbf's bucket holds a frame and 1 ms of the rate, which pass at once on an idle leg and after each
  change of the rate. With less, every timer that is later than that would cost capacity.
* tbf counts the Ethernet header too. The rate is set for packets of 1,500 bytes.
"""

from __future__ import annotations

import gc
import heapq
import socket
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from minitopo_dc.link import LegStatistics
from minitopo_dc.real.element.loop import ElementError, clock
from minitopo_dc.real.element.packets import Datagram, Wire
from minitopo_dc.router.drivers import Schedule
from minitopo_dc.scenario import LegDirection, kernel_rates
from minitopo_dc.units import ETHERNET_HEADER_BYTES, NS_PER_S

FRAME = 1614
"""Bytes of the largest frame: a leg's MTU and the Ethernet header. tbf drops what is larger than
its bucket."""
SLOWEST = 1000
"""Bytes a second in place of 0."""
FULL_PACKET = 1500
ROOM = 1_000_000
"""netem's own limit, which includes packets in propagation: only the pfifo's is to be reached."""
NETEM, TBF, FIFO = (number << 16 for number in (1, 2, 3))
"""Handles of the three disciplines."""
ROOT, FIRST_CLASS = 0xFFFFFFFF, 1

Change = tuple[int, int, LegDirection | int]
"""When (ns after the start), 0 or 1 to tell equal times apart, and what holds from then on: the
settings of delay and loss, or a rate in bit/s."""


class KernelLeg(Wire):
    """One direction of a leg by three disciplines of the kernel's, which are changed over time.

    Raises:
        ElementError: the kernel lacks one of them.
    """

    def __init__(self, interface: str, radio: LegDirection) -> None:
        super().__init__()
        # Here: it takes 0.2 s, which an element without such legs need not wait for.
        from pyroute2 import IPRoute, NetlinkError  # noqa: PLC0415

        steps = kernel_rates(radio).steps()
        self._netlink = IPRoute()
        self._index = socket.if_nametoindex(interface)
        self._limit = radio.queue_packets or ROOM
        self._rate = -1
        try:
            self._tc("add", "netem", NETEM, parent=ROOT, limit=ROOM)
            self._tc("add", "tbf", TBF, parent=NETEM | FIRST_CLASS, **self._tbf(SLOWEST))
            self._tc("add", "pfifo", FIFO, parent=TBF | FIRST_CLASS, limit=self._limit)
        except NetlinkError as error:
            raise ElementError(
                f"backend kernel: {interface}: this kernel refuses netem, tbf or pfifo ({error}); "
                "see minitopo-dc check, or use backend: user"
            ) from None
        self._set_air(radio)
        self._set_rate(next(steps)[1])
        planned = timeline(radio, steps)
        self._schedule = Schedule((at, partial(self._change, what)) for at, _, what in planned)
        self._queue_max = 0
        self._lateness: list[int] = []

    def _set_rate(self, rate: int) -> bool:
        """Set the rate in bit/s of IP packets; return whether it is another than before."""
        if rate == self._rate:
            return False  # tbf would refill its bucket
        self._rate = rate
        wire = rate * (FULL_PACKET + ETHERNET_HEADER_BYTES) / FULL_PACKET / 8
        self._tc("change", "tbf", TBF, parent=NETEM | FIRST_CLASS, **self._tbf(round(wire)))
        return True

    def _set_air(self, radio: LegDirection) -> None:
        times = {"delay": round(radio.delay_ms * 1e3), "jitter": round(radio.jitter_ms * 1e3)}
        loss = radio.loss_percent
        self._tc("change", "netem", NETEM, parent=ROOT, limit=ROOM, loss=loss, **times)

    def _tbf(self, rate: int) -> dict[str, int]:
        rate = max(rate, SLOWEST)
        burst = FRAME + rate // 1000 + 1
        # A change sets the limit of whatever queue is below, which counts packets.
        return {"rate": rate, "burst": burst, "limit": self._limit}

    def _tc(self, action: str, kind: str, handle: int, **options: Any) -> None:
        self._netlink.tc(action, kind, self._index, handle, **options)
        gc.collect(0)  # of 10 to 24 KiB of reference cycles; the element's collector is off

    def poll(self, now: int) -> Sequence[Datagram]:  # noqa: ARG002 (a leg's)
        """Make the next change and note how late it is; return no packets, which have gone on."""
        due = self.next_timeout()
        assert due is not None
        self._schedule.handle(due)
        return ()

    def _change(self, what: LegDirection | int, due: int) -> None:
        """Make a change that was due at a moment (ns), and note how late it is complete."""
        if isinstance(what, LegDirection):
            self._set_air(what)
        elif not self._set_rate(what):
            return
        self._lateness.append(clock() - due)

    def set_up(self, up: bool, now: int) -> None:  # noqa: ARG002 (a leg's)
        """Refuse with ElementError, as tbf cannot hold packets back for any length of time."""
        raise ElementError("backend kernel: a leg cannot be taken down; use backend: user")

    def lateness_ms(self) -> dict[str, float]:
        """Return how late changes were complete: their number, mean and maximum (ms)."""
        late = self._lateness or [0]
        mean, largest = sum(late) / len(late) / 1e6, max(late) / 1e6
        return {"changes": len(self._lateness), "mean_ms": mean, "max_ms": largest}

    def statistics(self) -> LegStatistics:
        """Return the kernel's counters in the terms of a leg.

        `queue_max_packets` is the largest queue seen at these calls.
        """
        gc.collect(0)  # of the last call's: what is in use now would be kept for good
        counters = {
            discipline["handle"]: discipline.get_attr("TCA_STATS2")
            for discipline in self._netlink.get_qdiscs(index=self._index)
        }
        air, queue = counters[NETEM], counters[FIFO]
        waiting, on_the_way = _queued(queue, "qlen"), _queued(air, "qlen") - _queued(queue, "qlen")
        refused = _queued(queue, "drops")
        delivered = int(air.get_attr("TCA_STATS_BASIC")["packets"])
        size = int(air.get_attr("TCA_STATS_BASIC")["bytes"]) - delivered * ETHERNET_HEADER_BYTES
        lost = _queued(air, "drops") - refused
        self._queue_max = max(self._queue_max, waiting)
        others = refused + lost + waiting + on_the_way
        return LegStatistics(
            pushed_packets=delivered + others,
            pushed_bytes=size + others * FULL_PACKET,
            delivered_packets=delivered,
            delivered_bytes=size,
            dropped_queue=refused,
            dropped_loss=lost,
            dropped_stop=0,
            dropped_flush=0,
            queue_packets=waiting,
            queue_bytes=_queued(queue, "backlog") - waiting * ETHERNET_HEADER_BYTES,
            queue_max_packets=self._queue_max,
            air_packets=on_the_way,
        )

    def close(self) -> None:
        """Close the netlink socket; the disciplines stay on their interface."""
        self._netlink.close()


def timeline(radio: LegDirection, steps: Iterator[tuple[int, int]]) -> Iterator[Change]:
    """Return all changes in order of time, where those of the rate come later by the delay."""
    air = [
        (round(change.at_s * NS_PER_S), 0, stage)
        for change, stage in radio.stages()
        if change.named().keys() - {"rate_mbps"}
    ]

    def shifted() -> Iterator[Change]:
        for moment, rate in steps:
            current = [stage for at, _, stage in air if at <= moment]
            delay = current[-1].delay_ms if current else radio.delay_ms
            yield moment + round(delay * 1e6), 1, rate

    return heapq.merge(air, shifted())


def _queued(statistics: Any, name: str) -> int:
    return int(statistics.get_attr("TCA_STATS_QUEUE")[name])
