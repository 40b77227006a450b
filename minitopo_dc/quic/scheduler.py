"""A user's own scheduler of MP-QUIC: it is asked for each packet which path that takes.

A scheduler is a class with one method, registered under the name that `scheduler` of
`mpquic-picoquic` gives::

    @path_scheduler("mine")
    class Mine:
        def choose(self, paths: Sequence[PathView], now_ns: int) -> int:
            return 0

Each end of a connection makes one. What each packet costs: docs/plugins.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NamedTuple, Protocol, TypeVar

from minitopo_dc.quic.stack import SCHEDULERS
from minitopo_dc.registry import Registry, failure_words
from minitopo_dc.units import NS_PER_US

FAILED = -1
"""What C takes for no answer."""


class PathView(NamedTuple):
    """A path that the next packet may take: validated, no backup, and not silent.

    Attributes:
        leg: the number of its leg, from 1; where the connection began on another leg than the
            first, the order in which the paths were opened.
        has_room: whether congestion window and pacing let it send now.
        packets_sent: of any kind, since it was opened.
    """

    leg: int
    has_room: bool
    cwnd_bytes: int
    in_flight_bytes: int
    segment_bytes: int
    smoothed_rtt_ns: int
    rtt_variation_ns: int
    packets_sent: int


class PathScheduler(Protocol):
    """What is asked before each packet for which one of several paths has room."""

    def choose(self, paths: Sequence[PathView], now_ns: int) -> int:
        """Return the index among `paths` of the one that the packet takes.

        Without room there it waits. It is asked again when there is nothing to send, so what was
        sent is seen by `packets_sent`.

        Args:
            paths: in the order in which the stack keeps them.
            now_ns: on the clock of the run.
        """
        ...


SchedulerClass = TypeVar("SchedulerClass", bound=Callable[[], PathScheduler])
_OWN: Registry[Callable[[], PathScheduler]] = Registry(
    "MP-QUIC scheduler", "minitopo_dc.path_schedulers", ()
)


def path_scheduler(name: str) -> Callable[[SchedulerClass], SchedulerClass]:
    """Return a class decorator that makes a class known as scheduler `name`.

    Raises:
        ValueError: the name is taken.
    """
    if name in SCHEDULERS:
        raise ValueError(f"there is an MP-QUIC scheduler {name!r} already")
    return _OWN.adding(name)


def known_scheduler(name: str) -> str:
    """Return the name of a scheduler of either kind.

    Raises:
        ValueError: there is none of this name.
    """
    known = (*SCHEDULERS, *_OWN.names())
    if name not in known:
        raise ValueError(f"{name!r} is no scheduler; allowed: {', '.join(known)}")
    return name


class Chooser:
    """A user's scheduler as the stack calls it.

    Attributes:
        failure: what it raised or answered that ends the run; empty if nothing.
        function: the C function, which lives as long as this object.
    """

    def __init__(self, name: str, ffi: Any) -> None:
        """Make the scheduler that is registered as `name`, and a C function of it."""
        self._name = name
        self._scheduler = _OWN.get(name)()
        self.failure = ""
        self.function = ffi.callback("mdc_chooser", self._choose, error=FAILED)

    def _choose(self, paths: Any, count: int, now_us: int) -> int:
        try:
            views = [_view(paths[place]) for place in range(count)]
            chosen = index(self._scheduler.choose(views, now_us * NS_PER_US))
            if 0 <= chosen < count:
                return chosen
            self.failure = f"chose {chosen}, allowed: 0 to {count - 1}"
        except Exception as error:
            self.failure = failure_words(error)
        self.failure = f"scheduler {self._name!r}: {self.failure}"
        return FAILED


def _view(path: Any) -> PathView:
    return PathView(
        leg=path.place + 1,
        has_room=bool(path.has_room),
        cwnd_bytes=path.cwnd,
        in_flight_bytes=path.in_flight,
        segment_bytes=path.segment,
        smoothed_rtt_ns=path.smoothed_rtt_us * NS_PER_US,
        rtt_variation_ns=path.rtt_variation_us * NS_PER_US,
        packets_sent=path.packets_sent,
    )
