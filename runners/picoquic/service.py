"""A server of picoquic without input or output: one connection whose requests it answers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minitopo_dc.picoquic.connection import Connection
from minitopo_dc.picoquic.connection import Received as Datagram
from minitopo_dc.picoquic.events import (
    Address,
    DatagramFrame,
    Event,
    PathAvailable,
    PathDeleted,
    Ready,
    StreamData,
    StreamReset,
)
from minitopo_dc.runners.payload.call import GREETING, CallServer
from minitopo_dc.runners.payload.content import (
    BLOCK,
    Received,
    requested_size,
    response_size,
)
from minitopo_dc.runners.picoquic.call import PicoquicPipe
from minitopo_dc.runners.picoquic.key_frames import KeyFrames, tell
from minitopo_dc.runners.picoquic.path_manager import PathLog
from minitopo_dc.runners.picoquic.session import Session
from minitopo_dc.workloads.path_reports import PathSample

LONGEST_LINE = 200
"""Bytes of a request's line; ours have at most 30."""
BAD_REQUEST = 1
"""The error code with which a server closes the connection; HTTP/0.9 has no status."""


class ServerSession(Session):
    """A server of one connection: it answers requests and counts what each path carried."""

    def __init__(
        self,
        connection: Connection,
        clients: Sequence[str],
        begin: int,
        sample_ns: int | None = None,
        keys: KeyFrames | None = None,
    ) -> None:
        """Take the client's address of each leg, the samples' time zero and interval (ns).

        The client of `keys` is the second one that comes.
        """
        super().__init__(connection)
        self.keys = keys
        self._first_client: Address | None = None
        self.paths = PathLog(clients, begin)
        self._interval = sample_ns
        self._next_sample = begin if sample_ns else None
        self._samples: list[PathSample] = []
        self._requests: dict[int, _Request] = {}
        self._call: CallServer | None = None

    def take_samples(self) -> list[PathSample]:
        """Return the samples of paths since the last call."""
        taken, self._samples = self._samples, []
        return taken

    def finish(self, now: int) -> None:
        """Count the paths as they are, once more."""
        self._samples += self.paths.sample(self.connection.paths(), now)

    def _timeout(self) -> int | None:
        if self.ended or self.ready is None:
            return None
        call = math.inf if self._call is None else self._call.next_timeout()
        sample = math.inf if self._next_sample is None else self._next_sample
        first = min(call, sample)
        return None if first == math.inf else int(first)

    def _on_time(self, now: int) -> None:
        if self._call is not None:
            self._call.on_time(now)
        if self._next_sample is not None and now >= self._next_sample:
            assert self._interval is not None
            self._samples += self.paths.sample(self.connection.paths(), now)
            self._next_sample += self._interval * (1 + (now - self._next_sample) // self._interval)

    def _on_event(self, event: Event, now: int) -> None:
        if isinstance(event, StreamData):
            self._on_stream(event, now)
        elif isinstance(event, StreamReset):
            self._on_reset(event.stream_id)
        elif isinstance(event, DatagramFrame):  # the first ones may overtake the greeting
            self._begin_call().on_datagram(event.data, now)
        elif isinstance(event, PathDeleted):
            self._samples += self.paths.deleted(event.statistics, now)
        elif isinstance(event, Ready | PathAvailable):
            self._samples += self.paths.sample(self.connection.paths(), now)

    def _begin_call(self) -> CallServer:
        """Return the call, which is begun if it was not."""
        if self._call is None:
            key_pipe = None if self.keys is None else PicoquicPipe(self.keys.connection)
            self._call = CallServer(PicoquicPipe(self.connection), key_pipe)
            self.eager = True
        return self._call

    def _is_of_keys(self, datagram: Datagram) -> bool:
        source = datagram[1]
        self._first_client = self._first_client or source
        if source == self._first_client:
            return False
        assert self.keys is not None
        self.keys.begin(source)
        return True

    def _on_key_event(self, event: Event, now: int) -> None:
        if isinstance(event, StreamData | StreamReset | DatagramFrame):  # may overtake the greeting
            tell(self._begin_call(), event, now)

    def _on_reset(self, stream_id: int) -> None:
        """Note that the client gives a frame up, or wants no more of an answer."""
        if self._call is not None:
            self._call.on_reset(stream_id)
        else:
            self.connection.reset_stream(stream_id)

    def _on_stream(self, event: StreamData, now: int) -> None:
        if event.stream_id % 4 or event.data.startswith(GREETING):  # frames may overtake it
            self._begin_call()
        if self._call is not None:
            self._call.on_stream(event.stream_id, event.data, event.end_stream, now)
            return
        request = self._requests.setdefault(event.stream_id, _Request())
        request.take(event.data)
        if not event.end_stream:
            return
        del self._requests[event.stream_id]
        size = request.answer_bytes()
        if size is None:
            self.connection.close(now, BAD_REQUEST, "bad request")
        else:
            self.connection.write_repeated(event.stream_id, BLOCK, size)


class _Request:
    """A request's line and perhaps its body, as they arrive."""

    def __init__(self) -> None:
        self._line: bytes | None = None
        self._head = b""
        self._body = Received()

    def take(self, data: bytes) -> None:
        """Take the next piece; a line that is too long is no request."""
        if self._line is not None:
            self._body.take(data)
            return
        self._head += data
        line, end, rest = self._head.partition(b"\r\n")
        if end or len(self._head) > LONGEST_LINE:
            self._line = line
            self._body.take(rest)

    def answer_bytes(self) -> int | None:
        """Return how many bytes are asked for, None for no request or a wrong body."""
        method, _, path = (self._line or b"").decode("ascii", "replace").partition(" ")
        if method == "GET":
            return requested_size(path)
        if method == "POST" and self._body.is_content(self._body.size_bytes):
            return response_size(path)
        return None
