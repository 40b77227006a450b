"""An adaptive video player without input or output: what it asks for and when, buffer, stalls.

The same object plays over a fluid network in tests, over packets on the virtual clock and over
sockets. Its user calls `next` again and again, which says what is to be done, and tells it what
arrives. Times are int ns of the user's clock.

It plays as Sabre's player does (MMSys 2018): the first segment in the lowest quality, one request
at a time, no new one while the buffer has no room for a segment; after a stall playing goes on with
the first segment that arrives.

A player's estimates of its network are two exponentially weighted averages over past downloads, a
fast one and a slow one, of which the more careful counts: as in the reference player dash.js and in
"From Theory to Practice: Improving Bitrate Adaptation in the DASH Reference Player" (Spiteri,
Sitaraman, Sparacio, MMSys 2018).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from minitopo_dc.errors import InputError
from minitopo_dc.media.abr import AbrAlgorithm, AbrView, DownloadProgress
from minitopo_dc.media.video import SegmentedVideo
from minitopo_dc.units import NS_PER_MS, NS_PER_S

CHECK_NS = 50 * NS_PER_MS
"""From one look at a download's progress to the next, and
`CHECK_BYTES`, a full packet, is the least progress that is looked at: Sabre's."""
CHECK_BYTES = 1500
HALF_LIVES_S = (3.0, 8.0)
"""Of what was once measured, in seconds of downloading; dash.js's, for video on demand."""


@dataclass(frozen=True, slots=True)
class SegmentRequest:
    """Action: ask for a segment; `number` counts all requests of a session, from 0."""

    number: int
    segment: int
    quality: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """Action: give a request up."""

    number: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Action: do nothing before `until` (ns) or, with None, until something arrives."""

    until: int | None


@dataclass(slots=True)
class VideoSegment:
    """One segment and what became of it; times in ns of the user's clock, None: not yet.

    Attributes:
        number: from 0.
        quality: of the last request for it.
        requested_ns: when it was first asked for.
        first_byte_ns: of the last request.
        done_ns: when it was there.
        buffer_ns: what there was to be played then, with it.
        stall_ns: how long the picture stood still until then for lack of it.
        abandoned: how many requests for it were given up.
        wasted_bytes: what had arrived of them.
    """

    number: int
    quality: int
    size_bytes: int
    requested_ns: int
    first_byte_ns: int | None = None
    done_ns: int | None = None
    buffer_ns: int = 0
    stall_ns: int = 0
    abandoned: int = 0
    wasted_bytes: int = 0


@dataclass(slots=True)
class _Running:
    """The request that is being answered."""

    request: SegmentRequest
    since_ns: int
    received: int = 0
    first_ns: int | None = None
    checked_ns: int | None = None
    checked_bytes: int = 0


@dataclass(slots=True)
class _Picture:
    """The picture on the screen: the buffer's level, and whether it plays."""

    startup_ns: int
    level_ns: int = 0
    at_ns: int = 0
    started_ns: int | None = None
    plays: bool = False
    stalled_ns: int = 0
    """Time without a picture (ns) for lack of the next segment, since the last one came."""

    def go_on(self, now: int) -> None:
        """Play until `now` (ns), and count stalls."""
        if self.plays:
            passed = now - self.at_ns
            self.stalled_ns += max(0, passed - self.level_ns)
            self.level_ns = max(0, self.level_ns - passed)
        self.at_ns = now

    def add(self, segment_ns: int, *, is_last: bool) -> None:
        """Add a segment that has arrived, which may start the picture."""
        self.level_ns += segment_ns
        if not self.plays and (self.level_ns >= self.startup_ns or is_last):
            self.plays, self.started_ns = True, self.at_ns


class _Average:
    """An average whose samples lose half their weight when `half_life` more weight has come."""

    def __init__(self, half_life: float) -> None:
        self._half_life = half_life
        self._sum = 0.0
        self._rest = 1.0
        """The weight of what was there before the first sample, which is nothing."""

    def add(self, value: float, weight: float) -> None:
        """Count a sample with its weight."""
        kept = 0.5 ** (weight / self._half_life)
        self._sum = kept * self._sum + (1 - kept) * value
        self._rest *= kept

    @property
    def value(self) -> float:
        """Return the average without the bias of its beginning; there must be a sample."""
        return self._sum / (1 - self._rest)


class Estimate:
    """Estimates of throughput and latency from the downloads until now."""

    def __init__(self, segment_s: float) -> None:
        self._throughput = [_Average(half_life) for half_life in HALF_LIVES_S]
        self._latency = [_Average(half_life / segment_s) for half_life in HALF_LIVES_S]
        self.is_known = False

    def add(self, kbit: float, transfer_s: float, latency_s: float) -> None:
        """Count a download of `kbit`: its time from the first byte on, and the time before (s)."""
        for average in self._throughput:
            average.add(kbit / transfer_s, transfer_s)
        for average in self._latency:
            average.add(latency_s, 1)
        self.is_known = True

    @property
    def throughput_kbps(self) -> float:
        """Return the least of the averages (kbit/s); there must be a download."""
        return min(average.value for average in self._throughput)

    @property
    def latency_s(self) -> float:
        """Return the greatest of the averages (s); there must be a download."""
        return max(average.value for average in self._latency)


class Player:
    """Plays one session, which begins with the first `next`."""

    def __init__(
        self,
        video: SegmentedVideo,
        abr: AbrAlgorithm,
        segments: int,
        *,
        buffer_ns: int = 25 * NS_PER_S,
        startup_ns: int = 0,
        abandon: bool = True,
        ask_again: bool = False,
    ) -> None:
        """Take the video, the ABR algorithm and the player's parameters, which fit the video.

        Args:
            video: what is watched.
            abr: chooses the qualities.
            segments: how many of the video's, from its beginning.
            buffer_ns: how much it holds at most.
            startup_ns: how much it must hold before it begins to play; one segment at least.
            abandon: whether it gives downloads up.
            ask_again: whether the algorithm is asked anew for the quality of a segment that was
                given up, as by Sabre; else it is the lower one for which it was given up, as by
                dash.js.
        """
        self.video = video
        self.segments: list[VideoSegment] = []
        """The segments that were asked for."""
        self._abr = abr
        self._count, self._buffer_ns = segments, buffer_ns
        self._abandons, self._asks_again = abandon, ask_again
        self._estimate = Estimate(video.segment_s)
        self._picture = _Picture(startup_ns)
        self._running: _Running | None = None
        self._intent: tuple[int, int] | None = None  # a quality, and from when on (ns)
        self._room_ns: int | None = None  # when the buffer has room again
        self._full_since = 0
        self._requests = self._done = 0  # requests made, segments that are there

    @property
    def started_ns(self) -> int | None:
        """Return when it began to play (ns), None if it has not."""
        return self._picture.started_ns

    def next(self, now: int) -> SegmentRequest | Cancel | Wait | None:
        """Return what is to be done at `now` (ns); call again after it was done, or at its moment.

        None: the session has ended, as all that was to be asked for is there.

        Raises:
            InputError: the algorithm asks for a quality that is not there.
        """
        self._picture.go_on(now)
        if self._done == self._count:
            return None
        if self._running is not None:
            return self._check(self._running, now)
        if self._intent is None and not self._has_room(now):
            return Wait(self._room_ns)
        quality, at = self._intent = self._intent or self._choose(now)
        if now < at:
            return Wait(at)
        self._intent = None
        return self._ask(quality, now)

    def _has_room(self, now: int) -> bool:
        """Return whether the buffer has room; the algorithm learns for how long it had none."""
        if self._room_ns is None:
            excess = self._picture.level_ns + self.video.segment_ns - self._buffer_ns
            if excess <= 0 or not self._picture.plays:
                return True
            self._room_ns, self._full_since = now + excess, now
        if now < self._room_ns:
            return False
        self._abr.waited((now - self._full_since) / NS_PER_S)
        self._room_ns = None
        return True

    def _choose(self, now: int) -> tuple[int, int]:
        if not self._estimate.is_known:
            return 0, now
        estimate = self._estimate
        view = AbrView(
            self._done,
            self._count - self._done,
            self._picture.level_ns / NS_PER_S,
            estimate.throughput_kbps,
            estimate.latency_s,
        )
        choice = self._abr.choose(view)
        self._check_quality(choice.quality)
        return choice.quality, now + max(0, round(choice.wait_s * NS_PER_S))

    def _check_quality(self, quality: object) -> None:
        most = self.video.qualities - 1
        is_whole = isinstance(quality, int) and not isinstance(quality, bool)
        if not is_whole or not 0 <= quality <= most:  # type: ignore[operator]
            raise InputError(
                f"abr {self._abr.name} asks for quality {quality!r:.40} of segment {self._done}; "
                f"allowed with video {self.video.name}: 0 to {most}"
            )

    def _ask(self, quality: int, now: int) -> SegmentRequest:
        size = self.video.sizes_bytes[self._done][quality]
        if len(self.segments) == self._done:
            self.segments.append(VideoSegment(self._done, quality, size, now))
        else:
            segment = self.segments[self._done]
            segment.quality, segment.size_bytes, segment.first_byte_ns = quality, size, None
        request = SegmentRequest(self._requests, self._done, quality, size)
        self._running = _Running(request, now)
        self._requests += 1
        return request

    # Reports on a request.

    def first_byte(self, number: int, now: int) -> None:
        """Note that the answer to a request begins at `now` (ns)."""
        running = self._running
        if running is not None and running.request.number == number and running.first_ns is None:
            running.first_ns = self.segments[self._done].first_byte_ns = now

    def arrived(self, number: int, size_bytes: int, now: int) -> None:
        """Count `size_bytes` more of an answer; those of a request that was given up are lost.

        With its last byte the segment can be played.
        """
        running = self._running
        if running is None or running.request.number != number:
            return
        self.first_byte(number, now)
        running.received += size_bytes
        if running.received >= running.request.size_bytes:
            self._picture.go_on(now)
            self._complete(running, now)

    def _complete(self, running: _Running, now: int) -> None:
        assert running.first_ns is not None
        download = self._progress(running, now)
        # A segment in one packet takes no time beyond its latency; 1 us keeps the rate finite.
        transfer_s = max(1e-6, (now - running.first_ns) / NS_PER_S)
        self._estimate.add(download.kbit, transfer_s, download.latency_s)
        self._abr.downloaded(download)
        self._done += 1
        self._running = None
        is_last = self._done == self._count
        self._picture.add(self.video.segment_ns, is_last=is_last)
        segment = self.segments[-1]
        segment.done_ns, segment.buffer_ns = now, self._picture.level_ns
        segment.stall_ns, self._picture.stalled_ns = self._picture.stalled_ns, 0

    # Abandonment.

    def _check(self, running: _Running, now: int) -> Cancel | Wait:
        """Look at a download's progress, if it is time and there is some."""
        if not self._abandons or running.request.number == 0:
            return Wait(None)
        if running.received - running.checked_bytes < CHECK_BYTES:
            return Wait(None)
        if running.checked_ns is not None and now < running.checked_ns + CHECK_NS:
            return Wait(running.checked_ns + CHECK_NS)
        running.checked_ns, running.checked_bytes = now, running.received
        lower = self._abr.abandon(self._progress(running, now))
        if lower is None:
            return Wait(now + CHECK_NS)
        return self._abandon(running, lower, now)

    def _progress(self, running: _Running, now: int) -> DownloadProgress:
        assert running.first_ns is not None
        return DownloadProgress(
            quality=running.request.quality,
            kbit=running.request.size_bytes * 8 / 1000,
            received_kbit=running.received * 8 / 1000,
            elapsed_s=(now - running.since_ns) / NS_PER_S,
            latency_s=(running.first_ns - running.since_ns) / NS_PER_S,
            buffer_s=self._picture.level_ns / NS_PER_S,
        )

    def _abandon(self, running: _Running, lower: int, now: int) -> Cancel:
        self._check_quality(lower)
        self._abr.downloaded(replace(self._progress(running, now), abandoned_to=lower))
        segment = self.segments[-1]
        segment.abandoned += 1
        segment.wasted_bytes += running.received
        self._running = None
        if not self._asks_again:
            self._intent = lower, now
        return Cancel(running.request.number)
