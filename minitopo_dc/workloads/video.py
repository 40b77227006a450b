"""An adaptive video over HTTP, and what its viewer saw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from minitopo_dc.errors import InputError
from minitopo_dc.fields.ranges import Seconds, SecondsOrNone
from minitopo_dc.files import parse_json, read_text
from minitopo_dc.installation import shipped
from minitopo_dc.media.abr import abr_names, make_abr
from minitopo_dc.media.player import Cancel, Player, SegmentRequest, Wait
from minitopo_dc.media.video import SegmentedVideo as Content
from minitopo_dc.media.video import session_measures
from minitopo_dc.units import NS_PER_MS, NS_PER_S
from minitopo_dc.workloads.base import (
    Column,
    Measurement,
    Row,
    RowsFigure,
    Workload,
    measurement,
    nearest_rank,
    workload,
)
from minitopo_dc.workloads.exchange import Client, Received, Requests, WrongAnswer

EMBEDDED = ("movie", "bbb", "bbb4k")
"""Of Sabre's repository (BSD 2-Clause, `LICENSE.sabre` beside them)."""
MAX_BYTES = 16 << 20
"""Of a file: a film of two hours in segments of 1 s and 20 qualities has 2 MB."""


Positive = Annotated[float, Field(gt=0, lt=1e12)]


class _File(BaseModel, extra="forbid", strict=True):
    """A file as Sabre's (K. Spiteri, R. Sitaraman, D. Sparacio, MMSys 2018)."""

    segment_duration_ms: Positive
    bitrates_kbps: Annotated[list[Positive], Field(min_length=1)]
    segment_sizes_bits: Annotated[list[list[Positive]], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_shape(self) -> Self:
        if any(low >= high for low, high in pairwise(self.bitrates_kbps)):
            raise ValueError("bitrates_kbps: allowed is a list that ascends, the least first")
        qualities = len(self.bitrates_kbps)
        for number, row in enumerate(self.segment_sizes_bits):
            if len(row) != qualities:
                place = f"segment_sizes_bits.{number}"
                raise ValueError(f"{place} has {len(row)} sizes; allowed: {qualities}, as bitrates")
        return self


def parse_video(name: str, values: Any) -> Content:
    """Return the video that a file's JSON describes.

    Raises:
        InputError: something is missing, has a hole or makes no sense.
    """
    try:
        file = _File.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        words = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{place}{': ' if place else ''}{words}") from None
    return Content(
        name=name,
        segment_ns=round(file.segment_duration_ms * NS_PER_MS),
        bitrates_kbps=tuple(file.bitrates_kbps),
        sizes_bytes=tuple(
            tuple(max(1, round(bits / 8)) for bits in row) for row in file.segment_sizes_bits
        ),
    )


def read_video(name: str) -> Content:
    """Read an embedded video by its name, or a file of the user's by its path.

    Raises:
        InputError: there is none, or it is wrong.
    """
    path = shipped("videos") / f"{name}.json" if name in EMBEDDED else Path(name)
    try:
        return parse_video(name, parse_json(read_text(path, MAX_BYTES)))
    except FileNotFoundError:
        raise InputError(
            f"video {name}: there is no such file; allowed: {', '.join(EMBEDDED)}, or a file"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"video {name}: {error}") from None


def _known_abr(name: str) -> str:
    if name not in abr_names():
        words = f"{name}; allowed: {', '.join(abr_names())}"
        raise PydanticCustomError("abr", "{words}", {"words": words})
    return name


@workload("video")
class Video(Workload):
    """A player that watches the first `duration_s` of a video; docs/workloads.md.

    The session ends when its last segment is there: what is left of it cannot stall.
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("startup_s", "startup\ns", spread=True),
        Column("stalls", "stalls", count=True),
        Column("stall_s", "stalled\ns", spread=True),
        Column("bitrate_mbps", "bitrate\nMbit/s", spread=True),
        Column("switches", "switches", count=True),
        Column("segment_p95_s", "segment\n95th\npercentile\ns"),
        Column("linear_qoe_mbps", "QoE\nMbit/s", spread=True),
    )
    figure: ClassVar[RowsFigure | None] = RowsFigure(
        x="done_s",
        y="bitrate_mbps",
        x_label="downloaded (s since the client began to connect)",
        y_label="bitrate of the segment (Mbit/s)",
        title="Quality of each segment",
    )
    more_measures: ClassVar[tuple[str, ...]] = (
        *("segments", "stall_ratio", "change_mbps", "segment_p99_s", "sabre_score"),
        *("abandoned", "wasted_bytes"),
    )
    has_goodput: ClassVar[bool] = False

    video: str = "movie"
    """The name of an embedded one, or a file."""
    abr: Annotated[str, AfterValidator(_known_abr)] = "dynamic"
    """The algorithm; the default is dash.js's."""
    buffer_s: Seconds = 25.0
    """How much the player holds at most: as in Sabre's runs."""
    startup_s: SecondsOrNone = 0.0
    """How much it holds before it begins to play, one segment at least (as Sabre's)."""
    duration_s: Seconds = 60.0
    """Of the video, rounded up to whole segments: as long as the embedded traces."""
    abandon: bool = True
    """Whether downloads may be given up (dash.js does)."""

    @property
    def content(self) -> Content:
        """Return the video, with its segments in all qualities.

        Raises:
            InputError: the file is missing or wrong.
        """
        return _embedded(self.video) if self.video in EMBEDDED else read_video(self.video)

    @property
    def segments(self) -> int:
        """Return how many segments are watched; InputError as `content`."""
        return math.ceil(round(self.duration_s / self.content.segment_s, 6))

    @property
    def lasts_s(self) -> float | None:
        """Return about how long it plays (s); stalls come beside it."""
        return self.duration_s

    def make_client(self, connection: Requests) -> Client:
        """Return the player's client; InputError as `content`."""
        return VideoClient(self, connection)

    def measured(self, report: Mapping[str, Any]) -> Measurement:
        """Return the measurement in a client's report (`VideoClient`); bytes are those watched."""
        watched = (row["size_bytes"] for row in report["rows"] if row["done_s"] is not None)
        return measurement(report, sum(watched), report["completion_s"])

    def player(self) -> Player:
        """Return a player that has not begun; InputError as `content`."""
        content = self.content
        return Player(
            content,
            make_abr(self.abr, content, self.buffer_s),
            self.segments,
            buffer_ns=round(self.buffer_s * NS_PER_S),
            startup_ns=round(self.startup_s * NS_PER_S),
            abandon=self.abandon,
        )

    def obstacle(self, legs: int) -> str | None:  # noqa: ARG002
        """Return an error of the video's file or of parameters that do not fit it, else None."""
        try:
            content = self.content
        except InputError as error:
            return str(error)
        longest_s = len(content.sizes_bytes) * content.segment_s
        if self.segments > len(content.sizes_bytes):
            return f"duration_s is {self.duration_s:g}; allowed with this video: {longest_s:g}"
        least_s = 2 * content.segment_s
        if self.buffer_s < least_s:
            return f"buffer_s is {self.buffer_s:g}; allowed: at least two segments, {least_s:g}"
        if self.startup_s > (most_s := self.buffer_s - content.segment_s):
            allowed = f"at most {most_s:g}, the buffer without a segment"
            return f"startup_s is {self.startup_s:g}; allowed: {allowed}"
        return None

    def failure(self, measured: Measurement) -> str | None:
        """Return an error if segments are missing, else None."""
        there = sum(row["done_s"] is not None for row in measured.rows)
        is_whole = there == self.segments
        return None if is_whole else f"client has {there} of {self.segments} segments"

    def details(self, measured: Measurement) -> dict[str, Any]:
        """Return the numbers of the session, as its viewer saw it."""
        rows, content = measured.rows, self.content
        bitrates = content.bitrates_kbps
        seen = session_measures(
            content.segment_s,
            [bitrates[round(_number(row, "quality"))] for row in rows],
            bitrates[0],
            startup_s=float(measured.details["startup_s"]),
            stall_s=math.fsum(_number(row, "stall_s") for row in rows),
        )
        times = sorted(_number(row, "done_s") - _number(row, "requested_s") for row in rows)
        return {
            "segments": len(rows),
            "stalls": sum(_number(row, "stall_s") > 0 for row in rows),
            **seen,
            "segment_p95_s": nearest_rank(times, 0.95),
            "segment_p99_s": nearest_rank(times, 0.99),
            "abandoned": sum(_number(row, "abandoned") for row in rows),
            "wasted_bytes": sum(_number(row, "wasted_bytes") for row in rows),
        }


_embedded = cache(read_video)
"""They do not change."""


def _number(row: Row, column: str) -> float:
    value = row[column]
    assert value is not None
    return value


def segment_rows(player: Player, start_ns: int) -> list[Row]:
    """Return one row for each segment that was asked for; times in s since `start_ns`."""

    def seconds(moment: int | None) -> float | None:
        return None if moment is None else (moment - start_ns) / NS_PER_S

    bitrates = player.video.bitrates_kbps
    return [
        {
            "segment": segment.number + 1,
            "quality": segment.quality,
            "bitrate_mbps": bitrates[segment.quality] / 1000,
            "size_bytes": segment.size_bytes,
            "requested_s": seconds(segment.requested_ns),
            "first_byte_s": seconds(segment.first_byte_ns),
            "done_s": seconds(segment.done_ns),
            "buffer_s": segment.buffer_ns / NS_PER_S,
            "stall_s": segment.stall_ns / NS_PER_S,
            "abandoned": segment.abandoned,
            "wasted_bytes": segment.wasted_bytes,
        }
        for segment in player.segments
    ]


class VideoClient(Client):
    """A client that watches a video: a request for each segment; one given up is cancelled.

    Its received bytes are of segments, also of those that were given up.
    """

    def __init__(self, workload: Video, connection: Requests) -> None:
        """Take the workload; raise InputError when its video cannot be read."""
        super().__init__()
        self._player = workload.player()
        self._connection = connection
        self._connected = False
        self._wake: float = math.inf
        self._arriving: tuple[int, SegmentRequest, Received] | None = None  # on which stream

    def connected(self, now: int) -> None:
        """Ask for the first segment."""
        super().connected(now)
        self._connected = True
        self.on_time(now)

    def headers(self, stream: int, status: int, now: int) -> None:
        """Check the status, and note that the answer has begun."""
        super().headers(stream, status, now)
        self._player.first_byte(self._request_numbers[stream], now)

    def data(self, stream: int, data: bytes, now: int) -> None:
        """Take a piece of an answer that arrived, and check its bytes.

        Raises:
            WrongAnswer: it is not what was asked for.
        """
        self.outcome.bytes_received += len(data)
        if self._arriving is None or self._arriving[0] != stream:  # given up
            return
        _, request, received = self._arriving
        received.take(data)
        if not received.is_right or received.size_bytes > request.size_bytes:
            words = "was answered with other bytes than those sent"
            raise WrongAnswer(f"request {request.number} {words}")
        self._player.arrived(request.number, len(data), now)
        if received.size_bytes == request.size_bytes:
            self._arriving = None

    def end(self, stream: int, now: int) -> None:  # noqa: ARG002
        """Check that an answer that has ended is complete.

        Raises:
            WrongAnswer: it has fewer bytes than were asked for.
        """
        if self._arriving is not None and self._arriving[0] == stream:
            _, request, received = self._arriving
            sizes = f"{received.size_bytes} bytes, not {request.size_bytes}"
            raise WrongAnswer(f"request {request.number} was answered with {sizes}")

    def reset(self, stream: int, now: int) -> None:
        """Refuse that the server gives an answer up that was not cancelled."""
        if self._arriving is not None and self._arriving[0] == stream:
            super().reset(stream, now)

    def on_time(self, now: int) -> None:
        """Ask for what is due, and give up what is of no use."""
        while self._connected and not self.ended:
            action = self._next(now)
            if isinstance(action, Wait):
                self._wake = math.inf if action.until is None else action.until
                return
            if isinstance(action, SegmentRequest):
                self._ask(action)
            elif isinstance(action, Cancel):
                assert self._arriving is not None  # it is what the player gives up
                self._connection.cancel(self._arriving[0])
                self._arriving = None
            elif not self.ended:
                self.outcome.completion_s = self._since_start(now)
                self.ended = True

    def next_timeout(self) -> float:
        """Return when to call `on_time` (ns) if nothing arrives before, infinity for never."""
        return math.inf if self.ended else self._wake

    def report(self) -> dict[str, Any]:
        """Return also when the video began, and what has become of each segment until now."""
        self.outcome.rows = segment_rows(self._player, self._start)
        began = self._player.started_ns
        return {
            **super().report(),
            "startup_s": None if began is None else self._since_start(began),
        }

    def _next(self, now: int) -> SegmentRequest | Cancel | Wait | None:
        try:
            return self._player.next(now)
        except InputError as error:
            self.failed(str(error))
            return None

    def _ask(self, request: SegmentRequest) -> None:
        stream = self._connection.request("GET", f"/bytes/{request.size_bytes}")
        self._request_numbers[stream] = request.number
        self._arriving = stream, request, Received()
