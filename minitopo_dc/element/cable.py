"""A cable with radio's properties between two interfaces of any two hosts or switches.

Run as ``python -m minitopo_dc.element.cable NAME,PID,MAC NAME,PID,MAC`` by whoever makes the hosts:
it makes the two interfaces, each in the network namespace of a process, and carries whole Ethernet
frames between them, each direction through a leg. Interfaces and frames are gone when it ends.

It prints ``ready``, then answers each order on standard input with one line: ``ok``, a JSON object,
or what is wrong. Orders are ``start`` (now is time zero of the traces), ``statistics``, and a JSON
object: ``{"interface": NAME, "seed": TEXT, "radio": {fields of a scenario's downlink}}``. It ends
at the end of standard input, so that it never outlives who started it.

Rules:

* What an interface sends takes the leg of that interface's settings; at first nothing limits it.
* A leg counts IP bytes, as everywhere in this project: a frame's length without its header.
* The first settings make the leg; later ones change capacity, delay and loss and keep the queue,
  its limits and whether jitter reorders.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from minitopo_dc.element.loop import Loop, clock
from minitopo_dc.element.realtime import ElementError, become_exact
from minitopo_dc.element.recorder import flatten
from minitopo_dc.element.settings import READY
from minitopo_dc.element.tap import ETHERNET_HEADER, End, Tap
from minitopo_dc.link import Bernoulli, Leg
from minitopo_dc.settings import LegSettings, Settings, SettingsError
from minitopo_dc.trace import TraceError

BUDGET = 64
"""Frames read from one interface before the other gets a turn (as the kernel's NAPI weight)."""
UNLIMITED = LegSettings(rate_mbps=1e6, delay_ms=0, jitter_ms=0, queue_packets=None)
"""12 ns for the longest usual packet: below what can be measured here."""
OK = "ok"
_CAPACITY = ("rate_mbps", "trace", "trace_column", "end")
_DELAY = ("delay_ms", "jitter_ms", "jitter")
_LOSS = ("loss_percent", "burst_loss")


class Order(Settings):
    """New settings of one direction."""

    interface: str
    radio: LegSettings
    seed: str


class Direction:
    """What one interface sends, on its way to the other."""

    def __init__(self, source: Tap, sink: Tap, loop: Loop) -> None:
        self._source = source
        self._receive = source.receive
        self._send = sink.send
        self._loop = loop
        self._settings: LegSettings | None = None
        self._leg: Leg[bytes] = UNLIMITED.build("")
        self._refused = 0
        loop.add_source(self)
        loop.add_timed(self)

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._source.fileno()

    def read(self) -> None:
        """Put what was sent on the leg, at most ``BUDGET`` frames."""
        loop, receive = self._loop, self._receive
        for _ in range(BUDGET):
            frame = receive()
            if frame is None:
                return
            now = clock()
            if now >= loop.due:
                loop.serve(now)
            if self._leg.push(frame, len(frame) - ETHERNET_HEADER, now):
                loop.wake_at(self._leg.next_timeout())

    def next_timeout(self) -> int | None:
        """When the next frame arrives."""
        return self._leg.next_timeout()

    def handle(self, now: int) -> None:
        """Hand over what has crossed the leg."""
        for frame in self._leg.poll(now):
            if not self._send(frame):
                self._refused += 1

    def start(self, now: int) -> None:
        """Now is the trace's time zero."""
        self._leg.start(now)

    def configure(self, wanted: LegSettings, seed: str, now: int) -> None:
        """Make the leg, or change it; SettingsError for what cannot change."""
        if self._settings is None:
            self._leg = wanted.build(seed)
            self._leg.start(now)
        else:
            self._retune(self._settings, wanted, now)
        self._settings = wanted

    def _retune(self, old: LegSettings, new: LegSettings, now: int) -> None:
        changed = {
            name for name in type(new).model_fields if getattr(old, name) != getattr(new, name)
        }
        fixed = changed.difference(_CAPACITY, _DELAY, _LOSS)
        if fixed:
            raise SettingsError(
                f"{', '.join(sorted(fixed))}: cannot change while the link is there"
            )
        self._leg.retune(
            now,
            capacity=new.capacity() if changed.intersection(_CAPACITY) else None,
            delay=new.delay_model() if changed.intersection(_DELAY) else None,
            loss=(new.loss_model() or Bernoulli(0.0)) if changed.intersection(_LOSS) else None,
        )

    def statistics(self) -> dict[str, Any]:
        """The leg's counters, the interface's drops, and frames that the other had no use for."""
        own = {"kernel_drops": self._source.dropped(), "refused": self._refused}
        return flatten(self._leg.statistics()) | own


class Cable:
    """Both directions."""

    def __init__(self, ends: list[End]) -> None:
        self._loop = Loop()
        left, right = self._taps = [Tap(end) for end in ends]
        self._directions = {
            left.interface: Direction(left, right, self._loop),
            right.interface: Direction(right, left, self._loop),
        }

    def run(self, answer: Callable[[str], None]) -> None:
        """Work until the end of standard input."""
        become_exact(realtime=True)
        answer(READY)
        self._loop.run(lambda line: answer(self._order(line)))
        for tap in self._taps:
            tap.close()

    def _order(self, line: str) -> str:
        now = clock()
        try:
            return self._carry_out(line, now)
        except (SettingsError, TraceError) as error:
            return str(error).replace("\n", "; ")
        finally:
            self._loop.serve(now)

    def _carry_out(self, line: str, now: int) -> str:
        if line == "statistics":
            return json.dumps({name: each.statistics() for name, each in self._directions.items()})
        if line == "start":
            for direction in self._directions.values():
                direction.start(now)
            return OK
        values = json.loads(line)
        order = Order.check(values, values["interface"])
        self._directions[order.interface].configure(order.radio, order.seed, now)
        return OK


def _end(text: str) -> End:
    interface, pid, mac = text.split(",")
    return End(interface, int(pid), mac)


def _answer(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - who started us waits for this line


if __name__ == "__main__":
    try:
        Cable([_end(argument) for argument in sys.argv[1:]]).run(_answer)
    except ElementError as problem:
        _answer(str(problem))
        raise SystemExit(1) from None
