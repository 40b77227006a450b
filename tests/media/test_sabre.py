"""The player takes Sabre's decisions over Sabre's networks.

The recorded ones (`data/*.txt`) are what Sabre printed with a buffer of 25 s (repository
UMass-LIDS/sabre, BSD 2-Clause, `minitopo_dc/data/videos/LICENSE.sabre`). Where Sabre was asked for
"bola", it was BOLA-BASIC; its DYNAMIC has BOLA-FINITE inside.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from minitopo_dc.media.abr import AbrAlgorithm, make_abr
from minitopo_dc.media.abr.rules import Throughput
from minitopo_dc.media.player import Player
from minitopo_dc.media.video import SegmentedVideo, session_measures
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads.video import read_video
from tests.media.fluid import Decision, FluidNetwork, play, read_network

DATA = Path(__file__).parent / "data"
LINE = re.compile(r"\[(\d+)-(\d+)\] +(\d+): q=(\d+) s=(\d+)/(\d+)")
SEGMENTS = 199
WITHOUT_RULE = "throughput without the insufficient-buffer rule"


@dataclass(frozen=True)
class Recorded:
    """A session that Sabre played."""

    name: str
    video: str
    network: str
    multiplier: float
    abr: str
    kbps: float
    stall_s: float

    def text(self) -> str:
        return (DATA / f"{self.name}.txt").read_text(encoding="utf-8")

    def decisions(self) -> list[tuple[int, ...]]:
        lines = self.text().splitlines()
        return [tuple(map(int, found.groups())) for line in lines if (found := LINE.match(line))]


RECORDED = [
    Recorded("movie_throughput", "movie", "network", 1.0, "throughput", 1963.8, 0.0),
    Recorded("movie_bola", "movie", "network", 1.0, "bola", 2861.4, 0.0),
    Recorded("movie_bolae", "movie", "network", 1.0, "bola-e", 2911.9, 0.0),
    Recorded("movie_dynamic", "movie", "network", 1.0, "dynamic", 2905.4, 0.0),
    Recorded("movie_quarter_bola", "movie", "network", 0.25, "bola", 729.7, 0.0),
    Recorded("movie_quarter_throughput_noibr", "movie", "network", 0.25, WITHOUT_RULE, 481.4, 62.3),
    Recorded("bbb_8mbps_bola", "bbb", "network_8mbps", 1.0, "bola", 5809.1, 0.0),
    Recorded("bbb_8mbps_bolae", "bbb", "network_8mbps", 1.0, "bola-e", 5969.9, 0.0),
]


def algorithm(name: str, video: SegmentedVideo) -> AbrAlgorithm:
    if name == WITHOUT_RULE:
        return Throughput(video, 25.0, insufficient_buffer_rule=False)
    return make_abr(name, video, 25.0)


@cache
def session(recorded: Recorded, *, ask_again: bool = True) -> tuple[Player, list[Decision]]:
    video = read_video(recorded.video)
    player = Player(video, algorithm(recorded.abr, video), SEGMENTS, ask_again=ask_again)
    periods = read_network(DATA / f"{recorded.network}.json", recorded.multiplier)
    return player, play(player, FluidNetwork(periods))


def numbers(player: Player) -> dict[str, float]:
    assert player.started_ns is not None
    return session_measures(
        player.video.segment_s,
        [player.video.bitrates_kbps[each.quality] for each in player.segments],
        player.video.bitrates_kbps[0],
        startup_s=player.started_ns / NS_PER_S,
        stall_s=sum(each.stall_ns for each in player.segments) / NS_PER_S,
    )


def of(name: str) -> Recorded:
    return next(each for each in RECORDED if each.name == name)


each_recorded = pytest.mark.parametrize("recorded", RECORDED, ids=lambda each: each.name)


@each_recorded
def test_each_request_is_sabres_at_the_same_time_to_the_millisecond_it_prints(
    recorded: Recorded,
) -> None:
    _, made = session(recorded)
    wanted = recorded.decisions()
    assert [(each[2], each[3], each[5]) for each in wanted] == [
        (each.segment, each.quality, each.size_bits) for each in made
    ]
    for each, (start, end, _, _, received, _) in zip(made, wanted, strict=True):
        assert abs(each.start_ms - start) <= 1.0
        assert abs(each.end_ms - end) <= 1.0
        assert abs(each.received_bits - received) <= 8.0  # in whole bytes here


@each_recorded
def test_bitrate_stalls_changes_and_score_are_those_that_sabre_sums_up(recorded: Recorded) -> None:
    player, text = session(recorded)[0], recorded.text()
    seen, content_s = numbers(player), SEGMENTS * player.video.segment_s
    # Its "time average played bitrate": startup and stalls count as 0.
    kbit = 1000 * seen["bitrate_mbps"] * content_s
    seconds = seen["startup_s"] + content_s + seen["stall_s"]
    assert kbit / seconds == pytest.approx(recorded.kbps, abs=0.05)
    assert seen["stall_s"] == pytest.approx(recorded.stall_s, abs=0.005)
    change_kbps = 1000 * seen["change_mbps"]
    for words, value in (("time average score", seen["sabre_score"]), ("change", change_kbps)):
        printed = re.search(rf"{words}: ([\d.]+)", text)
        assert printed is not None
        assert value == pytest.approx(float(printed[1]), abs=1e-5)


@pytest.mark.parametrize(("abr", "seconds"), [("bola", 24.1), ("bolae", 3.1)])
def test_the_ramp_up_is_sabres(abr: str, seconds: float) -> None:
    """Until the first segment with the highest quality plays, from the first request on."""
    player, _ = session(of(f"bbb_8mbps_{abr}"))
    highest = player.video.qualities - 1
    first = next(each.number for each in player.segments if each.quality == highest)
    started = player.started_ns
    assert started is not None
    assert started / NS_PER_S + first * player.video.segment_s == pytest.approx(seconds, abs=0.05)


def test_to_keep_to_the_lower_quality_of_an_abandonment_spares_the_stall_of_asking_again() -> None:
    """Sabre asks its algorithm anew, which knows nothing of the download that was given up.

    So it asks for the same quality and gives it up again, until the network changes: 155 times
    here, 62.3 s without a picture. The workload's player keeps to the lower quality.
    """
    recorded = of("movie_quarter_throughput_noibr")
    asking, many = session(recorded)
    keeping, fewer = session(recorded, ask_again=False)
    assert len(many) - SEGMENTS == 155
    assert len(fewer) - SEGMENTS < 40
    assert numbers(asking)["stall_s"] > 60
    assert numbers(keeping)["stall_s"] == 0
