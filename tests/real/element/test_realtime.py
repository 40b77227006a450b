"""Making a process exact: what is asked for, and what it says when the kernel refuses."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from minitopo_dc.real.element import loop as module
from minitopo_dc.real.element.loop import configure_realtime


class Machine:
    """The calls into the kernel, each of which may be refused."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.refused = ""

    def call(self, name: str, *numbers: object) -> int:
        self.calls.append((name, *numbers))
        return -1 if name == self.refused else 0

    def schedule(self, pid: int, policy: int, parameters: os.sched_param) -> None:
        if self.call("schedule", pid, policy, parameters.sched_priority):
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made, held = Machine(), list[int]()
    libc, collector = (
        SimpleNamespace(
            **{name: lambda *words, name=name: made.call(name, *words) for name in names}
        )
        for names in (("prctl", "mlockall"), ("collect", "freeze", "disable"))
    )
    ctypes = SimpleNamespace(CDLL=lambda *_, **__: libc, get_errno=lambda: errno.EPERM)
    (tmp_path / "cpu_dma_latency").touch()
    monkeypatch.setattr(module, "CPU_LATENCY", str(tmp_path / "cpu_dma_latency"))
    monkeypatch.setattr(module, "_held", held)
    monkeypatch.setattr(module, "ctypes", ctypes)
    monkeypatch.setattr(module, "gc", collector)
    monkeypatch.setattr(os, "sched_setscheduler", made.schedule)
    yield made
    for descriptor in held:
        os.close(descriptor)


def test_a_process_gets_exact_timers_memory_a_priority_processors_and_no_collector(
    machine: Machine,
) -> None:
    assert configure_realtime(realtime=True) == []
    assert machine.calls == [
        *(("prctl", 29, 1, 0, 0, 0), ("mlockall", 1)),
        ("schedule", 0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, 10),
        *(("collect",), ("freeze",), ("disable",)),
    ]
    (descriptor,) = module._held  # as long as the process lives
    assert str(Path(f"/proc/self/fd/{descriptor}").readlink()) == module.CPU_LATENCY
    assert Path(module.CPU_LATENCY).read_bytes() == bytes(4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("prctl", "timer slack: Operation not permitted"),
        ("mlockall", "memory locking: Operation not permitted"),
        ("schedule", "real-time scheduling: Operation not permitted"),
        ("", "awake processors: /no/such/file: No such file or directory"),
    ],
)
def test_what_the_kernel_refuses_is_said_in_words_and_the_rest_is_done(
    call: str, words: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.refused = call
    if not call:
        monkeypatch.setattr(module, "CPU_LATENCY", "/no/such/file")
    assert configure_realtime(realtime=True) == [words]
    assert len(machine.calls) == 6
