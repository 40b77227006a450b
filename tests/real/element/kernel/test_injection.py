"""Copies for a second leg, over sockets that are none: what is sent, where to, how marked."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Sequence
from typing import Any

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
        self.options: list[tuple[int, ...]] = []
        self.sent: list[tuple[bytes, tuple[str, int]]] = []
        self.failure, self.blocking, self.closed = 0, True, False

    def setsockopt(self, *option: int) -> None:
        self.options.append(option)

    def setblocking(self, blocking: bool) -> None:
        self.blocking = blocking

    def sendto(self, data: bytes, address: tuple[str, int]) -> None:
        if self.failure:
            raise OSError(self.failure, os.strerror(self.failure))
        self.sent.append((data, address))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Sequence[FakeSocket]:
    """The sockets in the order in which they were opened."""
    opened: list[FakeSocket] = []

    def make(*kind: int) -> FakeSocket:
        opened.append(FakeSocket(*kind))
        return opened[-1]

    monkeypatch.setattr(socket, "socket", make)
    return opened


def test_each_version_has_one_socket_which_marks_sends_and_never_waits(
    sockets: Sequence[FakeSocket],
) -> None:
    injector = Injector(7)
    assert not sockets
    for whole in (datagram(), IPV6, datagram(), IPV6):
        injector.send(whole)
    families = [(socket.AF_INET, "10.2.1.2"), (socket.AF_INET6, "fd00:10:2:1::2")]
    for opened, whole, (family, to) in zip(sockets, (datagram(), IPV6), families, strict=True):
        assert opened.made == (family, socket.SOCK_RAW, socket.IPPROTO_RAW)
        assert opened.options == [(socket.SOL_SOCKET, socket.SO_MARK, leg_mark(7))]
        assert opened.sent == [(whole, (to, 0))] * 2
        assert not opened.blocking
    injector.close()
    assert all(opened.closed for opened in sockets)


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EMSGSIZE, errno.ENETUNREACH])
def test_what_the_kernel_refuses_is_counted_and_the_next_copy_is_sent(
    number: int, sockets: Sequence[FakeSocket]
) -> None:
    injector = Injector(1)
    for size, failure in ((500, 0), (501, number), (502, 0)):
        if sockets:
            sockets[0].failure = failure
        injector.send(datagram(size))
    assert injector.refused == 1
    assert [len(sent) for sent, _ in sockets[0].sent] == [500, 502]


@given(st.integers(1, 255), st.integers(40, 200))
def test_a_copy_is_one_hop_further_and_else_the_same(limit: int, size: int) -> None:
    for whole, offset in (
        (datagram(size, ttl=limit), 8),
        (datagram_ipv6(size, hop_limit=limit), 7),
    ):
        injector: Any = NoInjector(1)
        copy = Copy(whole, injector)
        copy.drop()
        assert injector.sent == []
        copy.accept()
        expected = whole[:offset] + bytes((limit - 1,)) + whole[offset + 1 :]
        assert injector.sent == [expected] == [copy.get_payload()]
