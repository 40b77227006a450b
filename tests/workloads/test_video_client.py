"""A video's client: what it asks for, and what it tells."""

from __future__ import annotations

import pytest

from minitopo_dc.media.abr import AbrAlgorithm, AbrChoice, AbrView, abr_algorithm
from minitopo_dc.runners.base import TransferFailed, read_report
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Video
from minitopo_dc.workloads.content import blocks, requested_size
from minitopo_dc.workloads.exchange import Client, WrongAnswer
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
        now, size = now_s * NS_PER_S, requested_size(self.wire.sent[stream].path) or 0
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
    ("body", "words"),
    [
        (b"\0" * 100, "request 0 was answered with other bytes than those sent"),
        (b"", "request 0 was answered with 0 bytes, not 110795"),
    ],
)
def test_a_wrong_answer_is_refused(body: bytes, words: str) -> None:
    subject = Watching()
    with pytest.raises(WrongAnswer, match=words):
        subject.client.data(0, body, 3 * NS_PER_S)
        subject.client.end(0, 3 * NS_PER_S)


def test_what_the_server_gives_up_is_refused() -> None:
    with pytest.raises(WrongAnswer, match="the server gave request 0 up"):
        Watching().client.reset(0, 3 * NS_PER_S)


def test_a_status_that_is_not_200_is_refused() -> None:
    with pytest.raises(WrongAnswer, match="request 0 got status 404, not 200"):
        Watching().client.headers(0, 404, 3 * NS_PER_S)


def test_an_algorithm_that_asks_for_what_is_not_there_is_one_clear_reason() -> None:
    subject = Watching(abr="beyond-of-test")
    subject.answer(0, 3)
    assert subject.client.ended
    words = "client: abr beyond-of-test asks for quality 99 of segment 1; allowed .*: 0 to 9"
    with pytest.raises(TransferFailed, match=words):
        read_report(subject.client.report(), subject.video)
