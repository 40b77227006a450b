"""A cable with a radio link's properties between two interfaces of any two hosts or switches.

Whoever makes the hosts runs

    python -m minitopo_dc.real.element.radio_link NAME,PID,MAC NAME,PID,MAC

It makes the two interfaces, each in the network namespace of a process, and carries whole Ethernet
frames between them, each direction through a leg. Interfaces and frames are gone when it ends.

It prints `ready`, then answers each order on standard input with one line: `ok`, a JSON object,
or what is wrong. Orders are `start` (now is time zero of the traces), `statistics`, and a JSON
object: `{"interface": NAME, "seed": TEXT, "radio": {fields of a scenario's downlink}}`. It ends
at the end of standard input, so that it never outlives who started it.

Rules:

* What an interface sends takes the leg of that interface's settings; at first nothing limits it.
* A leg counts IP bytes, as everywhere in this project: a frame's length without its header. A frame
  with nothing behind its header is dropped and counted (`malformed`).
* The first settings make the leg; later ones change capacity, delay, loss and the errors of RLC's
  blocks and keep the queue, its limits, the rest of RLC and whether jitter reorders.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from pydantic import model_validator

from minitopo_dc.fields import Settings, SettingsError
from minitopo_dc.link import AnyLeg, Bernoulli
from minitopo_dc.real.element.loop import ElementError, RealLoop, clock, configure_realtime, inside
from minitopo_dc.router.recorder import flatten
from minitopo_dc.scenario import LegDirection
from minitopo_dc.scenario.element import READY
from minitopo_dc.units import ETHERNET_HEADER_BYTES

DEVICE = "/dev/net/tun"
# linux/if_tun.h, linux/sockios.h, linux/if_arp.h: not in Python's modules.
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
SIOCSIFHWADDR, SIOCSIFTXQLEN, ARPHRD_ETHER = 0x8924, 0x8943, 1
REQUEST = struct.Struct("16s24s")
"""struct ifreq: an interface's name and a union (netdevice(7))."""
KERNEL_QUEUE = 100_000
"""Frames that the kernel keeps until they are read, instead of its 1,000: a second of the highest
rate aimed at. The emulated queue is the leg's; this one must never be full."""
LARGEST_FRAME = 65_535 + ETHERNET_HEADER_BYTES
TRANSMIT_DROPS = 11
"""Column of `/proc/net/dev` behind the name (proc(5))."""


TapEnd = tuple[str, int, str]
"""An interface to be made: its name, a process in its network namespace, its MAC address, which the
kernel makes up if it is empty."""


class Tap:
    """A TAP interface; it exists as long as this object is open.

    What the host sends is read here, and what is written here the host receives. The kernel takes
    a frame off its sender's account when it hands it over (tun_net_xmit orphans it), so that TCP
    small queues do not see how long it is held.

    Raises:
        ElementError: the interface cannot be made.
    """

    def __init__(self, end: TapEnd) -> None:
        self.interface, self._pid, mac = end
        name = self.interface.encode()
        try:
            with inside(self._pid):
                self._descriptor = os.open(DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
                flags = struct.pack("H", IFF_TAP | IFF_NO_PI)
                fcntl.ioctl(self._descriptor, TUNSETIFF, REQUEST.pack(name, flags))
                if mac:
                    octets = bytes.fromhex(mac.replace(":", ""))
                    address = REQUEST.pack(name, struct.pack("=H6s", ARPHRD_ETHER, octets))
                    fcntl.ioctl(self._descriptor, SIOCSIFHWADDR, address)
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
                    length = REQUEST.pack(name, struct.pack("i", KERNEL_QUEUE))
                    fcntl.ioctl(control, SIOCSIFTXQLEN, length)
        except OSError as error:
            raise ElementError(
                f"interface {self.interface}: {error.strerror} (it needs root and {DEVICE})"
            ) from None

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._descriptor

    def receive(self) -> bytes | None:
        """Return the next Ethernet frame that the host has sent, None if there is none."""
        try:
            return os.read(self._descriptor, LARGEST_FRAME)
        except BlockingIOError:
            return None

    def send(self, frame: bytes) -> bool:
        """Let the host receive a frame; return False when its interface is down."""
        try:
            os.write(self._descriptor, frame)
        except OSError:
            return False
        return True

    def dropped(self) -> int:
        """Return how many frames the kernel dropped because they were not read in time."""
        table = Path(f"/proc/{self._pid}/net/dev").read_text(encoding="ascii").splitlines()
        row = next(row for row in table if row.split(":")[0].strip() == self.interface)
        return int(row.split(":")[1].split()[TRANSMIT_DROPS])

    def close(self) -> None:
        """Remove the TAP interface from its host."""
        os.close(self._descriptor)


BUDGET = 64
"""Frames read from one interface before the other gets a turn (as the kernel's NAPI weight)."""
UNLIMITED = LegDirection(rate_mbps=1e6, delay_ms=0, jitter_ms=0, queue_packets=None)
"""12 ns for the longest usual packet: below what can be measured here."""
OK = "ok"
CAPACITY = (
    *("rate_mbps", "trace", "trace_column", "trace_time_column", "trace_mean_mbps"),
    *("end", "offset_s"),
)
DELAY = ("delay_ms", "jitter_ms", "jitter")
LOSS = ("loss_percent", "burst_loss")
END = re.compile(r"([^,/\s]{1,15}),([0-9]{1,10}),((?:[0-9A-Fa-f]{2}:?){6})?")
"""NAME,PID,MAC; a name of an interface has 15 bytes at most (IFNAMSIZ of linux/if.h)."""


class Order(Settings):
    """New settings of one direction of the cable."""

    interface: str
    radio: LegDirection
    seed: str

    @model_validator(mode="after")
    def _check_delay(self) -> Self:
        if self.radio.delay_varies:
            name = "delay_curve" if self.radio.delay_trace is None else "delay_trace"
            raise ValueError(f"{name}: a link outside a scenario has none; allowed: delay_ms")
        return self


class OneWay:
    """One direction of the cable: what one interface sends, on its way to the other."""

    def __init__(self, source: Tap, sink: Tap, loop: RealLoop) -> None:
        self.fileno = source.fileno
        self._source, self._sink, self._loop = source, sink, loop
        self._settings: LegDirection | None = None
        self._leg: AnyLeg[bytes] = UNLIMITED.build("")
        self._refused = self._malformed = 0
        loop.add_source(self)
        loop.add_timed(self)

    def read(self) -> None:
        """Put what was sent on the leg, at most `BUDGET` frames."""
        for _ in range(BUDGET):
            frame = self._source.receive()
            if frame is None:
                return
            now = self._loop.catch_up(clock())
            size = len(frame) - ETHERNET_HEADER_BYTES
            if size < 1:
                self._malformed += 1
            elif self._leg.push(frame, size, now):
                self._loop.wake_at(self._leg.next_timeout())

    def next_timeout(self) -> int | None:
        """Return when the next frame arrives (ns), None if there is none."""
        return self._leg.next_timeout()

    def handle(self, now: int) -> None:
        """Hand over the frames that have crossed the leg."""
        for frame in self._leg.poll(now):
            if not self._sink.send(frame):
                self._refused += 1
        self._leg.dropped()  # the leg counts them; nobody waits for a frame

    def start(self, now: int) -> None:
        """Start the trace's time at `now` (ns)."""
        self._leg.start(now)

    def configure(self, settings: LegDirection, seed: str, now: int) -> None:
        """Make the leg, or change it; raise SettingsError for what cannot change."""
        if self._settings is None:
            self._leg = settings.build(seed)
            self._leg.start(now)
        else:
            self._leg.retune(now, **_changes(self._settings, settings))
        self._settings = settings

    def statistics(self) -> dict[str, Any]:
        """Return the counters of the leg and the interface, and frames refused or malformed."""
        own = {"kernel_drops": self._source.dropped(), "refused": self._refused}
        return flatten(self._leg.statistics()) | own | {"malformed": self._malformed}


def _changes(old: LegDirection, new: LegDirection) -> dict[str, Any]:
    """Return the models of a leg that differ; raise SettingsError for what cannot change."""
    changed = {name for name in type(new).model_fields if getattr(old, name) != getattr(new, name)}
    fixed = changed.difference(CAPACITY, DELAY, LOSS)
    models: dict[str, Any] = {}
    if "rlc" in changed and old.rlc and new.rlc:
        percent = new.rlc.block_error_percent
        if old.rlc.model_copy(update={"block_error_percent": percent}) == new.rlc:
            fixed.remove("rlc")
            models["block_error"] = percent / 100
    if fixed:
        raise SettingsError(f"{', '.join(sorted(fixed))}: cannot change while the link is there")
    if changed.intersection(CAPACITY):
        models["capacity"] = new.capacity()
    if changed.intersection(DELAY):
        models["delay"] = new.delay_model()
    if changed.intersection(LOSS):
        models["loss"] = new.loss_model() or Bernoulli(0.0)
    return models


class Cable:
    """Both directions of the cable between two interfaces."""

    def __init__(self, ends: list[TapEnd]) -> None:
        self.loop = RealLoop()
        left, right = self._taps = [Tap(end) for end in ends]
        self.directions = {
            left.interface: OneWay(left, right, self.loop),
            right.interface: OneWay(right, left, self.loop),
        }

    def run(self, answer: Callable[[str], None]) -> None:
        """Work on orders until the end of standard input."""
        configure_realtime(realtime=True)
        answer(READY)
        self.loop.run(lambda line: answer(self.order(line)))
        for tap in self._taps:
            tap.close()

    def order(self, line: str) -> str:
        """Carry an order out, and return its answer in one line."""
        now = clock()
        try:
            return self._carry_out(line, now)
        except (ValueError, OverflowError) as error:  # SettingsError, TraceError, a leg's own
            return one_line(str(error))
        finally:
            self.loop.serve(now)

    def _carry_out(self, line: str, now: int) -> str:
        if line == "statistics":
            return json.dumps({name: way.statistics() for name, way in self.directions.items()})
        if line == "start":
            for direction in self.directions.values():
                direction.start(now)
            return OK
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            raise SettingsError(
                f"unknown order {line[:80]!r}: must be start, statistics or "
                "a JSON object with interface, seed and radio"
            )
        order = Order.check(values, str(values.get("interface", "order")))
        if order.interface not in self.directions:
            known = ", ".join(self.directions)
            raise SettingsError(f"interface {order.interface!r}: must be one of {known}")
        self.directions[order.interface].configure(order.radio, order.seed, now)
        return OK


def one_line(text: str) -> str:
    """Return the text in one line of printable ASCII."""
    return "; ".join(text.splitlines()).encode("ascii", "backslashreplace").decode()


def read_ends(arguments: list[str]) -> list[TapEnd]:
    """Return both ends of the cable; ElementError says what an argument must be."""
    matches = [END.fullmatch(argument) for argument in arguments]
    ends = [(match[1], int(match[2]), match[3] or "") for match in matches if match]
    if len(matches) != 2 or len({interface for interface, *_ in ends}) != 2:
        raise ElementError(
            f"{' '.join(arguments) or 'no arguments'}: must be NAME,PID,MAC NAME,PID,MAC: two "
            "names of interfaces (up to 15 bytes), each with a process and an address or none"
        )
    return ends


def _answer(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - who started us waits for this line


if __name__ == "__main__":
    try:
        Cable(read_ends(sys.argv[1:])).run(_answer)
    except ElementError as problem:
        _answer(one_line(str(problem)))
        raise SystemExit(1) from None
