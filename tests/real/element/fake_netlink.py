"""The kernel's packet queues on one socket, at whose other end is the test."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import Any

from minitopo_dc.real.element.loop import clock
from tests.real.element.fakes import FakePacket

PACKET, VERDICT = 3 << 8 | 0, 3 << 8 | 1
"""NFNL_SUBSYS_QUEUE with NFQNL_MSG_PACKET and NFQNL_MSG_VERDICT."""
PACKET_HEADER, MARK, INDEV, PAYLOAD = 1, 3, 5, 10
"""Attributes NFQA_PACKET_HDR, ...; that with the verdict is NFQA_VERDICT_HDR = 2."""
VERDICT_HEADER = 2
VERDICTS = {0: "drop", 1: "accept"}


class FakeNetlinkQueues:
    """Stands in for `NetlinkQueues`."""

    def __init__(self) -> None:
        self._near, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._near, self._far):
            end.setblocking(False)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self._loop: Any = None
        self._opened: list[FakeNetlinkQueue] = []
        self._packets: dict[int, KernelsPacket] = {}
        self.decided: list[KernelsPacket] = []

    def opens_into(self, queues: list[Any], loop: Any) -> None:
        """Add each queue to `queues`, too; `loop` is who reads them."""
        self._opened, self._loop = queues, loop

    def fileno(self) -> int:
        return self._near.fileno()

    def add(self, copy: int) -> int:
        self._opened.append(FakeNetlinkQueue(self, len(self._opened), copy))
        return len(self._opened) - 1

    def close(self) -> None:
        self._near.close()
        self._far.close()
        for queue in self._opened:
            queue.closed = True

    def put(self, queue: int, payload: bytes, indev: int) -> FakePacket:
        """Let a packet wait for its verdict."""
        number = len(self._packets) + 7
        made = self._packets[number] = KernelsPacket(self, payload, indev)
        attributes = (
            *(_attribute(PACKET_HEADER, struct.pack("!IHBx", number, 0x800, 0)),),
            *(_attribute(INDEV, struct.pack("!I", indev)), _attribute(PAYLOAD, payload)),
        )
        body = struct.pack("!BBH", 2, 0, queue) + b"".join(attributes)
        self._far.send(struct.pack("=IHHII", 16 + len(body), PACKET, 0, 0, 0) + body)
        return made

    def read(self) -> None:
        """Let C take what is waiting."""
        self._loop.lib.element_read(self._loop.pointer, clock())
        self._loop.lib.element_flush(self._loop.pointer)

    def listen(self) -> None:
        """Carry out the verdicts that were sent."""
        while True:
            try:
                messages = self._far.recv(1 << 20)
            except OSError:
                return
            for kind, body in _messages(messages):
                assert kind == VERDICT
                found = dict(_attributes(body[4:]))
                verdict, number = struct.unpack("!II", found[VERDICT_HEADER])
                packet = self._packets[number]
                packet.carry_out(VERDICTS[verdict], found)
                self.decided.append(packet)


class KernelsPacket(FakePacket):
    """A packet that waits in the kernel; what is asked of it is what was sent last."""

    def __init__(self, queues: FakeNetlinkQueues, payload: bytes, indev: int) -> None:
        self._queues = queues
        self._verdict = ""
        super().__init__(payload, indev)

    @property
    def verdict(self) -> str:
        self._queues.listen()
        return self._verdict

    @verdict.setter
    def verdict(self, verdict: str) -> None:
        assert not self._verdict, f"{verdict} after {self._verdict}"
        self._verdict = verdict

    def carry_out(self, verdict: str, found: dict[int, bytes]) -> None:
        """Remember it."""
        self.verdict = verdict
        self.payload = found.get(PAYLOAD, self.payload)
        self.mark = int.from_bytes(found.get(MARK, b""), "big")


class FakeNetlinkQueue:
    """One of them."""

    def __init__(self, queues: FakeNetlinkQueues, number: int, copy: int) -> None:
        self.number, self.copy = number, copy
        self.closed = False
        self._queues = queues

    def put(self, payload: bytes, indev: int = 0) -> FakePacket:
        return self._queues.put(self.number, payload, indev)

    def read(self) -> None:
        self._queues.read()


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while data:
        length, kind = struct.unpack_from("=IH", data)
        yield kind, data[16:length]
        data = data[length + -length % 4 :]


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while data:
        length, kind = struct.unpack_from("=HH", data)
        yield kind, data[4:length]
        data = data[length + -length % 4 :]
