"""The kernel's view of connections over time: file `tcp-info.csv`, and all subflows of MPTCP."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from minitopo_dc.runners.processes.kernel_socket import Subflow, subflow

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


SAMPLE_NS = 100_000_000
"""Between two samples of a subflow: as the default interval of all other time series."""
SLACK_NS = 5_000_000
"""A timer that is early by so little has a sample's time."""


@dataclass(slots=True)
class _Seen:
    """A subflow as it was last seen, and its samples."""

    subflow: Subflow
    opened_ns: int
    closed_ns: int | None = None
    samples: list[tuple[int, Subflow]] = field(default_factory=list)


class SubflowHistory:
    """Keeps the last counters of subflows that have gone.

    A subflow's counters are gone once the client has closed it, which may be before the server
    learns that the last byte arrived.
    """

    def __init__(self, *, samples: bool) -> None:
        """Make a history, with or without a time series of samples."""
        self._seen: dict[tuple[str, str, int], _Seen] = {}
        self._samples = samples
        self._sampled_ns: int | None = None

    def take(self, now_ns: int, current: Sequence[Subflow], *, ended: bool) -> None:
        """Note what the kernel says of the subflows now.

        Args:
            now_ns: on the monotonic clock.
            current: the subflows that there are.
            ended: whether the client has closed the connection: then subflows go with it, and
                none of them was closed for itself.
        """
        due = self._sampled_ns is None or now_ns - self._sampled_ns >= SAMPLE_NS - SLACK_NS
        if due:
            self._sampled_ns = now_ns
        there = {each.key: each for each in current}
        for key, last in there.items():
            seen = self._seen.setdefault(key, _Seen(last, now_ns))
            seen.subflow = last
        for key, seen in self._seen.items():
            was_open = seen.closed_ns is None
            if was_open and not ended and not (key in there and there[key].is_open):
                seen.closed_ns = now_ns
            if self._samples and was_open and (due or seen.closed_ns or not seen.samples):
                seen.samples.append((now_ns, seen.subflow))

    def report(self, skipped: Sequence[int] = ()) -> list[dict[str, Any]]:
        """Return each subflow's last counters, times and samples for JSON, in order of opening.

        Args:
            skipped: how many of the first samples to leave out, of each subflow that was there.
        """
        skips = [*skipped, *[0] * (len(self._seen) - len(skipped))]
        return [
            {
                **asdict(seen.subflow),
                "opened_ns": seen.opened_ns,
                "closed_ns": seen.closed_ns,
                **(
                    {"samples": [_sample(*each) for each in seen.samples[skip:]]}
                    if self._samples
                    else {}
                ),
            }
            for seen, skip in zip(self._seen.values(), skips, strict=True)
        ]


class AgentSamples:
    """Takes what the agent (`linux_guest`) reports of a connection."""

    def __init__(self, *, samples: bool) -> None:
        """Begin without a report; `samples` is that of `SubflowHistory`."""
        self.history = SubflowHistory(samples=samples)
        self.kind: dict[str, Any] | None = None
        """Whether it is multipath, and its congestion control, by the last sample."""
        self.latest: list[Subflow] = []
        """The subflows of the last sample."""
        self._next: list[Subflow] = []

    def take(self, kind: str, rest: str) -> int | None:
        """Take a line `subflow` or, behind those of its moment, `sample`.

        Returns:
            The moment of a sample (ns), None of a subflow.
        """
        if kind == "subflow":
            local, remote, port, info = rest.split()
            if int(port):  # else it has been disconnected
                self._next.append(subflow(local, (remote, int(port)), bytes.fromhex(info)))
            return None
        moment, ended, multipath, algorithm = rest.split()
        self.latest, self._next = self._next, []
        self.kind = {"multipath": multipath == "1", "congestion_control": algorithm}
        self.history.take(int(moment), self.latest, ended=ended == "1")
        return int(moment)

    def connection(self) -> dict[str, Any] | None:
        """Return what was seen last as a server reports it, None without a sample."""
        return None if self.kind is None else {**self.kind, "subflows": self.history.report()}


def _sample(time_ns: int, subflow: Subflow) -> dict[str, Any]:
    return {
        "time_ns": time_ns,
        "cwnd_bytes": subflow.cwnd_bytes,
        "in_flight_bytes": subflow.in_flight_bytes,
        "smoothed_rtt_ms": subflow.smoothed_rtt_ms,
        "bytes_sent": subflow.bytes_sent,
        "bytes_acked": subflow.bytes_acked,
        "packets_lost": subflow.retransmissions,
    }
