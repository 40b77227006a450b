"""A download: one resource from the server to the client, whole or for a time."""

from __future__ import annotations

from typing import ClassVar

from minitopo_dc.settings.ranges import Megabytes, Seconds
from minitopo_dc.workloads.base import Column, Measurement, Workload, workload

ENDLESS_BYTES = 10**12
"""More than two legs of 10 Gbit/s carry in 6 minutes, the papers' longest being 3."""
DURATION_TOLERANCE_S = 0.05
"""By which a client may stop before `duration_s`: curl counts it in whole milliseconds, and none of
them with more than the precision of its timers."""
BYTES_PER_MB = 1_000_000


@workload("download")
class Download(Workload):
    """A download of a size, or for a time."""

    columns: ClassVar[tuple[Column, ...]] = (
        Column("goodput_mbps", "goodput\nMbit/s", spread=True),
        Column("completion_s", "time\ns"),
        Column("capacity_share", "capacity\nshare", percent=True),
    )

    size_mb: Megabytes = 10.0
    """In units of 10^6 bytes."""
    duration_s: Seconds | None = None
    """Measure what arrives in this time, in place of the time for `size_mb`; from the client's
    start of connecting."""

    @property
    def size_bytes(self) -> int:
        """Return the resource's size in bytes; 0 with a duration."""
        return 0 if self.duration_s is not None else round(self.size_mb * BYTES_PER_MB)

    @property
    def requested_bytes(self) -> int:
        """Return the bytes that the client asks for: with a duration more than any leg carries."""
        return ENDLESS_BYTES if self.duration_s is not None else self.size_bytes

    @property
    def lasts_s(self) -> float | None:
        """Return the duration in s, None without one."""
        return self.duration_s

    def failure(self, measured: Measurement) -> str | None:
        """Return an error if bytes are missing or the client stopped before its time, else None."""
        received = measured.bytes_received
        if received == self.requested_bytes:
            return None
        if self.duration_s is None:
            return f"client received {received} of {self.requested_bytes} bytes"
        if measured.completion_s < self.duration_s - DURATION_TOLERANCE_S:
            return (
                f"client ended after {measured.completion_s:.3f} of {self.duration_s:g} s with "
                f"{received} of {self.requested_bytes} bytes"
            )
        return None if received else f"client received nothing in {self.duration_s:g} s"


def as_download(chosen: Workload) -> Download:
    """Return a workload as a download, for a transport that carries only these.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(chosen, Download):
        raise TypeError(f"workload {chosen.kind} is no download")
    return chosen
