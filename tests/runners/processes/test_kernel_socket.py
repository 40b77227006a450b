"""What a refusal of the kernel is said to need."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from minitopo_dc.runners.processes import kernel_socket
from minitopo_dc.runners.processes.kernel_socket import congestion_control_refusal


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOENT, "modprobe tcp_bbr"), (errno.EPERM, "tcp_allowed_congestion_control")],
)
def test_the_advice_for_a_congestion_control_is_that_of_the_error(
    number: int, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_connection: socket.socket, _name: str) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(kernel_socket, "set_congestion_control", refuse)
    said = congestion_control_refusal("bbr")
    assert said is not None
    assert said.startswith(f"the kernel refuses bbr: {os.strerror(number)} (")
    assert advice in said
