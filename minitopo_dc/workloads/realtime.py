"""Frames at a fixed rate, each useful only if it comes in time: a call, a game, a remote drive."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from minitopo_dc.fields.ranges import Dscp, MillisecondsAbove, Seconds, within
from minitopo_dc.media.video import Frames, even_frames, freezes_s
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads.base import (
    Column,
    Measurement,
    RowsFigure,
    Workload,
    measurement,
    nearest_rank,
    workload,
)
from minitopo_dc.workloads.call import (
    PATIENCE_S,
    RequestCallClient,
    RequestCallServer,
    StreamCallClient,
    StreamCallServer,
)
from minitopo_dc.workloads.exchange import Answers, Client, Requests, Server, Streams

MAX_FRAMES = 10**6
"""Of one direction: each has a row."""
Delivery = Literal["streams", "datagrams", "stream"]
Direction = Literal["down", "up", "both"]


@workload("realtime")
class Realtime(Workload):
    """A call: `fps` frames a second for `duration_s`; docs/workloads.md.

    Their sizes do not depend on the network: the congestion control of media, which would lower
    the bitrate, is left out.
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("frame_delay_p50_ms", "median\nms"),
        Column("frame_delay_p95_ms", "p95\nms"),
        Column("frame_delay_p99_ms", "p99\nms", spread=True),
        Column("late_share", "late", percent=True),
        Column("lost_frames", "lost", count=True),
        Column("freezes", "freezes", count=True),
        Column("longest_freeze_s", "longest\nfreeze\ns"),
    )
    figure: ClassVar[RowsFigure | None] = RowsFigure(
        x="captured_s",
        y="delay_ms",
        x_label="captured (s since the client began to connect)",
        y_label="delay (ms)",
        title="Delay of each frame",
        lines=("up",),
        words={"up": {0: "down", 1: "up"}},
    )
    more_measures: ClassVar[tuple[str, ...]] = (
        *("frames", "frame_delay_mean_ms", "frame_delay_max_ms", "late_frames"),
        *("reset_frames", "bytes_in_time"),
    )
    has_goodput: ClassVar[bool] = False
    bare_streams: ClassVar[bool] = True

    fps: Annotated[float, *within(1, 1000, "frames/s")] = 30.0
    """The usual rate of a call, and of picoquic's media test."""
    bitrate_mbps: Annotated[float, *within(0.01, 1000, "Mbit/s")] = 2.5
    """Of each direction; WebRTC's greatest for 1280 x 720."""
    gop: Annotated[int, *within(1, 100_000, "frames")] = 30
    """Frames in a group that a key frame begins; picoquic's media test."""
    key_frame_ratio: Annotated[float, *within(1, 1000)] = 10.0
    """Bytes of a key frame by those of another; picoquic's media test."""
    direction: Direction = "down"
    delivery: Delivery = "streams"
    """A stream for each frame, DATAGRAM frames of QUIC (RFC 9221), or one stream for all."""
    deadline_ms: MillisecondsAbove = 150.0
    """From which delay on a frame is too late: ITU-T G.114's for a good conversation."""
    reset_late: bool = False
    """Whether a frame that is too late is given up (RFC 9000, section 19.4)."""
    key_frame_dscp: Dscp | None = None
    """The code point of a second connection that carries the key frames; none: one carries all."""
    duration_s: Seconds = 10.0

    @property
    def frames(self) -> int:
        """Return the number of frames of each direction."""
        return math.ceil(round(self.duration_s * self.fps, 6))

    @property
    def directions(self) -> tuple[Literal["down", "up"], ...]:
        """Return the directions that have frames."""
        return ("down", "up") if self.direction == "both" else (self.direction,)

    @property
    def lasts_s(self) -> float | None:
        """Return the time (s) to the last frame, and for it to arrive."""
        return self.duration_s + PATIENCE_S

    @cached_property
    def plan(self) -> Frames:
        """Return the frames of each direction."""
        return even_frames(
            self.frames,
            round(NS_PER_S / self.fps),
            bytes_per_s=self.bitrate_mbps * 125_000,
            gop=self.gop,
            key_ratio=self.key_frame_ratio,
        )

    def make_client(self, connection: Requests) -> Client:
        """Return the client, over streams of QUIC or over HTTP."""
        if isinstance(connection, Streams):
            return StreamCallClient(self, connection)
        return RequestCallClient(self, connection)

    def make_server(self, connection: Answers) -> Server:
        """Return the server's end, over streams of QUIC or over HTTP."""
        if isinstance(connection, Streams):
            return StreamCallServer(connection)
        return RequestCallServer(connection)

    def measured(self, report: Mapping[str, Any]) -> Measurement:
        """Return the measurement in a client's report (`CallClient`); bytes count in time."""
        told = {name: value for name, value in report.items() if name != "bytes_received"}
        in_time = (
            row["size_bytes"]
            for row in report["rows"]
            if row["delay_ms"] is not None and row["delay_ms"] <= self.deadline_ms
        )
        return measurement(told, sum(in_time), report["completion_s"])

    def obstacle(self, legs: int) -> str | None:  # noqa: ARG002
        """Return an error for too many frames or an impossible reset, else None."""
        if self.frames > MAX_FRAMES:
            return f"{self.frames} frames; allowed: at most {MAX_FRAMES:,}"
        if self.reset_late and self.delivery != "streams":
            return f"reset_late with delivery {self.delivery}; allowed: streams, one for each frame"
        return None

    def failure(self, measured: Measurement) -> str | None:
        """Return an error if no frame came in one of the directions, else None."""
        for direction in self.directions:
            rows = [row for row in measured.rows if row["up"] == (direction == "up")]
            if len(rows) != self.frames:
                return f"{len(rows)} of {self.frames} frames were sent {direction}"
            if all(row["received_s"] is None for row in rows):
                return f"none of {self.frames} frames came {direction}"
        return None

    def details(self, measured: Measurement) -> dict[str, Any]:
        """Return delays, lateness, losses and freezes of both directions together."""
        rows = measured.rows
        delays = sorted(d for row in rows if (d := row["delay_ms"]) is not None)
        late = sum(delay > self.deadline_ms for delay in delays)
        lost = len(rows) - len(delays)
        frozen = [*_freezes(rows, 0), *_freezes(rows, 1)]
        return {
            "frames": len(rows),
            "frame_delay_p50_ms": nearest_rank(delays, 0.50),
            "frame_delay_p95_ms": nearest_rank(delays, 0.95),
            "frame_delay_p99_ms": nearest_rank(delays, 0.99),
            "frame_delay_mean_ms": math.fsum(delays) / len(delays),
            "frame_delay_max_ms": delays[-1],
            "late_frames": late,
            "late_share": (late + lost) / len(rows),
            "lost_frames": lost,
            "freezes": len(frozen),
            "longest_freeze_s": max(frozen, default=0.0),
            "bytes_in_time": measured.bytes_received,
        }


def _freezes(rows: Any, up: int) -> list[float]:
    arrivals = [
        (int(row["frame"]), float(row["received_s"]))
        for row in rows
        if row["up"] == up and row["received_s"] is not None
    ]
    return freezes_s(arrivals)
