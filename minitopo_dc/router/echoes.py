"""Echoes over the legs of a bearer, which measure their round-trip times for its split policy.

As PMFP measures them (TS 24.193 clause 5.4): a request goes out on each leg, and the other end
returns it on the same leg. Both are UDP datagrams in the legs' queues, like any other packet.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, runtime_checkable

REQUEST, ANSWER = 1, 2
FORMAT = struct.Struct("!Bq")
"""The kind, and when the request was sent (ns of the sender's clock)."""
Send = Callable[[bytes, int], None]
"""Puts a datagram's data on a leg at a time (ns)."""


@runtime_checkable
class Measures(Protocol):
    """A split policy that echoes are made for."""

    def echo_answered(self, leg: int, round_trip: int, now: int) -> None:
        """Take in that an echo over `leg` (from 0) took `round_trip` ns, as known at `now`."""


class EchoSender:
    """Sends an echo on each leg of a bearer at every interval; a timed part.

    Args:
        policy: is told the round-trip times.
        ways: what puts a datagram on each leg.
        interval: from one echo to the next, ns.
    """

    def __init__(self, policy: Measures, ways: Sequence[Send], interval: int) -> None:
        self._policy = policy
        self._ways = ways
        self._interval = interval
        self._due: int | None = None

    def start(self, now: int) -> None:
        """Send the first echo at `now` (ns)."""
        self._due = now

    def next_timeout(self) -> int | None:
        """Return when the next echo is due (ns); None before the start."""
        return self._due

    def handle(self, now: int) -> None:
        """Send the echoes that are due."""
        self._due = now + self._interval
        for send in self._ways:
            send(FORMAT.pack(REQUEST, now), now)

    def takers(self) -> list[Send]:
        """Return for each leg the function that takes the answers that come by it."""
        return [partial(self._take, leg) for leg in range(len(self._ways))]

    def _take(self, leg: int, data: bytes, now: int) -> None:
        """Tell the policy of an answer; what is none is ignored."""
        sent = _read(data, ANSWER)
        if sent is not None and sent <= now:
            self._policy.echo_answered(leg, now - sent, now)


def answering(send: Send) -> Send:
    """Return the function that takes what arrives by a leg, and returns each request by `send`."""

    def take(data: bytes, now: int) -> None:
        if (sent := _read(data, REQUEST)) is not None:
            send(FORMAT.pack(ANSWER, sent), now)

    return take


def _read(data: bytes, kind: int) -> int | None:
    """Return when an echo of a kind was sent (ns); None: it is none."""
    if len(data) != FORMAT.size or data[0] != kind:
        return None
    return int(FORMAT.unpack(data)[1])
