from __future__ import annotations

import pytest

from minitopo_dc.media.abr import AbrAlgorithm, AbrChoice, AbrError, AbrView, Download, Progress
from minitopo_dc.media.player import Cancel, End, Player, PlayerSettings, Request, Wait
from minitopo_dc.media.video import Video
from minitopo_dc.units import NS_PER_MS, NS_PER_S

VIDEO = Video("test", 2 * NS_PER_S, (400.0, 800.0), ((100_000, 200_000),) * 10)


class Told(AbrAlgorithm):
    """Chooses what it was told."""

    name = "told"

    def __init__(self, quality: int = 0, wait_s: float = 0.0, lower: int | None = None) -> None:
        super().__init__(VIDEO, 8.0)
        self.choice, self.lower = AbrChoice(quality, wait_s), lower
        self.views: list[AbrView] = []
        self.heard: list[Download | float] = []

    def choose(self, view: AbrView) -> AbrChoice:
        self.views.append(view)
        return self.choice

    def abandon(self, progress: Progress) -> int | None:  # noqa: ARG002
        return self.lower

    def downloaded(self, download: Download) -> None:
        self.heard.append(download)

    def waited(self, seconds: float) -> None:
        self.heard.append(seconds)


def player(abr: Told | None = None, **settings: int | bool) -> Player:
    wanted = {"segments": 10, "buffer_ns": 8 * NS_PER_S, **settings}
    return Player(VIDEO, abr or Told(), PlayerSettings(**wanted))  # type: ignore[arg-type]


def request(subject: Player, now: int) -> Request:
    action = subject.next(now)
    assert isinstance(action, Request)
    return action


def fetch(subject: Player, asked: float, done: float) -> Request:
    """A segment asked for and there at moments in s, its first byte half-way."""
    found = request(subject, round(asked * NS_PER_S))
    subject.first_byte(found.number, round((asked + done) / 2 * NS_PER_S))
    subject.arrived(found.number, found.size_bytes, round(done * NS_PER_S))
    return found


def test_the_first_segment_is_asked_for_in_the_lowest_quality_and_nothing_beside_it() -> None:
    subject = player(Told(1))
    assert request(subject, 0) == Request(0, 0, 0, 100_000)
    assert subject.next(NS_PER_S) == Wait(None)


def test_the_algorithm_sees_the_buffer_and_what_was_measured() -> None:
    abr = Told(1)
    subject = player(abr)
    fetch(subject, 0, 1)
    assert fetch(subject, 1.5, 2).quality == 1
    (view,) = abr.views
    assert (view.segment, view.left, view.buffer_s) == (1, 9, 1.5)
    assert view.throughput_kbps == pytest.approx(1600)
    assert view.latency_s == pytest.approx(0.5)


def test_it_waits_until_the_buffer_has_room_for_a_segment_and_tells_the_algorithm() -> None:
    abr = Told()
    subject = player(abr)
    for _ in range(4):
        fetch(subject, 1, 1)
    assert subject.next(2 * NS_PER_S) == Wait(3 * NS_PER_S)  # 8 s when it began to play at 1 s
    assert isinstance(subject.next(3 * NS_PER_S), Request)
    assert abr.heard[-1] == pytest.approx(1.0, abs=1e-5)


def test_a_wait_of_the_algorithm_comes_before_the_request_and_is_asked_for_once() -> None:
    abr = Told(1, wait_s=0.5)
    subject = player(abr)
    fetch(subject, 0, 1)
    assert subject.next(NS_PER_S) == Wait(1_500_000_000)
    assert subject.next(1_200_000_000) == Wait(1_500_000_000)
    assert request(subject, 1_500_000_000).quality == 1
    assert len(abr.views) == 1


def test_playing_begins_when_the_startup_is_in_the_buffer() -> None:
    subject = player(startup_ns=4 * NS_PER_S)
    fetch(subject, 0, 1)
    assert subject.started_ns is None
    fetch(subject, 1, 2)
    assert subject.started_ns == 2 * NS_PER_S


def test_a_short_video_begins_with_its_last_segment_however_much_was_to_be_there() -> None:
    subject = player(segments=1, startup_ns=8 * NS_PER_S)
    fetch(subject, 0, 1)
    assert subject.started_ns == NS_PER_S
    assert subject.next(NS_PER_S) == End()


def test_a_stall_lasts_from_the_empty_buffer_to_the_next_segment() -> None:
    subject = player()
    fetch(subject, 0, 1)  # plays from 1 to 3; before that no time is a stall
    fetch(subject, 1, 4.5)
    fetch(subject, 4.5, 5)
    assert [each.stall_ns for each in subject.segments] == [0, 1_500_000_000, 0]
    assert subject.segments[1].buffer_ns == 2 * NS_PER_S
    assert subject.segments[2].buffer_ns == 3_500_000_000


def test_a_download_given_up_is_asked_for_in_the_lower_quality_at_once() -> None:
    subject = player(Told(1, lower=0))
    fetch(subject, 0, 1)
    first = request(subject, NS_PER_S)
    subject.arrived(first.number, 5000, NS_PER_S + 1000)
    assert subject.next(NS_PER_S + 1000) == Cancel(first.number)
    again = request(subject, NS_PER_S + 1000)
    assert (again.segment, again.quality, again.number) == (1, 0, 2)
    segment = subject.segments[1]
    assert (segment.abandoned, segment.wasted_bytes, segment.requested_ns) == (1, 5000, NS_PER_S)
    subject.arrived(first.number, 195_000, NS_PER_S + 2000)  # what still comes does not count
    assert segment.done_ns is None


def test_progress_is_looked_at_every_50_ms() -> None:
    abr = Told(1)
    subject = player(abr)
    fetch(subject, 0, 1)
    asked = request(subject, NS_PER_S)
    subject.arrived(asked.number, 5000, NS_PER_S)
    assert subject.next(NS_PER_S) == Wait(NS_PER_S + 50 * NS_PER_MS)
    abr.lower = 0
    subject.arrived(asked.number, 5000, NS_PER_S + 49 * NS_PER_MS)
    assert isinstance(subject.next(NS_PER_S + 49 * NS_PER_MS), Wait)
    assert isinstance(subject.next(NS_PER_S + 50 * NS_PER_MS), Cancel)
    going_on = player(Told(1, lower=0), abandon=False)
    fetch(going_on, 0, 1)
    going_on.arrived(request(going_on, NS_PER_S).number, 5000, NS_PER_S)
    assert going_on.next(NS_PER_S) == Wait(None)


@pytest.mark.parametrize("quality", [2, -1, 0.5, True, None])
def test_an_algorithm_that_asks_for_a_quality_that_is_not_there_is_named(quality: object) -> None:
    subject = player(Told(quality))  # type: ignore[arg-type]
    fetch(subject, 0, 1)
    words = rf"abr told asks for quality {quality} of segment 1; allowed with video test: 0 to 1"
    with pytest.raises(AbrError, match=words):
        subject.next(NS_PER_S)


def test_too_small_a_buffer_and_too_many_segments_are_refused() -> None:
    with pytest.raises(ValueError, match="at least two segments, 4 s"):
        player(buffer_ns=3 * NS_PER_S)
    with pytest.raises(ValueError, match="segments: 11 of 10"):
        player(segments=11)
