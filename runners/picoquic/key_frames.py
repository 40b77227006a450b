"""The second connection of a call over picoquic, on which there are its key frames alone."""

from __future__ import annotations

from collections.abc import Callable

from minitopo_dc.picoquic.connection import Connection, Datagram
from minitopo_dc.picoquic.events import Address, DatagramFrame, Event, StreamData, StreamReset
from minitopo_dc.runners.payload.call import End
from minitopo_dc.runners.picoquic.session import Session


class KeyFrames(Session):
    """One end of the connection of key frames; `Session.keys` of the first connection's end."""

    eager = True

    def __init__(
        self,
        connection: Connection,
        local: Address | None = None,
        on_client: Callable[[Address], None] = lambda _client: None,
    ) -> None:
        """Take a client's own address, or what a server calls when it knows that of its client."""
        super().__init__(connection)
        self.has_begun = False
        """Whether there is anything to drive."""
        self.news: list[Event] = []
        """What happened and is not yet told to the call."""
        self.local = local
        self._on_client = on_client

    def connect(self, server: Address, now: int) -> None:
        """Begin to connect; `drive` gives the first datagram."""
        assert self.local is not None
        self.has_begun = True
        self.connection.connect(self.local, server, now)

    def begin(self, client: Address) -> None:
        """Note that something came from a client."""
        if not self.has_begun:
            self.has_begun = True
            self._on_client(client)

    def drive(self, now: int) -> list[Datagram]:
        """Act on what arrived and return what is to be sent now, with this end's own address."""
        if not self.has_begun or self.ended:
            return []
        sent = super().drive(now)
        return [(data, source or self.local, to) for data, source, to in sent]

    def next_timeout(self) -> int | None:
        """Return when to call `drive` next (ns), None for never."""
        return super().next_timeout() if self.has_begun and not self.ended else None

    def take_news(self) -> list[Event]:
        """Return what happened since the last call."""
        taken, self.news = self.news, []
        return taken

    def _on_time(self, now: int) -> None:
        """Do nothing: the call has the clock."""

    def _on_event(self, event: Event, now: int) -> None:  # noqa: ARG002 (told when it is taken)
        self.news.append(event)


def tell(call: End, event: Event, now: int) -> None:
    """Tell a call what came on the connection of its key frames."""
    if isinstance(event, StreamData):
        call.on_key_stream(event.stream_id, event.data, now)
    elif isinstance(event, StreamReset):
        call.on_key_reset(event.stream_id)
    elif isinstance(event, DatagramFrame):
        call.on_datagram(event.data, now)
