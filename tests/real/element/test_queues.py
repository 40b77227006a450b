"""Netlink queues: packets, counters, errors."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.real.element import queues as module
from minitopo_dc.real.element.loop import ElementError
from minitopo_dc.real.element.queues import (
    HEADER_ONLY,
    KernelQueue,
    read_refusals,
    refused_since,
)


class FakeQueue:
    """Stands in for netfilterqueue's, which needs root; reads as that one does."""

    def __init__(self, reading: socket.socket) -> None:
        self._reading = reading
        self._callback: Any = None

    def bind(self, number: int, callback: object, **_: Any) -> None:
        if number == 0:
            raise OSError("Failed to create queue 0.")
        self._callback = callback

    def get_fd(self) -> int:
        return self._reading.fileno()

    def run_socket(self, reading: socket.socket) -> None:
        while True:
            try:
                self._callback(reading.recv(4096))
            except OSError as error:
                assert error.errno == errno.EAGAIN
                return

    def unbind(self) -> None:
        self._callback = None


def test_a_turn_ends_after_its_budget_and_the_next_one_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packets, reading = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    monkeypatch.setattr(module, "NetfilterQueue", lambda: FakeQueue(reading))
    monkeypatch.setattr(module, "BUDGET", 4)
    # No socket but a netlink one has the option.
    monkeypatch.setattr(module, "SOL_NETLINK", socket.SOL_SOCKET)
    monkeypatch.setattr(module, "NETLINK_NO_ENOBUFS", socket.SO_KEEPALIVE)
    seen: list[Any] = []
    with packets, reading, closing(KernelQueue(3, seen.append, HEADER_ONLY)) as queue:
        for number in range(6):
            packets.send(bytes((number,)))
        turns = []
        for _ in range(3):
            queue.read()
            turns.append(len(seen))
        with pytest.raises(ElementError, match=r"NFQUEUE 0: "):
            KernelQueue(0, seen.append, HEADER_ONLY)
    assert turns == [4, 6, 6]


def test_the_state_file_of_the_kernel_is_read_by_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"  # as net/netfilter/nfnetlink_queue.c, seq_show
    state.write_text(
        "    0   4242     7 2 65531     0     0      999  1\n"
        "65535   4242     7 2 65531 4294967295    12     1000  1\n"
    )
    monkeypatch.setattr(module, "NFQUEUE_STATE", state)
    assert module.read_drops() == {
        0: {"queue_full": 0, "socket_full": 0},
        65535: {"queue_full": 2**32 - 1, "socket_full": 12},
    }


PROGRAM = """
from minitopo_dc.real.element.queues import NetlinkQueues
queues = NetlinkQueues()
print(queues.add(64), queues.add(64))
queues.close()
"""
UNSHARE = ("unshare", "--map-root-user", "--net", "--kill-child")


def test_queues_open_where_buffers_may_not_exceed_the_machine_s_limit() -> None:
    if subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces for this user on this machine")
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.stdout == "0 1\n", done.stderr


def write(directory: Path, errors: int, checksums: int, discards: int | None) -> None:
    """The kernel's files, as far as they are read."""
    (directory / "snmp").write_text(
        f"Ip: Forwarding InReceives InHdrErrors\nIp: 1 9 {errors}\nIcmp: InErrors\nIcmp: 7\n"
    )
    (directory / "netstat").write_text(
        f"TcpExt: InCsumErrors\nTcpExt: 8\nIpExt: InOctets InCsumErrors\nIpExt: 5 {checksums}\n"
    )
    if discards is not None:
        (directory / "snmp6").write_text(
            f"Ip6InReceives   \t3\nIp6OutDiscards   \t{discards}\nIcmp6InErrors   \t4\n"
        )


def test_refusals_are_what_grew_of_both_versions_where_both_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "NET", tmp_path)
    write(tmp_path, 2, 3, None)
    before = read_refusals()
    assert before == {"IPv4 InHdrErrors": 2, "IPv4 InCsumErrors": 3}
    write(tmp_path, 2, 13, 5)
    assert refused_since(before) == {"IPv4 InCsumErrors": 10, "IPv6 OutDiscards": 5}


def test_this_kernel_has_the_counters() -> None:
    assert {"IPv4 InHdrErrors", "IPv4 OutDiscards", "IPv4 InCsumErrors"} <= read_refusals().keys()
