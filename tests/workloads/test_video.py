"""Videos: their fields, and the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.media.abr import AbrAlgorithm, AbrChoice, AbrView, abr_algorithm
from minitopo_dc.runners.base import TransferFailed, read_report
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Measurement, Video, parse_workload
from minitopo_dc.workloads.base import Row
from minitopo_dc.workloads.exchange import Client, WrongAnswer, blocks
from tests.workloads.wire import Wire


@abr_algorithm("beyond-of-test")
class Beyond(AbrAlgorithm):
    def choose(self, view: AbrView) -> AbrChoice:  # noqa: ARG002
        return AbrChoice(99)


class Watching:
    """A client that began to connect at 1 s, and is connected at 2 s."""

    def __init__(self, **fields: object) -> None:
        self.video = Video.check({"duration_s": 6, **fields}, "test")
        self.wire = Wire()
        self.client: Client = self.video.make_client(self.wire)
        self.client.connecting(NS_PER_S)
        self.client.connected(2 * NS_PER_S)

    def answer(self, stream: int, now_s: int) -> int:
        """Answer a request; how many bytes there were."""
        now, size = now_s * NS_PER_S, int(self.wire.sent[stream].path.removeprefix("/bytes/"))
        self.client.headers(stream, 200, now)
        for block in blocks(size):
            self.client.data(stream, block, now)
        self.client.end(stream, now)
        self.client.on_time(now)
        return size


def test_before_it_is_connected_nothing_is_to_be_done() -> None:
    wire = Wire()
    client = Video().make_client(wire)
    client.connecting(0)
    client.on_time(5)
    assert wire.sent == []


def test_a_session_of_two_segments_is_told_with_times_since_the_start_of_connecting() -> None:
    subject = Watching()
    received = subject.answer(0, 3) + subject.answer(1, 4)
    assert subject.client.ended
    measured = read_report(subject.client.report(), subject.video)
    assert measured.bytes_received == received
    assert (measured.completion_s, measured.details["startup_s"]) == (3.0, 2.0)
    assert measured.details["handshake_s"] == 1.0
    assert [row["done_s"] for row in measured.rows] == [2.0, 3.0]


def test_a_download_that_takes_too_long_is_cancelled_and_the_segment_asked_for_again() -> None:
    subject = Watching(duration_s=30)
    subject.answer(0, 3)
    body = b"".join(blocks(10**6))
    number = 1
    while not subject.wire.sent[number].cancelled:
        subject.answer(number, 3)
        number += 1
        for step in range(4):  # little of the next one comes
            now = (4 + 8 * step) * NS_PER_S
            subject.client.data(number, body[2000 * step : 2000 * (step + 1)], now)
            subject.client.on_time(now)
    assert len(subject.wire.sent) > number + 1
    subject.client.data(number, body[8000:9000], 40 * NS_PER_S)  # it was on its way
    subject.client.reset(number, 40 * NS_PER_S)
    assert not subject.client.ended


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda client: client.data(0, bytes(100), 0), "answered with other bytes than those sent"),
        (lambda client: client.end(0, 0), "answered with 0 bytes, not 110795"),
        (lambda client: client.reset(0, 0), "the server gave request 0 up"),
        (lambda client: client.headers(0, 404, 0), "request 0 got status 404, not 200"),
    ],
)
def test_a_wrong_answer_is_refused(act: Callable[[Client], None], words: str) -> None:
    with pytest.raises(WrongAnswer, match=words):
        act(Watching().client)


def test_an_algorithm_that_asks_for_what_is_not_there_is_one_clear_reason() -> None:
    subject = Watching(abr="beyond-of-test")
    subject.answer(0, 3)
    assert subject.client.ended
    words = "client: abr beyond-of-test asks for quality 99 of segment 1; allowed .*: 0 to 9"
    with pytest.raises(TransferFailed, match=words):
        read_report(subject.client.report(), subject.video)


def row(number: int, quality: int, requested_s: float, done_s: float | None, **more: Any) -> Row:
    return {
        "segment": number,
        "quality": quality,
        "requested_s": requested_s,
        "done_s": done_s,
        "stall_s": 0.0,
        "abandoned": 0,
        "wasted_bytes": 0,
        **more,
    }


ROWS = [
    row(1, 0, 0.0, 0.5),
    row(2, 3, 0.5, 1.5),
    row(3, 3, 1.5, 7.5, stall_s=1.0, abandoned=1, wasted_bytes=5000),
    row(4, 2, 7.5, 8.0),
]
SEEN = Measurement(1, 8.0, {"startup_s": 0.5}, rows=ROWS)
FOUR = Video(duration_s=12)


def test_the_numbers_are_those_of_the_rows() -> None:
    found = FOUR.details(SEEN)
    assert (found["segments"], found["stalls"], found["switches"]) == (4, 1, 2)
    assert (found["stall_s"], found["startup_s"]) == (1.0, 0.5)
    assert found["stall_ratio"] == pytest.approx(1 / 13)
    assert found["bitrate_mbps"] == pytest.approx((230 + 688 + 688 + 477) / 4000)
    assert found["change_mbps"] == pytest.approx((458 + 211) / 1000)
    assert (found["segment_p95_s"], found["segment_p99_s"]) == (6.0, 6.0)
    assert (found["abandoned"], found["wasted_bytes"]) == (1, 5000)
    assert set(FOUR.reported_measures) <= set(found)


def test_a_session_without_all_segments_has_failed() -> None:
    assert FOUR.failure(SEEN) is None
    cut = Measurement(1, 8.0, {}, rows=[*ROWS[:3], row(4, 2, 7.5, None)])
    assert FOUR.failure(cut) == "client has 3 of 4 segments"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"video": "no.json"}, "video no.json: there is no such file; allowed: movie, bbb, bbb4k"),
        ({"duration_s": 600}, "duration_s is 600; allowed with this video: 597"),
        ({"buffer_s": 5}, "buffer_s is 5; allowed: at least two segments, 6"),
        ({"startup_s": 23}, "startup_s is 23; allowed: at most 22, the buffer without a segment"),
    ],
)
def test_what_does_not_go_together_is_refused_before_a_run(
    fields: dict[str, Any], words: str
) -> None:
    assert words in str(Video(**fields).obstacle(2))
    whole = Video(duration_s=597)
    assert (whole.obstacle(1), whole.segments) == (None, 199)


def test_an_unknown_algorithm_is_told_with_those_that_are() -> None:
    words = r"video: abr: mpc; allowed: throughput, bba, bola, bola-e, dynamic"
    with pytest.raises(SettingsError, match=words):
        parse_workload({"kind": "video", "abr": "mpc"})
