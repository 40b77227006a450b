"""Frames that nobody should send, among right ones: no number is lost, and the right ones pass.

They come from a packet socket: no kernel puts them right, or refuses to send them.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from minitopo_dc.real.element.loop import inside
from minitopo_dc.real.hosts import EmulatedHost
from minitopo_dc.scenario.addresses import SERVER_PORT
from tests.real.element.fakes import ones_complement_sum
from tests.real.element.options import FORWARDED, REFUSED
from tests.real.testbed import running_testbed, scenario

pytestmark = pytest.mark.root

SERVER, CLIENT, GNB = bytes((10, 0, 0, 2)), bytes((10, 2, 1, 2)), bytes((10, 0, 0, 1))
UE = bytes((10, 2, 1, 1))
CLIENT_PORT = 5000
EACH = 10
"""Frames of a kind."""
PAUSE_S = 0.0005
"""Behind each group of frames, one of every kind: 50 frames or fewer."""
ETHERTYPE = b"\x08\x00"
BROADCAST, GROUP = b"\xff" * 6, bytes.fromhex("01005e000001")


def packet(
    payload: bytes = bytes(8),
    *,
    source: bytes = SERVER,
    destination: bytes = CLIENT,
    options: bytes = b"",
    version: int = 4,
    words: int | None = None,
    total: int | None = None,
    fragment: int = 0,
    ttl: int = 64,
    wrong_by: int = 0,
) -> bytes:
    """An IPv4/UDP datagram; the header's checksum is wrong by `wrong_by`."""
    ports = (CLIENT_PORT, SERVER_PORT) if destination == SERVER else (SERVER_PORT, CLIENT_PORT)
    udp = struct.pack("!HHHH", *ports, 8 + len(payload), 0) + payload
    first = version << 4 | (5 + len(options) // 4 if words is None else words)
    total = 20 + len(options) + len(udp) if total is None else total
    head = struct.pack("!BBHHHBB", first, 0, total, 1, fragment, ttl, socket.IPPROTO_UDP)
    rest = source + destination + options
    checksum = (0xFFFF - ones_complement_sum(head + rest) + wrong_by) & 0xFFFF
    return head + checksum.to_bytes(2, "big") + rest + udp


WRONG_HEADERS = {
    "version": packet(version=5),
    "header too short": packet(words=4),
    "header longer than the datagram": packet(words=15),
    "total length below the header's": packet(total=19),
    "total length above the frame's": packet(total=1000),
    "checksum": packet(wrong_by=1),
    "end of its time": packet(ttl=1),
    "no time": packet(ttl=0),
}
WRONG_OPTIONS = {name: packet(options=options) for name, options in REFUSED.items()}
WRONG_DESTINATIONS = {
    "gnb": packet(destination=GNB),
    "group": packet(destination=bytes((224, 0, 0, 251))),
    "everyone": packet(destination=b"\xff" * 4),
    "no host": packet(destination=bytes(4)),
    "loopback": packet(destination=bytes((127, 0, 0, 1))),
    "everyone on the network": packet(destination=bytes((10, 0, 0, 255))),
}
WRONG_SOURCES = {
    "ue": packet(source=UE, destination=SERVER),
    "group": packet(source=bytes((224, 0, 0, 5)), destination=SERVER),
    "everyone": packet(source=b"\xff" * 4, destination=SERVER),
    "no host": packet(source=bytes(4), destination=SERVER),
    "loopback": packet(source=bytes((127, 0, 0, 1)), destination=SERVER),
    "everyone on the network": packet(source=bytes((10, 2, 1, 255)), destination=SERVER),
}
STRANGE = {
    **{name: packet(options=options) for name, options in FORWARDED.items()},
    "first fragment": packet(fragment=0x2000),
    "reserved flag": packet(fragment=0x8000),
}
"""What a router forwards."""


class Way(NamedTuple):
    """From an end host through both routers to the other one."""

    frames: socket.socket
    router: bytes
    """Link-layer address of the router's interface."""
    arriving: socket.socket

    def send(self, datagram: bytes, to: bytes | None = None) -> None:
        """Send a frame, to the router unless told otherwise."""
        own: bytes = self.frames.getsockname()[4]
        self.frames.send((to or self.router) + own + ETHERTYPE + datagram)

    def numbers(self) -> list[int]:
        """What has arrived and has a number above 0."""
        found: list[int] = []
        while True:
            try:
                (number,) = struct.unpack("!q", self.arriving.recv(100))
            except BlockingIOError:
                return found
            if number:
                found.append(number)


@contextmanager
def way(
    sender: EmulatedHost, by: str, router: tuple[EmulatedHost, str], receiver: EmulatedHost
) -> Iterator[Way]:
    with ExitStack() as stack:
        with inside(sender.pid):
            frames = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
        frames.bind((by, 0))
        with inside(router[0].pid), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as near:
            near.bind((router[1], 0))
            link_layer: bytes = near.getsockname()[4]
        with inside(receiver.pid):
            arriving = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        arriving.bind(("", SERVER_PORT if receiver.name == "server" else CLIENT_PORT))
        arriving.setblocking(False)
        yield Way(frames, link_layer, arriving)


def send_all(over: Way, ends: tuple[bytes, bytes], others: Sequence[bytes]) -> None:
    """One right packet, numbered from 1 on, before each round of the others."""
    source, destination = ends

    def send(number: int) -> None:
        payload = struct.pack("!q", number)
        over.send(packet(payload, source=source, destination=destination))

    for number in range(1, EACH + 1):
        send(number)
        for other in others:
            over.send(other)
        time.sleep(PAUSE_S)
    send(EACH + 1)


def wait_for_the_last(ways: Sequence[Way]) -> list[list[int]]:
    """The numbers that arrived, once the last has or enough time has gone."""
    found: list[list[int]] = [[] for _ in ways]
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline and any(EACH + 1 not in each for each in found):
        time.sleep(0.02)
        for arrived, each in zip(found, ways, strict=True):
            arrived.extend(each.numbers())
    return found


def test_frames_that_a_router_discards_take_no_number(tmp_path: Path) -> None:
    wanted = scenario("flows", flows=[{"mode": "dc"}], transport="quic", split_uplink=True)
    with running_testbed(wanted, tmp_path) as bed, ExitStack() as stack:
        hosts = bed.hosts
        down = stack.enter_context(
            way(hosts.server, "server-core", (hosts.gnb, "gnb-core"), hosts.client)
        )
        up = stack.enter_context(
            way(hosts.client, "client-lan1", (hosts.ue, "ue-lan1"), hosts.server)
        )
        wrong = [*WRONG_HEADERS.values(), *WRONG_OPTIONS.values(), *WRONG_DESTINATIONS.values()]
        for to in (BROADCAST, GROUP):
            for _ in range(EACH):
                down.send(packet(), to)
        send_all(down, (SERVER, CLIENT), [*wrong, *STRANGE.values()])
        send_all(up, (CLIENT, SERVER), list(WRONG_SOURCES.values()))
        arrived = wait_for_the_last((down, up))
        ue, gnb = bed.ue.stop(), bed.gnb.stop()
    numbers = list(range(1, EACH + 2))
    assert arrived == [numbers, numbers]
    for sent, received, more in ((gnb, ue, len(STRANGE)), (ue, gnb, 0)):
        (transmitted,), (delivered,) = sent["transmit"].values(), received["receive"].values()
        assert [delivered["missing"], delivered["t_reordering_expiries"]] == [0, 0]
        assert transmitted["sdus"] == delivered["delivered"] == EACH * (1 + more) + 1
    assert gnb["transmit"]["1"]["refused_options"] == EACH * len(REFUSED)
    assert gnb["transmit"]["1"]["handed_back"] == EACH * 2
    assert gnb["ip_refusals"]["IPv4 InCsumErrors"] == EACH
