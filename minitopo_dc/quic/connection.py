"""A connection of QUIC or MP-QUIC of any stack (`stack.h`), without input or output.

As with aioquic, time is an argument: datagrams come in by `receive`, `datagrams` gives what is to
be sent now, `next_timeout` says when to ask again. Times are int nanoseconds, which stacks count
in microseconds. Several paths follow RFC 9000 with draft-ietf-quic-multipath.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from struct import Struct
from typing import Any, ClassVar

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.quic.events import (
    Address,
    Closed,
    Closer,
    Confirmed,
    DatagramFrame,
    Event,
    PathDeleted,
    PathStatistics,
    PathUsable,
    Ready,
    StreamData,
    StreamReset,
)
from minitopo_dc.quic.scheduler import Chooser
from minitopo_dc.quic.stack import MAX_PATHS, PLUGIN, SCHEDULERS, Configuration, DemotedPaths
from minitopo_dc.units import NS_PER_US

NEVER_US = NO_STREAM = 2**64 - 1
CLOSERS: tuple[Closer, ...] = ("peer", "peer's application", "stateless reset", "this end")
"""By the numbers of `stack.h`."""


Received = tuple[bytes, Address, Address, int]
"""A datagram's payload, its source, its destination and its ECN code point (RFC 3168)."""
Datagram = tuple[bytes, Address | None, Address]
"""The first three of one to be sent; the source is None where the stack leaves it to the host."""
DEMOTED: dict[DemotedPaths, int] = {
    **{"as-now": 0, "linger": 1, "refuse": 1 + 2, "fall-back": 1 + 4, "2022": 1 + 2 + 4}
}
"""By the numbers of `stack.h`: what is refused or fallen back to has to be there still."""
COUNTERS = ("packets_sent", "packets_lost", "bytes_sent", "bytes_received", "bytes_acknowledged")
"""Of a path, by the names of `stack.h`."""
TEXTS = (
    *("certificate", "key", "alpn", "server_name", "congestion_control", "qlog", "experiment"),
)
NUMBERS = (
    *("is_client", "max_data", "max_stream_data", "datagram_bytes", "datagram_frame"),
    *("is_tunnel", "takes_turns"),
)
"""Of a configuration, by the same names in `stack.h`."""
MDC_DATAGRAM = Struct("NNii")
"""The structure of `stack.h`: offset, length, and the addresses' numbers."""


class StackError(MinitopoDcError, RuntimeError):
    """Error: a stack refused a call; the text says which."""


class Connection:
    """One end of one connection. A server's begins with the first datagram of a client.

    Raises:
        NotBuiltError: the extension is not here.
        StackError: a file is not what it should be.
    """

    in_c: ClassVar[bool] = True
    """Whether C can drive it (`pointers`)."""

    def __init__(self, configuration: Configuration, now: int) -> None:
        """Make an end that has neither sent nor received yet, at `now` (ns)."""
        self._configuration = configuration
        self.stack = configuration.stack
        module = self.stack.load()
        self._ffi, self._lib = module.ffi, module.lib
        self._endpoint = self._ffi.gc(self._create(now), self._lib.mdc_free)
        self._state = self._lib.mdc_get_state(self._endpoint)
        self._chooser: Chooser | None = None
        if configuration.scheduler not in SCHEDULERS:
            self._chooser = Chooser(configuration.scheduler, self._ffi)
            self._lib.mdc_set_chooser(self._endpoint, self._chooser.function)
        self.has_events = False
        """Whether `events` is worth a call; data of streams alone may wait for more of it."""
        self.number = cache(self._number)
        """Gives the endpoint's number of an address, made when it is first asked for."""
        self._addresses: dict[int, Any] = {-1: None}
        self._room = self._ffi.new("mdc_path[]", MAX_PATHS)
        self._kept: dict[int, Any] = {}  # blocks that the stack reads until the end

    def _create(self, now: int) -> Any:
        configuration, kept = self._configuration, []

        def text(value: object) -> Any:
            if value is None:
                return self._ffi.NULL
            kept.append(self._ffi.new("char[]", str(value).encode()))
            return kept[-1]

        fields = {
            **{name: text(getattr(configuration, name)) for name in TEXTS},
            **{name: getattr(configuration, name) for name in NUMBERS},
            "multipath": 0 if configuration.max_paths == 1 else configuration.max_paths,
            "idle_timeout_ms": round(configuration.idle_timeout_s * 1000),
            "demoted": DEMOTED[configuration.demoted_paths],
            "scheduler": {
                "kind": SCHEDULERS.get(configuration.scheduler, PLUGIN),
                # A leg without a weight has 1.
                "weights": (*configuration.weights, *([1] * MAX_PATHS))[:MAX_PATHS],
            },
            "now": now // NS_PER_US,
        }
        error = self._ffi.new("char **")
        made = self._lib.mdc_create(self._ffi.new("mdc_configuration *", fields), error)
        if made == self._ffi.NULL:
            raise StackError(self._ffi.string(error[0]).decode())
        return made

    # Datagrams and time.

    def connect(self, local: Address, remote: Address, now: int) -> None:
        """Begin the handshake from one address to another (a client's)."""
        self._call("connect", self.number(local), self.number(remote), now // NS_PER_US)

    def receive_all(self, datagrams: Iterable[Received], now: int) -> None:
        """Take datagrams that arrived, in this order; those not of QUIC are dropped silently."""
        number, endpoint, receive = self.number, self._endpoint, self._lib.mdc_receive
        now_us = now // NS_PER_US
        for data, source, destination, ecn in datagrams:
            places = number(source), number(destination)
            self.has_events = receive(endpoint, data, len(data), *places, ecn, now_us) > 0

    def datagrams(self, now: int) -> list[Datagram]:
        """Return what is to be sent now; ask after any other call, and at `next_timeout`."""
        state = self._state
        result = self._lib.mdc_send(self._endpoint, now // NS_PER_US)
        if result < 0:
            raise StackError(
                (self._chooser and self._chooser.failure)
                or f"{self.stack.name} could not make a packet"
            )
        self.has_events = result > 0
        if not state.datagram_count:
            return []
        buffer, addresses = self._ffi.buffer, self._addresses
        output = buffer(state.output, state.output_length)
        places = buffer(state.datagrams, state.datagram_count * MDC_DATAGRAM.size)
        return [
            (output[offset : offset + length], addresses[source], addresses[destination])
            for offset, length, source, destination in MDC_DATAGRAM.iter_unpack(places)
        ]

    def pointers(self) -> list[int]:
        """Return pointers to the endpoint, its state, `mdc_receive` and `mdc_send`, for C."""
        functions = (self._ffi.addressof(self._lib, f"mdc_{name}") for name in ("receive", "send"))
        parts = (self._endpoint, self._state, *functions)
        return [int(self._ffi.cast("uintptr_t", part)) for part in parts]

    def next_timeout(self) -> int | None:
        """Return when to call `datagrams` next (ns) if nothing happens before, None for never."""
        wake: int = self._state.wake
        return None if wake >= NEVER_US // NS_PER_US else wake * NS_PER_US

    def events(self, *, all_data: bool = False) -> list[Event]:
        """Return what happened since the last call; nothing unless `has_events` or `all_data`."""
        if not (self.has_events or all_data):
            return []
        made = list(self._read_events())
        self._lib.mdc_taken(self._endpoint)
        self.has_events = False
        return made

    def _read_events(self) -> Iterator[Event]:
        state, lib = self._state, self._lib
        data = self._ffi.buffer(state.input, state.input_length)[:] if state.input_length else b""
        for index in range(state.event_count):
            event = state.events[index]
            kind, value = event.kind, event.value
            if kind == lib.MDC_DATA:
                yield StreamData(value, data[event.offset : event.offset + event.length], False)
            elif kind == lib.MDC_DATAGRAM_FRAME:
                yield DatagramFrame(data[event.offset : event.offset + event.length])
            elif kind == lib.MDC_FIN:
                yield StreamData(value, b"", True)
            elif kind == lib.MDC_RESET:
                yield StreamReset(value)
            elif kind == lib.MDC_READY:
                control = self._ffi.string(state.congestion_control).decode()
                yield Ready(bool(state.is_multipath), state.version, control)
            elif kind == lib.MDC_CONFIRMED:
                yield Confirmed()
            elif kind == lib.MDC_CLOSED:
                yield self._closed(CLOSERS[value])
            elif kind in (lib.MDC_PATH_AVAILABLE, lib.MDC_PATH_SUSPENDED):
                yield PathUsable(value, kind == lib.MDC_PATH_AVAILABLE)
            elif kind == lib.MDC_PATH_DELETED:
                yield PathDeleted(value, self._path(state.deleted[event.offset]))

    def _closed(self, by: Closer) -> Closed:
        state = self._state
        words = "no error"
        if state.reason != self._ffi.NULL:
            words = self._ffi.string(state.reason).decode("utf-8", "replace")
        number = f" ({state.error:#x})" if state.error else ""
        return Closed(by, state.error, f"closed by {by}: {words}{number}")

    # Streams.

    def open_stream(self, *, unidirectional: bool = False) -> int:
        """Return the identifier of a new stream, of both directions or of this end's only."""
        identifier: int = self._lib.mdc_open_stream(self._endpoint, unidirectional)
        if identifier == NO_STREAM:
            raise StackError("there is no connection to open a stream on")
        return identifier

    def write(self, stream_id: int, data: bytes, *, end_stream: bool = False) -> None:
        """Send bytes on a stream."""
        self._call("write", stream_id, data, len(data), end_stream)

    def write_repeated(self, stream_id: int, block: bytes, size_bytes: int) -> None:
        """Send a block again and again, `size_bytes` of it, and end the stream."""
        kept = self._kept.setdefault(id(block), self._ffi.from_buffer("uint8_t[]", block))
        self._call("write_pattern", stream_id, kept, len(block), size_bytes)

    def stop_sending(self, stream_id: int, error: int = 0) -> None:
        """Ask the peer to give a stream up (RFC 9000, section 19.5)."""
        self._call("stop_sending", stream_id, error)

    def reset_stream(self, stream_id: int, error: int = 0) -> None:
        """Give a stream up: nothing more of it is sent (RFC 9000, section 19.4)."""
        self._call("reset_stream", stream_id, error)

    def send_datagram(self, data: bytes) -> None:
        """Send bytes in a DATAGRAM frame (RFC 9221), at once as congestion control lets them.

        Raises:
            StackError: they are too many for a packet, or the peer takes none.
        """
        self._call("send_datagram", data, len(data))

    @property
    def waiting_datagrams(self) -> int | None:
        """Return how many DATAGRAM frames wait for the congestion windows; None: it is over."""
        count: int = self._lib.mdc_waiting_datagrams(self._endpoint, self._ffi.NULL)
        return None if count < 0 else count

    # Paths.

    def open_path(self, local: Address, remote: Address, now: int) -> None:
        """Open a path; it is used when `PathUsable` tells that it was validated.

        Raises:
            StackError: multipath was not negotiated, there are too many paths, or the peer has
                not given connection identifiers for another.
        """
        self._call("open_path", self.number(local), self.number(remote), now // NS_PER_US)

    def abandon_path(self, path_id: int, now: int) -> None:
        """Give a path up for good (PATH_ABANDON).

        Raises:
            StackError: it is not there, or it is the last one.
        """
        self._call("abandon_path", path_id, 0, now // NS_PER_US)

    def set_path_status(self, path_id: int, *, backup: bool, now: int) -> None:
        """Tell the peer to use a path only when no other is there, or as any other.

        Raises:
            StackError: it is not there.
        """
        self._call("set_path_status", path_id, backup, now // NS_PER_US)

    def paths(self) -> list[PathStatistics]:
        """Return the paths that there are now, validated or not."""
        count = self._lib.mdc_paths(self._endpoint, self._room, MAX_PATHS)
        return [self._path(self._room[index]) for index in range(count)]

    def _path(self, path: Any) -> PathStatistics:
        measured = path.smoothed_rtt_us > 0
        return PathStatistics(
            path_id=path.id,
            local=self._addresses[path.local],
            remote=self._addresses[path.remote],
            validated=bool(path.verified),
            backup=bool(path.backup),
            abandoned=bool(path.demoted),
            cwnd_bytes=path.cwnd,
            in_flight_bytes=path.in_flight,
            smoothed_rtt_ms=path.smoothed_rtt_us / 1000 if measured else None,
            minimum_rtt_ms=path.minimum_rtt_us / 1000 if measured else None,
            **{name: getattr(path, name) for name in COUNTERS},
        )

    # The end.

    def close(self, now: int, error: int = 0, reason: str = "") -> None:
        """End the connection in order (RFC 9000, section 10.2)."""
        self._call("close", error, reason.encode() or self._ffi.NULL, now // NS_PER_US)

    @property
    def ended(self) -> bool:
        """Return whether there is no connection any more, or none yet."""
        return bool(self._lib.mdc_is_disconnected(self._endpoint))

    def free(self) -> None:
        """Let go of the stack's memory, and have its log written; nothing may be called after."""
        self._ffi.release(self._endpoint)

    def _number(self, address: Address) -> int:
        number: int = self._lib.mdc_address(self._endpoint, address[0].encode(), address[1])
        if number < 0:
            raise StackError(f"{self.stack.name} refused address {address[0]}")
        self._addresses[number] = address
        return number

    def _call(self, what: str, *arguments: object) -> None:
        """Call a function of `stack.h`; StackError: it did not return 0."""
        if result := getattr(self._lib, f"mdc_{what}")(self._endpoint, *arguments):
            raise StackError(f"{self.stack.name} refused {what} (error {result:#x})")
