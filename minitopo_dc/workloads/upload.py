"""An upload: one body from the client to the server, which answers when all of it is there."""

from __future__ import annotations

from typing import ClassVar

from minitopo_dc.fields import Direction
from minitopo_dc.fields.ranges import Megabytes
from minitopo_dc.workloads.base import Column, Measurement, Workload, workload
from minitopo_dc.workloads.content import blocks
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

    def reset(self, stream: int, now: int) -> None:  # noqa: ARG002
        """Refuse that the server gives the transfer up.

        Raises:
            WrongAnswer: always.
        """
        raise WrongAnswer("the server gave the transfer up")

    def _complete(self, now: int) -> None:
        self.outcome.completion_s = self._since_start(now)
        self.ended = True
