"""Downloads and uploads: one resource to or from the client, whole or for a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from minitopo_dc.fields import Direction
from minitopo_dc.fields.ranges import Megabytes, Seconds
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads.base import Column, Measurement, Workload, measurement, workload
from minitopo_dc.workloads.exchange import (
    Client,
    Received,
    Requests,
    WrongAnswer,
    blocks,
    content_sha256,
)

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
        Column("bound_mbps", "bound\nMbit/s"),
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

    def make_client(self, connection: Requests) -> Client:
        """Return the client, which compares each byte."""
        return DownloadClient(self, connection)

    def measured(self, report: Mapping[str, Any]) -> Measurement:
        """Return the measurement in a client's report (`DownloadClient`).

        A client that the virtual clock's end cut off lasted for its duration.
        """
        ended_s = report["completion_s"] or report["stopped_s"] or self.lasts_s
        return measurement(report, report["bytes_received"], ended_s)

    def failure(self, measured: Measurement) -> str | None:
        """Return an error if bytes are missing or the client stopped before its time, else None."""
        received, status = measured.bytes_received, measured.details.get("status")
        if status not in (None, 0, 200):  # 0: a program's, stopped before the answer came
            return f"client got status {status}, not 200"
        digest = measured.details.get("sha256")
        if digest and digest != content_sha256(received):
            return f"client received {received} bytes, not those sent"
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


class DownloadClient(Client):
    """A client that downloads one resource; after its deadline nothing counts any more."""

    eager: ClassVar[bool] = False

    def __init__(self, workload: Download, connection: Requests) -> None:
        super().__init__()
        self._workload = workload
        self._connection = connection
        self._deadline = math.inf
        self._content = Received()
        self._status: dict[str, int] = {}  # HTTP/0.9 has none
        self._stopped_s: float | None = None  # in place of completion_s: its time was over before
        self._first_byte_s: float | None = None

    def connecting(self, now: int) -> None:
        """Note that the client begins to connect, from which its duration counts."""
        super().connecting(now)
        if self._workload.duration_s is not None:
            self._deadline = now + round(self._workload.duration_s * NS_PER_S)

    def connected(self, now: int) -> None:
        """Ask for the resource, whole."""
        super().connected(now)
        self._connection.request("GET", f"/bytes/{self._workload.requested_bytes}")

    def headers(self, stream: int, status: int, now: int) -> None:  # noqa: ARG002
        """Note the status, which is judged at the end."""
        self._status = {"status": status}
        self._note_first(now)
        self.only_receives = True

    def data(self, stream: int, data: bytes, now: int) -> None:  # noqa: ARG002
        """Compare the next bytes.

        Raises:
            WrongAnswer: other bytes arrived than those sent.
        """
        self._note_first(now)
        self._content.take(data)
        self.outcome.bytes_received = self._content.size_bytes
        if not self._content.is_right:
            raise WrongAnswer("other bytes arrived than those sent")

    def end(self, stream: int, now: int) -> None:  # noqa: ARG002
        """Note that all of it is there."""
        self.outcome.completion_s = self._since_start(now)
        self.ended = True

    def on_time(self, now: int) -> None:
        """Stop when the time is over."""
        if now >= self._deadline and not self.ended:
            self._stopped_s = self._since_start(now)
            self.ended = True

    def next_timeout(self) -> float:
        """Return when the time is over (ns)."""
        return math.inf if self.ended else self._deadline

    def report(self) -> dict[str, Any]:
        """Return also the answer's status, when it began, and the hash of what has arrived."""
        content = self._content
        return {
            **super().report(),
            **self._status,
            "sha256": content_sha256(content.size_bytes) if content.is_right else "",
            "stopped_s": self._stopped_s,
            "first_byte_s": self._first_byte_s,
        }

    def _note_first(self, now: int) -> None:
        if self._first_byte_s is None:
            self._first_byte_s = self._since_start(now)


@workload("upload")
class Upload(Workload):
    """An upload of a size, which ends with the server's answer that it is complete and right."""

    columns: ClassVar[tuple[Column, ...]] = Download.columns
    loads: ClassVar[tuple[Direction, ...]] = ("uplink",)

    size_mb: Megabytes = 10.0
    """In units of 10^6 bytes; a download's default."""

    @property
    def upload_bytes(self) -> int:
        """Return the size of the upload in bytes."""
        return round(self.size_mb * BYTES_PER_MB)

    @property
    def size_bytes(self) -> int:
        """Return the bytes that are transferred."""
        return self.upload_bytes

    def make_client(self, connection: Requests) -> Client:
        """Return the client, which sends all of it at once."""
        return UploadClient(self, connection)

    def failure(self, measured: Measurement) -> str | None:
        """Return an error if bytes are missing, else None."""
        if measured.bytes_received == self.size_bytes:
            return None
        return f"{measured.bytes_received} of {self.size_bytes} bytes arrived"


class UploadClient(Client):
    """A client that uploads; the server compares each byte (`ContentServer`)."""

    def __init__(self, workload: Upload, connection: Requests) -> None:
        super().__init__()
        self._workload = workload
        self._connection = connection

    def connected(self, now: int) -> None:
        """Send the body, for an answer of one byte."""
        super().connected(now)
        body = b"".join(blocks(self._workload.upload_bytes))
        self._connection.request("POST", "/respond/1", body)

    def end(self, stream: int, now: int) -> None:  # noqa: ARG002
        """Note that the server has all of it."""
        self.outcome.bytes_received += self._workload.upload_bytes
        self._complete(now)

    def _complete(self, now: int) -> None:
        self.outcome.completion_s = self._since_start(now)
        self.ended = True


@workload("both")
class Both(Upload):
    """A download of `size_mb`, and an upload that begins with it."""

    columns: ClassVar[tuple[Column, ...]] = (
        Column("goodput_mbps", "goodput\nMbit/s", spread=True),
        Column("down_mbps", "down\nMbit/s"),
        Column("up_mbps", "up\nMbit/s"),
        Column("completion_s", "time\ns"),
    )
    loads: ClassVar[tuple[Direction, ...]] = ("downlink", "uplink")

    up_mb: Megabytes | None = None
    """Of the upload; None: as much as of the download."""

    @property
    def download_bytes(self) -> int:
        """Return the size of the download in bytes."""
        return round(self.size_mb * BYTES_PER_MB)

    @property
    def upload_bytes(self) -> int:
        """Return the size of the upload in bytes."""
        return round((self.up_mb or self.size_mb) * BYTES_PER_MB)

    @property
    def size_bytes(self) -> int:
        """Return the bytes of both together."""
        return self.download_bytes + self.upload_bytes

    def make_client(self, connection: Requests) -> Client:
        """Return the client, which ends with the later one of both."""
        return BothClient(self, connection)

    def details(self, measured: Measurement) -> dict[str, Any]:
        """Return the goodput (Mbit/s) of each direction over its own time."""
        sizes: Mapping[str, int] = {"down": self.download_bytes, "up": self.upload_bytes}
        return {
            f"{way}_mbps": 8 * size / measured.details[f"{way}_s"] / 1e6
            for way, size in sizes.items()
        }


class BothClient(UploadClient):
    """A client that uploads and downloads, and compares each byte that comes."""

    def __init__(self, workload: Both, connection: Requests) -> None:
        super().__init__(workload, connection)
        self._download_bytes = workload.download_bytes
        self._down = -1  # the download's stream
        self._complete_s: dict[str, float | None] = {"down_s": None, "up_s": None}
        self._content = Received()

    def connected(self, now: int) -> None:
        """Ask for the download before the upload takes the window."""
        self._down = self._connection.request("GET", f"/bytes/{self._download_bytes}")
        super().connected(now)

    def data(self, stream: int, data: bytes, now: int) -> None:  # noqa: ARG002
        """Take the next bytes of the download; the upload's answer has one."""
        if stream == self._down:
            self._content.take(data)
            self.outcome.bytes_received += len(data)

    def end(self, stream: int, now: int) -> None:
        """Note that a direction is complete, and end with the second one.

        Raises:
            WrongAnswer: the download is not what was asked for.
        """
        if stream != self._down:
            self._complete_s["up_s"] = self._since_start(now)
            self.outcome.bytes_received += self._workload.upload_bytes
        elif self._content.is_content(self._download_bytes):
            self._complete_s["down_s"] = self._since_start(now)
        else:
            raise WrongAnswer("other bytes arrived than those sent")
        if None not in self._complete_s.values():
            self._complete(now)

    def report(self) -> dict[str, Any]:
        """Return also when each direction was complete."""
        return {**super().report(), **self._complete_s}
