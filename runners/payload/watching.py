"""A video session as the clients of all transports do it: one player, requests by their numbers.

This module does no input or output; times are int ns on one clock of the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from minitopo_dc.media.abr import AbrError
from minitopo_dc.media.player import Cancel, End, Request, Wait
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.payload.content import Received
from minitopo_dc.runners.payload.requests import WrongAnswer
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Measurement, Video
from minitopo_dc.workloads.base import Row
from minitopo_dc.workloads.video import segment_rows


@dataclass
class WatchingOutcome:
    """The client's results; times in seconds since it began to connect."""

    segments: list[Row] = field(default_factory=list)
    startup_s: float | None = None
    completion_s: float | None = None
    bytes_received: int = 0  # of segments, also of those that were given up
    handshake_s: float | None = None
    receive_buffer_bytes: int | None = None  # the socket's; None: not a UDP socket
    socket_drops: int | None = None
    error: str | None = None


class Watching:
    """A session, from the client's start of connecting to the last segment's last byte."""

    def __init__(self, workload: Video) -> None:
        """Take the workload; raise VideoError when its video cannot be read."""
        self.ended = False
        """Whether all is there, or something went wrong."""
        self._player = workload.player()
        self._outcome = WatchingOutcome()
        self._start = 0
        self._connected = False
        self._wake: float = math.inf
        self._arriving: dict[int, tuple[Request, Received]] = {}

    @property
    def outcome(self) -> WatchingOutcome:
        """Return what has become of the session until now."""
        outcome, player = self._outcome, self._player
        outcome.segments = segment_rows(player, self._start)
        if player.started_ns is not None:
            outcome.startup_s = (player.started_ns - self._start) / NS_PER_S
        return outcome

    def connecting(self, now: int) -> None:
        """Note that the client begins to connect at `now` (ns)."""
        self._start = now

    def connected(self, now: int) -> None:
        """Note that requests may be sent from `now` (ns) on."""
        self._connected = True
        self._outcome.handshake_s = (now - self._start) / NS_PER_S

    def todo(self, now: int) -> Iterator[Request | Cancel]:
        """Yield what is to be asked for and to be given up now, in this order.

        Ask `next_timeout` then.
        """
        while self._connected and not self.ended:
            action = self._next(now)
            if isinstance(action, Wait):
                self._wake = math.inf if action.until is None else action.until
                return
            if isinstance(action, Request):
                self._arriving[action.number] = (action, Received())
                yield action
            elif isinstance(action, Cancel):
                del self._arriving[action.number]
                yield action
            else:
                self._end(now)

    def _next(self, now: int) -> Request | Cancel | Wait | End:
        try:
            return self._player.next(now)
        except AbrError as error:
            self.failed(str(error))
            return End()

    def next_timeout(self) -> float:
        """Return when to call `todo` (ns) if nothing arrives before, infinity for never."""
        return math.inf if self.ended else self._wake

    def status(self, number: int, status: int, now: int) -> None:
        """Check the HTTP status with which an answer begins.

        Raises:
            WrongAnswer: it is not 200.
        """
        if status != 200:
            raise WrongAnswer(f"request {number} got status {status}, not 200")
        self._player.first_byte(number, now)

    def arrived(self, number: int, data: bytes, now: int) -> None:
        """Take a piece of an answer that arrived, and check its bytes.

        Raises:
            WrongAnswer: it is not what was asked for.
        """
        self._outcome.bytes_received += len(data)
        if number not in self._arriving:  # given up
            return
        request, received = self._arriving[number]
        received.take(data)
        if not received.is_right or received.size_bytes > request.size_bytes:
            raise WrongAnswer(f"request {number} was answered with other bytes than those sent")
        self._player.arrived(number, len(data), now)
        if received.size_bytes == request.size_bytes:
            del self._arriving[number]

    def answered(self, number: int) -> None:
        """Note that an answer has ended, and check that it is complete.

        Raises:
            WrongAnswer: it has fewer bytes than were asked for.
        """
        if number in self._arriving:
            request, received = self._arriving[number]
            sizes = f"{received.size_bytes} bytes, not {request.size_bytes}"
            raise WrongAnswer(f"request {number} was answered with {sizes}")

    def gave_up(self, number: int) -> None:
        """Note that the server gave an answer up, and check that it was asked to.

        Raises:
            WrongAnswer: it was not asked to.
        """
        if number in self._arriving:
            raise WrongAnswer(f"the server gave request {number} up")

    def failed(self, reason: str) -> None:
        """End with an error, as nothing more will come."""
        if not self.ended:
            self.ended = True
            self._outcome.error = reason

    def _end(self, now: int) -> None:
        if not self.ended:
            self.ended = True
            self._outcome.completion_s = (now - self._start) / NS_PER_S


def read_watching(report: dict[str, Any]) -> Measurement:
    """Return the measurement in a client's report (`WatchingOutcome`); bytes are those watched.

    Raises:
        TransferFailed: the connection failed, an answer was wrong, or the ABR algorithm was.
    """
    if report["error"] is not None:
        raise TransferFailed(f"client: {report['error']}")
    details = dict(report)
    rows = details.pop("segments")
    started_ns = details.pop("started_ns", None)
    completion_s = report["completion_s"] or 0.0
    watched = sum(row["size_bytes"] for row in rows if row["done_s"] is not None)
    return Measurement(watched, completion_s, details, started_ns, rows)
