"""Making a process exact: what is asked for, and what it says when the kernel refuses."""

from __future__ import annotations

import errno
import gc
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from minitopo_dc.real.element.kernel import process as module
from minitopo_dc.real.element.kernel.process import configure_realtime


class Machine:
    """The calls into the kernel, each of which may be refused."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.refused: dict[str, int] = {}
        self._errno = 0

    def ctypes(self) -> SimpleNamespace:
        """What stands in for the module."""
        libc = SimpleNamespace(
            prctl=lambda *numbers: self._libc("prctl", *numbers),
            mlockall=lambda flags: self._libc("mlockall", flags),
        )
        return SimpleNamespace(CDLL=lambda *_, **__: libc, get_errno=lambda: self._errno)

    def schedule(self, pid: int, policy: int, parameters: os.sched_param) -> None:
        self.calls.append(("schedule", pid, policy, parameters.sched_priority))
        if number := self.refused.get("schedule"):
            raise OSError(number, os.strerror(number))

    def collector(self) -> SimpleNamespace:
        """What stands in for the module gc."""
        return SimpleNamespace(
            **{
                name: lambda name=name: self.calls.append(("gc", name))
                for name in ("collect", "freeze", "disable")
            }
        )

    def _libc(self, name: str, *numbers: int) -> int:
        self.calls.append((name, *numbers))
        self._errno = self.refused.get(name, 0)
        return -1 if self._errno else 0


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine()
    held: list[int] = []
    latency = tmp_path / "cpu_dma_latency"
    latency.touch()
    monkeypatch.setattr(module, "CPU_LATENCY", str(latency))
    monkeypatch.setattr(module, "_held", held)
    monkeypatch.setattr(module, "ctypes", made.ctypes())
    monkeypatch.setattr(module, "gc", made.collector())
    monkeypatch.setattr(os, "sched_setscheduler", made.schedule)
    yield made
    for descriptor in held:
        os.close(descriptor)


def test_nothing_is_refused_on_a_machine_that_has_everything(machine: Machine) -> None:
    assert configure_realtime(realtime=True) == []
    assert machine.calls[:2] == [("prctl", 29, 1, 0, 0, 0), ("mlockall", 1)]


def test_real_time_is_above_ordinary_processes_and_not_for_children(machine: Machine) -> None:
    configure_realtime(realtime=True)
    assert ("schedule", 0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, 10) in machine.calls


def test_processors_are_kept_awake_as_long_as_the_process_lives() -> None:
    configure_realtime(realtime=True)
    (descriptor,) = module._held
    assert str(Path(f"/proc/self/fd/{descriptor}").readlink()) == module.CPU_LATENCY
    assert Path(module.CPU_LATENCY).read_bytes() == struct.pack("i", 0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("prctl", "timer slack: Operation not permitted"),
        ("mlockall", "memory locking: Operation not permitted"),
        ("schedule", "real-time scheduling: Operation not permitted"),
    ],
)
def test_what_the_kernel_refuses_is_said_in_words_and_the_rest_is_done(
    call: str, words: str, machine: Machine
) -> None:
    machine.refused[call] = errno.EPERM
    assert configure_realtime(realtime=True) == [words]
    assert {name for name, *_ in machine.calls} == {"prctl", "mlockall", "schedule", "gc"}


def test_processors_that_sleep_on_are_said_with_the_file_that_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CPU_LATENCY", "/no/such/file")
    assert configure_realtime(realtime=True) == [
        "awake processors: /no/such/file: No such file or directory"
    ]


def test_the_collector_is_off_after_a_last_collection(machine: Machine) -> None:
    configure_realtime(realtime=False)
    assert machine.calls[-3:] == [("gc", "collect"), ("gc", "freeze"), ("gc", "disable")]
    assert gc.isenabled()  # the test's own
