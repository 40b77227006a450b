"""A video session as clients do it: what they are told to do, and what they tell."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from minitopo_dc.media.abr import AbrAlgorithm, AbrChoice, AbrView, abr_algorithm
from minitopo_dc.media.player import Request
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.payload.content import blocks
from minitopo_dc.runners.payload.requests import WrongAnswer
from minitopo_dc.runners.payload.watching import Watching, read_watching
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Video


@abr_algorithm("beyond-of-test")
class Beyond(AbrAlgorithm):
    def choose(self, view: AbrView) -> AbrChoice:  # noqa: ARG002
        return AbrChoice(99)


def watching(**fields: object) -> Watching:
    made = Watching(Video.check({"duration_s": 6, **fields}, "test"))
    made.connecting(NS_PER_S)
    made.connected(2 * NS_PER_S)
    return made


def answer(subject: Watching, now: int) -> Request:
    (request,) = subject.todo(now)
    assert isinstance(request, Request)
    subject.status(request.number, 200, now)
    for block in blocks(request.size_bytes):
        subject.arrived(request.number, block, now)
    subject.answered(request.number)
    return request


def test_before_it_is_connected_nothing_is_to_be_done() -> None:
    made = Watching(Video())
    made.connecting(0)
    assert list(made.todo(5)) == []


def test_a_session_of_two_segments_is_told_with_times_since_the_start_of_connecting() -> None:
    subject = watching()
    first = answer(subject, 3 * NS_PER_S)
    second = answer(subject, 4 * NS_PER_S)
    assert list(subject.todo(4 * NS_PER_S)) == []
    assert subject.ended
    found = read_watching(asdict(subject.outcome))
    assert found.bytes_received == first.size_bytes + second.size_bytes
    assert (found.completion_s, found.details["startup_s"]) == (3.0, 2.0)
    assert found.details["handshake_s"] == 1.0
    assert [row["done_s"] for row in found.rows] == [2.0, 3.0]


def test_other_bytes_than_those_sent_are_refused() -> None:
    subject = watching()
    (request,) = subject.todo(3 * NS_PER_S)
    with pytest.raises(WrongAnswer, match="request 0 was answered with other bytes"):
        subject.arrived(request.number, b"\0" * 100, 3 * NS_PER_S)


def test_too_few_bytes_are_refused() -> None:
    subject = watching()
    (request,) = subject.todo(3 * NS_PER_S)
    with pytest.raises(WrongAnswer, match="request 0 was answered with 0 bytes, not 110795"):
        subject.answered(request.number)


def test_a_status_that_is_not_200_is_refused() -> None:
    subject = watching()
    (request,) = subject.todo(3 * NS_PER_S)
    with pytest.raises(WrongAnswer, match="status 404"):
        subject.status(request.number, 404, 3 * NS_PER_S)


def test_an_algorithm_that_asks_for_what_is_not_there_is_one_clear_reason() -> None:
    subject = watching(abr="beyond-of-test")
    answer(subject, 3 * NS_PER_S)
    assert list(subject.todo(3 * NS_PER_S)) == []
    assert subject.ended
    words = "client: abr beyond-of-test asks for quality 99 of segment 1; allowed .*: 0 to 9"
    with pytest.raises(TransferFailed, match=words):
        read_watching(asdict(subject.outcome))
