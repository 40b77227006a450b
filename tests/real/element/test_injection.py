"""Copies for a second leg, over sockets that are none: what is sent, where to, how marked."""

from __future__ import annotations

import errno
import socket
from unittest.mock import MagicMock, call

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.real.element.injection import Injector, one_hop_further
from minitopo_dc.real.element.rules import leg_mark
from tests.real.element.fakes import datagram, datagram_ipv6

IPV6 = datagram_ipv6(destination="fd00001000020001" + "00" * 7 + "02")


@pytest.mark.parametrize(
    ("whole", "family", "to"),
    [(datagram(), socket.AF_INET, "10.2.1.2"), (IPV6, socket.AF_INET6, "fd00:10:2:1::2")],
)
def test_each_version_has_one_socket_which_marks_and_never_waits_and_refusals_are_counted(
    whole: bytes, family: int, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, injector = MagicMock(), Injector(7)
    monkeypatch.setattr(socket, "socket", opened)
    raw = opened.return_value
    raw.sendto.side_effect = [1000, OSError(errno.EAGAIN, "it is full"), 1000]
    for _ in range(3):
        injector.send(whole)
    injector.close()
    assert opened.call_args_list == [call(family, socket.SOCK_RAW, socket.IPPROTO_RAW)]
    raw.setsockopt.assert_called_once_with(socket.SOL_SOCKET, socket.SO_MARK, leg_mark(7))
    raw.setblocking.assert_called_once_with(False)
    assert raw.sendto.call_args_list == [call(whole, (to, 0))] * 3
    assert injector.refused == 1
    raw.close.assert_called_once_with()


@given(st.integers(1, 255), st.integers(40, 200))
def test_a_copy_is_one_hop_further_and_else_the_same(limit: int, size: int) -> None:
    for whole, offset in (
        (datagram(size, ttl=limit), 8),
        (datagram_ipv6(size, hop_limit=limit), 7),
    ):
        expected = whole[:offset] + bytes((limit - 1,)) + whole[offset + 1 :]
        assert one_hop_further(whole) == expected
