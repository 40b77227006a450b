"""The ends of a cable without a kernel's TAP device: what is asked of it, and what it says."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from minitopo_dc.real.element import radio_link as module
from minitopo_dc.real.element.kernel import process
from minitopo_dc.real.element.kernel.process import ElementError
from minitopo_dc.real.element.radio_link import LARGEST_FRAME, End, Tap

END = End("h1-eth0", 7, "00:11:22:33:44:55")
HOME, HOST = "proc/thread-self/ns/net", "proc/7/ns/net"
NET_DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo:    900      10    0    0    0     0          0         0      900      10    0    0    0
h1-eth0:1200000    1000    1    2    0     0          0         0  5000000    4000    0   42    0
h1-eth01:    1       1    1    1    0     0          0         0        1       1    0   43    0
"""


class Request(NamedTuple):
    """One ioctl: in which network namespace, which, for which interface, with what."""

    namespace: str
    number: int
    interface: str
    value: bytes


class Kernel:
    """What the tap asks the kernel for; `refused` is the request that it has not."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.namespace = HOME
        self.requests: list[Request] = []
        self.refused = -1

    def path(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def enter(self, descriptor: int) -> None:
        target = Path(f"/proc/self/fd/{descriptor}").readlink()
        self.namespace = str(target.relative_to(self.root))

    def ioctl(self, _: object, number: int, request: bytes) -> None:
        if number == self.refused:
            raise OSError(errno.EPERM, "Operation not permitted")
        name, value = struct.unpack("16s24s", request)
        self.requests.append(Request(self.namespace, number, name.rstrip(b"\0").decode(), value))

    def of(self, number: int) -> Request:
        """The one request with this number."""
        (found,) = [each for each in self.requests if each.number == number]
        return found


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made = Kernel(tmp_path.resolve())
    for name, text in ((HOME, ""), (HOST, ""), ("proc/7/net/dev", NET_DEV)):
        made.path(name).parent.mkdir(parents=True, exist_ok=True)
        made.path(name).write_text(text)
    device = tmp_path / "tun"
    device.touch()
    monkeypatch.setattr(module, "DEVICE", str(device))
    monkeypatch.setattr(module, "Path", made.path)
    monkeypatch.setattr(process, "Path", made.path)
    monkeypatch.setattr(process, "_enter", made.enter)
    monkeypatch.setattr(module, "fcntl", SimpleNamespace(ioctl=made.ioctl))
    return made


@pytest.fixture
def tap(kernel: Kernel) -> Iterator[Tap]:
    made = Tap(END)
    assert kernel.requests
    yield made
    made.close()


@pytest.fixture
def host(tap: Tap) -> Iterator[socket.socket]:
    """What the host's end of the tap is: frame by frame, as the device."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * LARGEST_FRAME)
    ours.setblocking(False)
    os.dup2(ours.fileno(), tap.fileno())
    ours.close()
    with theirs:
        yield theirs


@pytest.mark.usefixtures("tap")
def test_the_interface_is_made_in_the_namespace_of_its_process(kernel: Kernel) -> None:
    assert {each.namespace for each in kernel.requests} == {HOST}
    assert {each.interface for each in kernel.requests} == {"h1-eth0"}
    assert kernel.namespace == HOME


@pytest.mark.usefixtures("tap")
def test_frames_are_whole_and_come_without_a_header_of_the_device(kernel: Kernel) -> None:
    (flags,) = struct.unpack_from("H", kernel.of(module.TUNSETIFF).value)
    assert flags == module.IFF_TAP | module.IFF_NO_PI


@pytest.mark.usefixtures("tap")
def test_the_interface_gets_its_address(kernel: Kernel) -> None:
    kind, address = struct.unpack_from("=H6s", kernel.of(module.SIOCSIFHWADDR).value)
    assert [kind, address.hex(":")] == [1, "00:11:22:33:44:55"]


def test_without_an_address_the_kernel_makes_one_up(kernel: Kernel) -> None:
    Tap(END._replace(mac="")).close()
    numbers = [each.number for each in kernel.requests]
    assert numbers == [module.TUNSETIFF, module.SIOCSIFTXQLEN]


@pytest.mark.usefixtures("tap")
def test_the_kernel_s_queue_holds_a_second_of_frames(kernel: Kernel) -> None:
    (length,) = struct.unpack_from("i", kernel.of(module.SIOCSIFTXQLEN).value)
    assert length == 100_000


@pytest.mark.parametrize("number", [module.TUNSETIFF, module.SIOCSIFHWADDR, module.SIOCSIFTXQLEN])
def test_an_interface_that_is_refused_is_one_error_and_we_are_home_again(
    number: int, kernel: Kernel
) -> None:
    kernel.refused = number
    with pytest.raises(ElementError, match=r"h1-eth0: Operation not permitted \(it needs root"):
        Tap(END)
    assert kernel.namespace == HOME


@pytest.mark.usefixtures("kernel")
def test_a_process_that_is_gone_is_one_error() -> None:
    with pytest.raises(ElementError, match="interface h1-eth0: No such file or directory"):
        Tap(END._replace(pid=8))


def test_a_machine_without_the_device_is_one_error(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DEVICE", "/no/such/tun")
    with pytest.raises(ElementError, match=r"No such file or directory .*/no/such/tun"):
        Tap(END)
    assert kernel.namespace == HOME


def test_a_namespace_that_may_not_be_entered_is_one_error(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> SimpleNamespace:
        return SimpleNamespace(setns=lambda *_: -1)

    libc = SimpleNamespace(CDLL=lambda *_, **__: refuse(), get_errno=lambda: errno.EPERM)
    monkeypatch.undo()
    monkeypatch.setattr(module, "Path", kernel.path)
    monkeypatch.setattr(process, "Path", kernel.path)
    monkeypatch.setattr(process, "ctypes", libc)
    with pytest.raises(ElementError, match="interface h1-eth0: Operation not permitted"):
        Tap(END)


def test_frames_are_received_one_at_a_time_until_there_is_none(
    tap: Tap, host: socket.socket
) -> None:
    frames = [b"first", bytes(LARGEST_FRAME)]
    for frame in frames:
        host.send(frame)
    assert [tap.receive(), tap.receive(), tap.receive()] == [*frames, None]


def test_a_frame_is_sent_as_it_is(tap: Tap, host: socket.socket) -> None:
    assert tap.send(b"a frame")
    assert host.recv(100) == b"a frame"


def test_an_interface_that_is_down_takes_no_frame(tap: Tap, host: socket.socket) -> None:
    host.close()
    assert not tap.send(b"a frame")


def test_drops_are_those_of_the_interface_s_own_row_and_of_what_it_transmits(tap: Tap) -> None:
    assert tap.dropped() == 42


def test_closing_takes_the_interface_away(kernel: Kernel) -> None:
    made = Tap(END)
    descriptor = made.fileno()
    made.close()
    assert kernel.requests
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
