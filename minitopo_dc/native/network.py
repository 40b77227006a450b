"""Virtual time in C, and the network of a run on it, as Python uses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from minitopo_dc.native.library import library
from minitopo_dc.native.models import from_c_time, to_c_time


class Carried(Protocol):
    """A packet of Python's that C carries."""

    @property
    def size(self) -> int:
        """Return the bytes of the IP packet."""


class NativeLoop:
    """The counterpart of `minitopo_dc.virtual.loop.Loop` in C, which also carries packets.

    C knows a packet of Python's by a number, its token, for as long as it may still arrive.
    """

    def __init__(self, start: int, arrived: Callable[[Any], None]) -> None:
        """Begin at `start` (ns); `arrived` takes the packets that reach their destinations."""
        module = library()
        self._ffi, self.lib = module.ffi, module.lib
        self._arrived = arrived
        self._error: BaseException | None = None
        self._handles: list[Any] = []
        self._packets: dict[int, Any] = {}
        self._tokens = 0
        calls = self._ffi.new("python_calls *")
        for name in ("fire", "deliver", "forget", "step"):
            setattr(calls, name, getattr(self.lib, f"python_{name}"))
        made = self.lib.network_new(start, calls[0], self.handle(self))
        self.pointer = self._ffi.gc(made, self.lib.network_free)
        """The network in C."""
        self._loop = self.lib.network_loop(made)

    def handle(self, of: object) -> Any:
        """Return C's handle of an object, which is valid for as long as the loop lives."""
        self._handles.append(self._ffi.new_handle(of))
        return self._handles[-1]

    @property
    def now(self) -> int:
        """Return the time in ns."""
        return int(self.lib.loop_now(self._loop))

    def timer(self, fire: Callable[[], None]) -> NativeTimer:
        """Return a timer that is not set yet."""
        return NativeTimer(self, fire)

    def stop(self) -> None:
        """Let `run` end after the current event."""
        self.lib.loop_stop(self._loop)

    def run(self, end: int) -> None:
        """Fire what is due until `stop`, until `end` (ns), or until nothing is left to do."""
        self.lib.loop_run(self._loop, end)
        if self._error is not None:
            raise self._error

    def fail(self, error: BaseException) -> None:
        """Keep the first error, and let C end; `run` raises it."""
        self._error = self._error or error
        self.lib.loop_fail(self._loop)

    def enter(self, flow: Any, packet: Carried) -> None:
        """Let a packet enter a flow of C's."""
        self._tokens += 1
        self._packets[self._tokens] = packet
        self.lib.flow_enter(flow, self._tokens, packet.size)

    def deliver(self, token: int) -> None:
        """Hand over a packet that has arrived, which may arrive again."""
        self._arrived(self._packets[token])

    def forget(self, token: int) -> None:
        """Forget a packet, which will not arrive any more."""
        del self._packets[token]


class NativeTimer:
    """A timer at one moment; its `fire` may set it again."""

    __slots__ = ("_lib", "_loop", "_pointer", "fire")

    def __init__(self, loop: NativeLoop, fire: Callable[[], None]) -> None:
        """Make a timer that is not set."""
        self.fire = fire
        self._loop = loop
        self._lib = loop.lib
        self._pointer = self._lib.network_timer(loop.pointer, loop.handle(self))

    @property
    def at(self) -> int | None:
        """Return when it fires (ns), None if it is not set."""
        return from_c_time(self._lib.python_timer_at(self._pointer))

    def set(self, moment: int | None) -> None:
        """Fire at `moment` (ns) instead of when it was set for before; None: not at all."""
        self._lib.python_timer_set(self._pointer, to_c_time(moment))

    def bring_forward(self, moment: int) -> None:
        """Fire at `moment` (ns) unless it fires before."""
        at = self.at
        if at is None or moment < at:
            self.set(moment)

    def fired(self) -> None:
        """Fire, as the timer's moment has come."""
        self.fire()

    def fail(self, error: BaseException) -> None:
        """Keep an error of `fire`, which the loop raises."""
        self._loop.fail(error)
