"""Copies for a second leg, over sockets that are none: what is sent, where to, how marked."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.real.element.kernel.injection import Copy, Injector
from minitopo_dc.real.element.kernel.rules import leg_mark
from tests.real.element.fakes import NoInjector, datagram, datagram_ipv6

IPV6 = datagram_ipv6(destination="fd00001000020001" + "00" * 7 + "02")


class FakeSocket:
    """A raw socket that remembers what it was asked for."""

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        self.made = (family, kind, protocol)
        self.options: list[tuple[int, int, int]] = []
        self.blocking = True
        self.sent: list[tuple[bytes, tuple[str, int]]] = []
        self.failures: list[int] = []
        self.closed = False

    def setsockopt(self, level: int, option: int, value: int) -> None:
        self.options.append((level, option, value))

    def setblocking(self, blocking: bool) -> None:
        self.blocking = blocking

    def sendto(self, data: bytes, address: tuple[str, int]) -> None:
        if self.failures:
            number = self.failures.pop(0)
            raise OSError(number, os.strerror(number))
        self.sent.append((data, address))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Sequence[FakeSocket]:
    """The sockets in the order in which they were opened."""
    opened: list[FakeSocket] = []

    def make(family: int, kind: int, protocol: int) -> FakeSocket:
        opened.append(FakeSocket(family, kind, protocol))
        return opened[-1]

    monkeypatch.setattr(socket, "socket", make)
    return opened


def test_no_socket_is_opened_before_the_first_copy(sockets: Sequence[FakeSocket]) -> None:
    Injector(1).close()
    assert not sockets


@pytest.mark.parametrize(
    ("whole", "family", "destination"),
    [
        (datagram(), socket.AF_INET, "10.2.1.2"),
        (IPV6, socket.AF_INET6, "fd00:10:2:1::2"),
    ],
    ids=["IPv4", "IPv6"],
)
def test_a_copy_goes_to_its_own_destination_by_a_socket_of_its_version(
    whole: bytes, family: int, destination: str, sockets: Sequence[FakeSocket]
) -> None:
    Injector(1).send(whole)
    (opened,) = sockets
    assert opened.made == (family, socket.SOCK_RAW, socket.IPPROTO_RAW)
    assert opened.sent == [(whole, (destination, 0))]


@pytest.mark.parametrize("whole", [datagram(), IPV6], ids=["IPv4", "IPv6"])
def test_a_copy_has_the_mark_of_its_leg(whole: bytes, sockets: Sequence[FakeSocket]) -> None:
    Injector(7).send(whole)
    assert sockets[0].options == [(socket.SOL_SOCKET, socket.SO_MARK, leg_mark(7))]


def test_sending_never_waits(sockets: Sequence[FakeSocket]) -> None:
    Injector(1).send(datagram())
    assert not sockets[0].blocking


def test_a_version_s_socket_is_opened_once(sockets: Sequence[FakeSocket]) -> None:
    injector = Injector(1)
    for whole in (datagram(), IPV6, datagram(), IPV6):
        injector.send(whole)
    assert [each.made[0] for each in sockets] == [socket.AF_INET, socket.AF_INET6]
    assert [len(each.sent) for each in sockets] == [2, 2]


@pytest.mark.parametrize(
    "number",
    [errno.EAGAIN, errno.ENOBUFS, errno.EMSGSIZE, errno.EACCES, errno.ENETUNREACH, errno.EPERM],
    ids=errno.errorcode.get,
)
def test_what_the_kernel_refuses_is_counted_and_the_next_copy_is_sent(
    number: int, sockets: Sequence[FakeSocket]
) -> None:
    injector = Injector(1)
    injector.send(datagram(500))
    sockets[0].failures.append(number)
    injector.send(datagram(501))
    injector.send(datagram(502))
    assert injector.refused == 1
    assert [len(sent) for sent, _ in sockets[0].sent] == [500, 502]


def test_a_kernel_without_raw_sockets_is_no_refused_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(PermissionError):
        Injector(1).send(datagram())


def test_closing_closes_the_sockets_of_both_versions(sockets: Sequence[FakeSocket]) -> None:
    injector = Injector(1)
    injector.send(datagram())
    injector.send(IPV6)
    injector.close()
    assert [each.closed for each in sockets] == [True, True]


@given(st.integers(1, 255), st.integers(40, 200))
def test_a_copy_is_one_hop_further_and_else_the_same(limit: int, size: int) -> None:
    for whole, offset in (
        (datagram(size, ttl=limit), 8),
        (datagram_ipv6(size, hop_limit=limit), 7),
    ):
        injector = NoInjector(1)
        copy = Copy(whole, injector)  # type: ignore[arg-type]
        copy.accept()
        expected = whole[:offset] + bytes((limit - 1,)) + whole[offset + 1 :]
        assert injector.sent == [expected] == [copy.get_payload()]


def test_a_dropped_copy_is_not_sent() -> None:
    injector = NoInjector(1)
    Copy(datagram(), injector).drop()  # type: ignore[arg-type]
    assert injector.sent == []
