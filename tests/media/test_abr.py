from __future__ import annotations

import pytest

from minitopo_dc.media.abr import (
    AbrAlgorithm,
    AbrChoice,
    AbrView,
    abr_algorithm,
    abr_names,
    make_abr,
)
from minitopo_dc.media.player import Estimate
from minitopo_dc.media.video import Video
from minitopo_dc.registry import UnknownNameError
from minitopo_dc.workloads.video import EMBEDDED, read_video

VIDEO = Video("test", 2_000_000_000, (500.0, 1000.0, 2000.0), ((1, 2, 4),) * 100)


def view(buffer_s: float, kbps: float = 1e6) -> AbrView:
    return AbrView(50, 50, buffer_s, kbps, 0.0)


def test_the_algorithms_are_those_of_the_documentation() -> None:
    assert abr_names()[:5] == ("throughput", "bba", "bola", "bola-e", "dynamic")


@pytest.mark.parametrize("name", ["throughput", "bba", "bola", "bola-e", "dynamic"])
@pytest.mark.parametrize("video", EMBEDDED)
def test_more_throughput_and_buffer_is_never_a_lower_first_choice(name: str, video: str) -> None:
    read = read_video(video)
    chosen = [
        make_abr(name, read, 25.0).choose(view(buffer_s, kbps)).quality
        for kbps, buffer_s in ((200, 3), (1000, 8), (3000, 15), (40_000, 22))
    ]
    assert chosen == sorted(chosen)
    assert chosen[-1] > chosen[0]


def test_bba_asks_for_the_least_below_the_reservoir_and_for_the_most_above_the_upper_one() -> None:
    abr = make_abr("bba", VIDEO, 22.0)  # 20 s at most when a segment is asked for
    assert abr.choose(view(18.0)) == AbrChoice(2)
    assert abr.choose(view(7.4)) == AbrChoice(0)


def test_bba_stays_at_a_quality_until_the_line_has_reached_the_next_one() -> None:
    abr = make_abr("bba", VIDEO, 22.0)  # the line: 500 at 7.5 s, 2,000 at 18 s
    assert [abr.choose(view(level)).quality for level in (10.9, 11.1, 8.0, 7.5)] == [0, 1, 1, 0]


def test_bola_does_not_go_more_than_one_above_what_the_throughput_carries() -> None:
    video = read_video("movie")
    assert make_abr("bola", video, 25.0).choose(view(22.0, 700.0)).quality == 4
    assert video.bitrates_kbps[3:5] == (688, 991)


def test_a_video_of_one_quality_can_be_played_by_each_algorithm() -> None:
    one = Video("one", 2_000_000_000, (500.0,), ((1,),) * 100)
    for name in abr_names()[:5]:
        abr = make_abr(name, one, 20.0)
        assert [abr.choose(view(level, 600.0)).quality for level in (2.0, 10.0)] == [0, 0]


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
    @abr_algorithm("highest-of-test")
    class Highest(AbrAlgorithm):
        def choose(self, view: AbrView) -> AbrChoice:  # noqa: ARG002
            return AbrChoice(self.video.qualities - 1)

    assert "highest-of-test" in abr_names()
    assert make_abr("highest-of-test", VIDEO, 20.0).choose(view(3.0)) == AbrChoice(2)


def test_an_unknown_algorithm_is_told_with_those_that_are() -> None:
    with pytest.raises(UnknownNameError, match=r"no ABR algorithm 'mpc'.*bola-e"):
        make_abr("mpc", VIDEO, 20.0)
