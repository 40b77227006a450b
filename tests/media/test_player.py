"""The player of videos, its algorithms, and the frames of a call."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.errors import InputError
from minitopo_dc.media.abr import (
    AbrAlgorithm,
    AbrChoice,
    AbrView,
    DownloadProgress,
    abr_algorithm,
    abr_names,
    make_abr,
)
from minitopo_dc.media.player import (
    Cancel,
    Estimate,
    Player,
    SegmentRequest,
    Wait,
)
from minitopo_dc.media.video import (
    SegmentedVideo,
    even_frames,
    freezes_s,
    session_measures,
)
from minitopo_dc.registry import UnknownNameError
from minitopo_dc.units import NS_PER_MS, NS_PER_S
from minitopo_dc.workloads.video import EMBEDDED, parse_video, read_video

VIDEO = SegmentedVideo("test", 2 * NS_PER_S, (400.0, 800.0), ((100_000, 200_000),) * 10)


class Told(AbrAlgorithm):
    """Chooses what it was told."""

    name = "told"

    def __init__(self, quality: int = 0, wait_s: float = 0.0, lower: int | None = None) -> None:
        super().__init__(VIDEO, 8.0)
        self.choice, self.lower = AbrChoice(quality, wait_s), lower
        self.views: list[AbrView] = []
        self.heard: list[DownloadProgress | float] = []

    def choose(self, view: AbrView) -> AbrChoice:
        self.views.append(view)
        return self.choice

    def abandon(self, progress: DownloadProgress) -> int | None:  # noqa: ARG002
        return self.lower

    def downloaded(self, download: DownloadProgress) -> None:
        self.heard.append(download)

    def waited(self, seconds: float) -> None:
        self.heard.append(seconds)


def player(abr: Told | None = None, **settings: int | bool) -> Player:
    wanted = {"segments": 10, "buffer_ns": 8 * NS_PER_S, **settings}
    return Player(VIDEO, abr or Told(), **wanted)  # type: ignore[arg-type]


def request(subject: Player, now: int) -> SegmentRequest:
    action = subject.next(now)
    assert isinstance(action, SegmentRequest)
    return action


def fetch(subject: Player, asked: float, done: float) -> SegmentRequest:
    """A segment asked for and there at moments in s, its first byte half-way."""
    found = request(subject, round(asked * NS_PER_S))
    subject.first_byte(found.number, round((asked + done) / 2 * NS_PER_S))
    subject.arrived(found.number, found.size_bytes, round(done * NS_PER_S))
    return found


def test_the_algorithm_sees_the_buffer_what_was_measured_and_how_long_it_was_full() -> None:
    abr = Told(1)
    subject = player(abr)
    fetch(subject, 0, 1)
    assert fetch(subject, 1.5, 2).quality == 1
    (view,) = abr.views
    assert (view.segment, view.left, view.buffer_s) == (1, 9, 1.5)
    assert view.throughput_kbps == pytest.approx(1600)
    assert view.latency_s == pytest.approx(0.5)
    for _ in range(2):
        fetch(subject, 2, 2)
    assert subject.next(2 * NS_PER_S) == Wait(3 * NS_PER_S)  # 7 of 8 s
    request(subject, 3 * NS_PER_S)
    assert abr.heard[-1] == pytest.approx(1.0, abs=1e-5)


def test_a_wait_of_the_algorithm_comes_before_the_request_and_is_asked_for_once() -> None:
    abr = Told(1, wait_s=0.5)
    subject = player(abr)
    fetch(subject, 0, 1)
    assert subject.next(NS_PER_S) == Wait(1_500_000_000)
    assert subject.next(1_200_000_000) == Wait(1_500_000_000)
    assert request(subject, 1_500_000_000).quality == 1
    assert len(abr.views) == 1


def test_playing_begins_when_the_startup_is_in_the_buffer_or_the_last_segment() -> None:
    subject = player(startup_ns=4 * NS_PER_S)
    fetch(subject, 0, 1)
    assert subject.started_ns is None
    fetch(subject, 1, 2)
    assert subject.started_ns == 2 * NS_PER_S
    short = player(segments=1, startup_ns=8 * NS_PER_S)
    fetch(short, 0, 1)
    assert short.started_ns == NS_PER_S
    assert short.next(NS_PER_S) is None


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
    subject = player(Told(1))
    fetch(subject, 0, 1)
    asked = request(subject, NS_PER_S)
    for later_ms in (0, 49):
        now = NS_PER_S + later_ms * NS_PER_MS
        subject.arrived(asked.number, 5000, now)
        assert subject.next(now) == Wait(NS_PER_S + 50 * NS_PER_MS)


def test_no_download_is_given_up_where_that_is_off() -> None:
    subject = player(Told(1, lower=0), abandon=False)
    fetch(subject, 0, 1)
    subject.arrived(request(subject, NS_PER_S).number, 5000, NS_PER_S)
    assert subject.next(NS_PER_S) == Wait(None)


@pytest.mark.parametrize("quality", [2, -1, 0.5, True, None])
def test_an_algorithm_that_asks_for_a_quality_that_is_not_there_is_named(quality: object) -> None:
    subject = player(Told(quality))  # type: ignore[arg-type]
    fetch(subject, 0, 1)
    words = rf"abr told asks for quality {quality} of segment 1; allowed with video test: 0 to 1"
    with pytest.raises(InputError, match=words):
        subject.next(NS_PER_S)


LADDER = SegmentedVideo("test", 2_000_000_000, (500.0, 1000.0, 2000.0), ((1, 2, 4),) * 100)


def view(buffer_s: float, kbps: float = 1e6) -> AbrView:
    return AbrView(50, 50, buffer_s, kbps, 0.0)


@pytest.mark.parametrize("name", abr_names()[:5])
@pytest.mark.parametrize("video", EMBEDDED)
def test_more_throughput_and_buffer_is_never_a_lower_first_choice(name: str, video: str) -> None:
    read = read_video(video)
    chosen = [
        make_abr(name, read, 25.0).choose(view(buffer_s, kbps)).quality
        for kbps, buffer_s in ((200, 3), (1000, 8), (3000, 15), (40_000, 22))
    ]
    assert chosen == sorted(chosen)
    assert chosen[-1] > chosen[0]
    one = make_abr(name, SegmentedVideo("one", 2_000_000_000, (500.0,), ((1,),) * 100), 20.0)
    assert [one.choose(view(level, 600.0)).quality for level in (2.0, 10.0)] == [0, 0]


def test_bba_stays_at_a_quality_until_the_line_has_reached_the_next_one() -> None:
    abr = make_abr("bba", LADDER, 22.0)  # the line: 500 at 7.5 s, 2,000 at 18 s
    levels = {7.4: 0, 10.9: 0, 11.1: 1, 8.0: 1, 7.5: 0, 18.0: 2}
    assert [abr.choose(view(level)).quality for level in levels] == list(levels.values())


def test_bola_does_not_go_more_than_one_above_what_the_throughput_carries() -> None:
    video = read_video("movie")
    assert make_abr("bola", video, 25.0).choose(view(22.0, 700.0)).quality == 4
    assert video.bitrates_kbps[3:5] == (688, 991)


def test_the_estimate_is_the_lower_of_a_quick_and_a_slow_average() -> None:
    estimate = Estimate(2.0)
    estimate.add(8000, 1.0, 0.01)
    assert estimate.throughput_kbps == pytest.approx(8000)
    estimate.add(1000, 1.0, 0.05)
    quick = (0.5 ** (1 / 3) * 8000 + 1000) / (0.5 ** (1 / 3) + 1)
    assert estimate.throughput_kbps == pytest.approx(quick)
    quick_latency = (0.5 ** (2 / 3) * 0.01 + 0.05) / (0.5 ** (2 / 3) + 1)
    assert estimate.latency_s == pytest.approx(quick_latency)


def test_a_users_algorithm_is_known_by_its_name() -> None:
    abr_algorithm("told-of-test")(type("Mine", (Told,), {}))
    assert "told-of-test" in abr_names()
    with pytest.raises(UnknownNameError, match=r"no ABR algorithm 'mpc'.*bola-e"):
        make_abr("mpc", LADDER, 20.0)


PICOQUIC = even_frames(150, 33_333_333, bytes_per_s=78_000, gop=30, key_ratio=10)
"""Of picoquic's media test: 2,000 bytes, every 30th frame 20,000."""
EVEN = [(number, number / 30) for number in range(60)]


def test_a_group_has_the_mean_rate_and_begins_with_a_key_frame() -> None:
    assert PICOQUIC.sizes_bytes[:3] == (20_000, 2_000, 2_000)
    assert PICOQUIC.sizes_bytes[30] == 20_000
    assert sum(PICOQUIC.keys) == 5


SLOW = [(number, number / 2) for number in range(10)]
GAP = 1 / 30 + 0.150
BURST = [(63, 2.5), (60, 2.51), (61, 2.52), (64, 2.53)]


@pytest.mark.parametrize(
    ("arrivals", "frozen"),
    [
        (EVEN, []),
        # A gap of the mean and 150 ms; three times 33 ms is less than that.
        ([*EVEN, (60, 59 / 30 + GAP + 1e-9), (61, 59 / 30 + GAP + 1 / 30)], [GAP]),
        ([*EVEN, (60, 59 / 30 + GAP - 0.001)], []),
        # With few frames a second three times the mean is more.
        ([*SLOW, (10, 4.5 + 1.4)], []),
        ([*SLOW, (10, 4.5 + 1.5)], [1.5]),
        # What another has overtaken is not shown: a burst behind a gap ends the freeze once.
        ([*EVEN, *BURST], [2.5 - 59 / 30]),
        # Lost frames are a gap.
        ([(number, time) for number, time in EVEN if not 40 <= number < 46], [7 / 30]),
    ],
)
def test_a_freeze_is_a_gap_of_three_means_or_of_150_ms_more_than_the_mean(
    arrivals: list[tuple[int, float]], frozen: list[float]
) -> None:
    assert freezes_s(arrivals) == pytest.approx(frozen)


def test_a_session_s_quality_is_by_the_formulas() -> None:
    played = 1000.0, 3000.0, 3000.0, 1000.0
    seen = session_measures(2.0, played, 1000.0, startup_s=0.5, stall_s=1.5)
    assert (seen["switches"], seen["change_mbps"]) == (2, 4.0)
    assert seen["stall_ratio"] == pytest.approx(1.5 / 9.5)  # of the time behind the first picture
    assert seen["linear_qoe_mbps"] == pytest.approx((8 - 4 - 3 * 2.0) / 4)
    assert seen["sabre_score"] == pytest.approx((2 * math.log(3) * 2.0 - 5 * 1.5) / 10.0)


GOOD = {
    "segment_duration_ms": 2000,
    "bitrates_kbps": [400, 800],
    "segment_sizes_bits": [[800_000, 1_600_000], [720_000, 1_700_000]],
}


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_embedded_videos_have_199_segments_of_3_s(name: str) -> None:
    video = read_video(name)
    assert (len(video.sizes_bytes), video.segment_s) == (199, 3.0)


def test_a_file_of_the_users_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    video = read_video(str(path))
    assert video.bitrates_kbps == (400, 800)
    assert video.sizes_bytes == ((100_000, 200_000), (90_000, 212_500))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"segment_sizes_bits": [[1, 2], [3]]}, "segment_sizes_bits.1 has 1 sizes; allowed: 2"),
        ({"segment_sizes_bits": [[1, None]]}, r"segment_sizes_bits\.0\.1: .*a valid number"),
        ({"segment_sizes_bits": [[1, 0]]}, r"segment_sizes_bits\.0\.1: .*greater than 0"),
        ({"segment_sizes_bits": []}, "segment_sizes_bits: .*at least 1 item"),
        ({"bitrates_kbps": [800, 400]}, "ascends"),
        ({"segment_duration_ms": True}, "segment_duration_ms: .*a valid number"),
        ({"more": 1}, "more: Extra inputs are not permitted"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_place(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_video("mine.json", GOOD | change)


def test_a_file_that_is_not_there_or_no_json_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.json: .*allowed: movie"):
        read_video("no.json")
    path = tmp_path / "mine.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.json: "):
        read_video(str(path))
