"""Numbered, timestamped UDP packets through the testbed, for calibration and benchmarks.

All hosts are on one machine, so both ends (`probe_ends`) read the same monotonic clock and one-way
delays are exact.
"""

from __future__ import annotations

import contextlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from minitopo_dc.installation import module_command
from minitopo_dc.real.network.hosts import EmulatedHost
from minitopo_dc.real.run.probe_ends import COLUMNS, READY

LINGER_S = 1.0
"""For what is on the way when the sender ends: five times the papers' t-Reordering."""


@dataclass(frozen=True)
class Arrivals:
    """The packets that arrived, in order of arrival; times in ns of the monotonic clock."""

    number: npt.NDArray[np.int64]
    sent: npt.NDArray[np.int64]
    received: npt.NDArray[np.int64]

    @property
    def in_order(self) -> bool:
        """Return whether every packet came after all that were sent before it."""
        return bool(np.all(np.diff(self.number) > 0))

    @property
    def delays_ms(self) -> npt.NDArray[np.float64]:
        """Return the one-way delays in ms, in order of arrival."""
        return (self.received - self.sent) / 1e6


def send_through(
    sender: EmulatedHost,
    receiver: EmulatedHost,
    address: str,
    *,
    rate: float,
    seconds: float,
    size: int,
    scratch: Path,
    linger_s: float = LINGER_S,
) -> Arrivals:
    """Send `rate` packets of `size` IP bytes a second for `seconds`; return what arrived.

    `linger_s`: for how long after the sender's end a packet may still come. However long none
    comes before that, as in an outage, the receiver waits.
    """
    module = module_command("minitopo_dc.real.run.probe_ends")
    receiving = [*module, "receive", address, str(round(rate * seconds)), str(scratch)]
    listening = receiver.popen(receiving, stdout=subprocess.PIPE)
    try:
        assert listening.stdout is not None
        if listening.stdout.readline() != READY:
            raise RuntimeError(f"the probe on {receiver.name} did not start")
        sending = sender.popen([*module, "send", address, str(rate), str(seconds), str(size)])
        if sending.wait():
            raise RuntimeError(f"the probe on {sender.name} failed")
        with contextlib.suppress(subprocess.TimeoutExpired):
            listening.wait(linger_s)  # it ends when all have arrived
        listening.terminate()
        listening.wait()
        listening.stdout.close()
    finally:
        listening.kill()
        listening.wait()
    table = np.fromfile(scratch, dtype=np.int64).reshape(-1, COLUMNS)
    scratch.unlink()
    return Arrivals(table[:, 0], table[:, 1], table[:, 2])
