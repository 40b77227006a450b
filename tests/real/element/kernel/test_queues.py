"""Netlink queues: packets, counters, errors."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.real.element.kernel import queues
from minitopo_dc.real.element.kernel import queues as module
from minitopo_dc.real.element.kernel.process import ElementError
from minitopo_dc.real.element.kernel.queues import (
    HEADER_ONLY,
    KernelQueue,
    QueueDrops,
    read_refusals,
    refused_since,
)


class FakeQueue:
    """Stands in for netfilterqueue's, which needs root; reads as that one does."""

    in_use = False

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.waiting = 0
        self.bound: dict[str, Any] = {}

    def bind(self, number: int, callback: object, **options: Any) -> None:
        if self.in_use:
            raise OSError("Failed to create queue 3.")
        self.bound = {"number": number, "callback": callback} | options

    def get_fd(self) -> int:
        return self.socket.fileno()

    def run_socket(self, reading: socket.socket) -> None:
        while True:
            try:
                self.bound["callback"](reading.recv(4096))
            except OSError as error:
                assert error.errno == errno.EAGAIN
                return

    def unbind(self) -> None:
        self.bound.clear()


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeQueue]:
    made = FakeQueue()
    monkeypatch.setattr(module, "NetfilterQueue", lambda: made)
    yield made
    made.socket.close()


def ignore(_: object) -> None:
    pass


def opened() -> closing[KernelQueue]:
    return closing(KernelQueue(3, ignore, HEADER_ONLY))


def test_a_queue_that_another_element_has_is_one_error(queue: FakeQueue) -> None:
    queue.in_use = True
    with pytest.raises(ElementError, match=r"NFQUEUE 3: Failed .*another element running"):
        KernelQueue(3, ignore, HEADER_ONLY)


def test_a_full_socket_buffer_is_no_error_to_the_reader(queue: FakeQueue) -> None:
    with opened():
        assert queue.socket.getsockopt(module.SOL_NETLINK, module.NETLINK_NO_ENOBUFS) == 1


class Reading(NamedTuple):
    """A queue, where its packets come from, and what it has called back with."""

    queue: KernelQueue
    packets: socket.socket
    found: list[bytes]


@pytest.fixture
def reading(queue: FakeQueue, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reading]:
    queue.socket.close()
    packets, queue.socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    found: list[bytes] = []
    # No socket but a netlink one has the option.
    monkeypatch.setattr(module, "SOL_NETLINK", socket.SOL_SOCKET)
    monkeypatch.setattr(module, "NETLINK_NO_ENOBUFS", socket.SO_KEEPALIVE)
    made = KernelQueue(3, found.append, HEADER_ONLY)  # type: ignore[arg-type]
    with packets, closing(made):
        yield Reading(made, packets, found)


def test_a_turn_ends_after_its_budget_and_the_next_one_goes_on(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUDGET", 4)
    for number in range(6):
        reading.packets.send(bytes((number,)))
    turns = []
    for _ in range(3):
        reading.queue.read()
        turns.append(len(reading.found))
    assert turns == [4, 6, 6]


@given(
    st.dictionaries(
        st.integers(0, 65_535),
        st.builds(QueueDrops, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)),
    )
)
def test_the_state_file_of_the_kernel_is_read_by_its_columns(
    drops: dict[int, QueueDrops],
) -> None:
    rows = [
        f"{number:5d} {4242:6d} {7:5d} 2 {65531:5d} {each.queue_full:5d} {each.socket_full:5d} "
        f"{999:8d}  1\n"  # net/netfilter/nfnetlink_queue.c, seq_show
        for number, each in drops.items()
    ]

    class State:
        def read_text(self, encoding: str) -> str:
            return "".join(rows).encode(encoding).decode(encoding)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "NFQUEUE_STATE", State())
        assert module.read_drops() == drops


PROGRAM = """
from minitopo_dc.real.element.kernel.queues import NetlinkQueues
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


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(queues, "NET", tmp_path)
    return tmp_path


def test_a_kernel_without_ipv6_has_ipv4_s(files: Path) -> None:
    write(files, 2, 3, None)
    assert read_refusals() == {"IPv4 InHdrErrors": 2, "IPv4 InCsumErrors": 3}


def test_what_did_not_grow_is_left_out(files: Path) -> None:
    write(files, 2, 3, 4)
    before = read_refusals()
    write(files, 2, 13, 5)
    assert refused_since(before) == {"IPv4 InCsumErrors": 10, "IPv6 OutDiscards": 1}


def test_this_kernel_has_the_counters() -> None:
    assert {"IPv4 InHdrErrors", "IPv4 OutDiscards", "IPv4 InCsumErrors"} <= read_refusals().keys()
