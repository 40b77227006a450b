"""An upload, and one at once with a download on its connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from minitopo_dc.fields import Direction
from minitopo_dc.fields.ranges import Megabytes
from minitopo_dc.workloads.base import Column, Measurement, Workload, workload
from minitopo_dc.workloads.content import Received, blocks
from minitopo_dc.workloads.download import BYTES_PER_MB, Download
from minitopo_dc.workloads.exchange import Client, Outcome, Requests, WrongAnswer


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
        return UploadClient(self, connection, Outcome())

    def failure(self, measured: Measurement) -> str | None:
        """Return an error if bytes are missing, else None."""
        if measured.bytes_received == self.size_bytes:
            return None
        return f"{measured.bytes_received} of {self.size_bytes} bytes arrived"


class UploadClient(Client):
    """A client that uploads; the server compares each byte (`ContentServer`)."""

    outcome: Outcome

    def __init__(self, workload: Upload, connection: Requests, outcome: Outcome) -> None:
        super().__init__(outcome)
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


@dataclass
class BothOutcome(Outcome):
    """Also when each direction was complete."""

    down_s: float | None = None
    up_s: float | None = None


class BothClient(UploadClient):
    """A client that uploads and downloads, and compares each byte that comes."""

    outcome: BothOutcome

    def __init__(self, workload: Both, connection: Requests) -> None:
        super().__init__(workload, connection, BothOutcome())
        self._download_bytes = workload.download_bytes
        self._down = -1  # the download's stream
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
            self.outcome.up_s = self._since_start(now)
            self.outcome.bytes_received += self._workload.upload_bytes
        elif self._content.is_content(self._download_bytes):
            self.outcome.down_s = self._since_start(now)
        else:
            raise WrongAnswer("other bytes arrived than those sent")
        if self.outcome.down_s is not None and self.outcome.up_s is not None:
            self._complete(now)
