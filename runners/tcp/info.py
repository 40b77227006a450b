"""The file `tcp-info.csv`: the kernel's view of a server's TCP connections over time."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Self

from minitopo_dc.runners.processes.kernel_socket import Subflow

FILE = "tcp-info.csv"
INTERVAL_S = 0.01
"""Between two samples. The mesh study's tcpprobe told the window at each acknowledgement; a look at
the connections costs some us, and 10 ms are short against its round trips of 36 ms and more."""
FIELDS = {
    "client_port": "remote_port",
    "state": "congestion_state",
    "cwnd_bytes": "cwnd_bytes",
    "in_flight_bytes": "in_flight_bytes",
    "ssthresh_bytes": "ssthresh_bytes",
    "smoothed_rtt_ms": "smoothed_rtt_ms",
    "rtt_variation_ms": "rtt_variation_ms",
    "least_rtt_ms": "least_rtt_ms",
    "retransmissions": "retransmissions",
    "bytes_acked": "bytes_acked",
}
"""Columns behind `time_ns`, and what of a `Subflow` is in them; what is not known is empty."""

_values = attrgetter(*FIELDS.values())


class TcpInfoFile:
    """The file while it is written: one row per connection and sample."""

    def __init__(self, path: Path) -> None:
        """Make the file, in place of one that exists.

        Raises:
            OSError: it cannot be written.
        """
        self._file = path.open("w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._file)
        self._rows.writerow(["time_ns", *FIELDS])

    def write(self, now_ns: int, connections: Sequence[Subflow]) -> None:
        """Add a row for each connection; `now_ns` is on the monotonic clock."""
        for each in connections:
            self._rows.writerow([now_ns, *_values(each)])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
