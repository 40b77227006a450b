"""A call over picoquic: its connection as the ends see it, and the client."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence

from minitopo_dc.picoquic.connection import Connection, PicoquicError, Received
from minitopo_dc.picoquic.events import Address, Closed, Event, Ready, StreamData, StreamReset
from minitopo_dc.runners.payload.call import LATE, CallClient, CallOutcome
from minitopo_dc.runners.picoquic.key_frames import KeyFrames, tell
from minitopo_dc.runners.picoquic.session import ClientSession
from minitopo_dc.settings import PathPlan
from minitopo_dc.workloads import Realtime


class PicoquicPipe:
    """A connection of picoquic as both ends of a call see it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def open(self, *, unidirectional: bool) -> int:
        """Return a new stream of this end, which exists when something is written on it."""
        return self._connection.open_stream(unidirectional=unidirectional)

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send bytes on a stream."""
        self._connection.write(stream, data, end_stream=end)

    def reset(self, stream: int) -> None:
        """Give a stream up; picoquic refuses it when all was acknowledged."""
        with contextlib.suppress(PicoquicError):
            self._connection.reset_stream(stream, LATE)

    def send_datagram(self, data: bytes) -> None:
        """Send bytes in a DATAGRAM frame."""
        self._connection.send_datagram(data)


class CallSession(ClientSession):
    """The client of a call over picoquic."""

    eager = True

    def __init__(
        self,
        connection: Connection,
        plan: PathPlan,
        local: Sequence[Address],
        server: Address,
        begin: int,
        *,
        workload: Realtime,
        keys: KeyFrames | None = None,
    ) -> None:
        """Take also the client's end of a second connection, which begins behind the first one."""
        super().__init__(connection, plan, local, server, begin)
        self.keys = keys
        key_pipe = None if keys is None else PicoquicPipe(keys.connection)
        self._call = CallClient(workload, PicoquicPipe(connection), key_pipe)

    @property
    def outcome(self) -> CallOutcome:  # type: ignore[override]
        """Return what has become of the call until now."""
        return self._call.outcome

    def _on_start(self, now: int) -> None:
        self._call.connecting(now)

    def _on_ready(self, now: int) -> None:
        if self.keys is None:
            self._call.connected(now)
        else:
            self.keys.connect(self._server, now)

    def _is_of_keys(self, datagram: Received) -> bool:
        return self.keys is not None and datagram[2] == self.keys.local

    def _on_key_event(self, event: Event, now: int) -> None:
        if self._closing:
            return
        if isinstance(event, Ready):
            self._call.connected(now)
        elif isinstance(event, Closed):
            self._finish(now, f"connection of key frames: {event.reason}")
            return
        tell(self._call, event, now)
        self._on_workload_time(now)

    def _on_stream(self, event: StreamData | StreamReset, now: int) -> None:
        if isinstance(event, StreamReset):
            self._call.on_reset(event.stream_id)
        else:
            self._call.on_stream(event.stream_id, event.data, event.end_stream, now)
        self._on_workload_time(now)

    def _on_datagram(self, data: bytes, now: int) -> None:
        self._call.on_datagram(data, now)
        self._on_workload_time(now)

    def _workload_timeout(self) -> int | None:
        timeout = self._call.next_timeout()
        return None if timeout == math.inf else int(timeout)

    def _on_workload_time(self, now: int) -> None:
        self._call.on_time(now)
        if self._call.ended and not self._closing:
            if self.keys is not None and not self.keys.ended:
                self.keys.connection.close(now)
            self._finish(now, self._call.outcome.error)
