"""Requests at a steady pace without a network: schedule, record, the server's part."""

from __future__ import annotations

import math
from http import HTTPStatus
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import RequestResponse
from minitopo_dc.workloads.exchange import (
    BLOCK_BYTES,
    Content,
    ContentServer,
    Received,
    Request,
    WrongAnswer,
    blocks,
)
from minitopo_dc.workloads.request_response import RequestClient
from tests.workloads.wire import Answered, Wire, serve

PLAN = RequestResponse(
    request_bytes=750, response_bytes=100, interval_s=0.4, count=5, patience_s=2.0
)


def content(size: int) -> bytes:
    return b"".join(blocks(size))


class Asking:
    """A client that is connected at 10 s, and began to connect 1 s before, when nothing is due."""

    def __init__(self, plan: RequestResponse = PLAN) -> None:
        self.wire = Wire()
        self.client = RequestClient(plan, self.wire)
        self.client.connecting(9 * NS_PER_S)
        self.client.on_time(10 * NS_PER_S)
        assert (self.sent, self.client.next_timeout(), self.client.ended) == (0, math.inf, False)
        self.client.connected(10 * NS_PER_S)

    @property
    def sent(self) -> int:
        return len(self.wire.sent)

    @property
    def record(self) -> list[tuple[float, float | None]]:
        return self.client.requests

    def at(self, now_s: float) -> None:
        self.client.on_time(math.ceil(now_s * NS_PER_S))

    def answer(self, number: int, now_s: float) -> None:
        now = math.ceil(now_s * NS_PER_S)
        self.client.headers(number, 200, now)
        self.client.data(number, content(PLAN.response_bytes), now)
        self.client.end(number, now)
        self.client.on_time(now)


@given(
    st.integers(1, 20),
    st.floats(0.001, 10),
    st.lists(st.tuples(st.floats(0, 20), st.integers(0, 3)), max_size=100),
    st.randoms(use_true_random=False),
)
def test_each_request_is_sent_once_and_none_early(
    count: int, interval_s: float, steps: list[tuple[float, int]], random: Any
) -> None:
    asking = Asking(PLAN.model_copy(update={"count": count, "interval_s": interval_s}))
    now, waiting = 10.0, set[int]()
    for wait_s, answers in steps:
        before = asking.sent
        asking.at(now)
        waiting |= set(range(before, asking.sent))
        assert asking.sent <= count
        assert now >= 10.0 + (asking.sent - 1) * interval_s - 1e-9
        if asking.client.ended:
            break
        for number in random.sample(sorted(waiting), min(answers, len(waiting))):
            asking.answer(number, now)
            waiting.remove(number)
        if asking.sent < count and not asking.client.ended:
            assert asking.client.next_timeout() > now * NS_PER_S, "what is due was sent"
        now += wait_s
    record = asking.record
    assert len(record) == asking.sent
    assert [sent for sent, _ in record] == sorted(sent for sent, _ in record)
    assert {n for n, (_, answered_s) in enumerate(record) if answered_s is None} >= waiting - {0}
    assert all(end >= begin for begin, end in record if end is not None)


def test_the_first_request_is_due_with_the_connection_and_the_others_by_the_interval() -> None:
    asking = Asking()
    assert (asking.client.outcome.handshake_s, asking.sent) == (1.0, 1)
    assert asking.client.next_timeout() == 10.4 * NS_PER_S
    asking.client.on_time(10_399_999_999)
    assert asking.sent == 1
    asking.client.on_time(10_400_000_000)
    assert asking.sent == 2
    (first, _) = asking.wire.sent
    asking.at(11.0)  # late, but with none of the others
    assert asking.sent == 3
    assert asking.client.next_timeout() == pytest.approx(11.2 * NS_PER_S)
    assert (first.method, first.path, first.body) == ("POST", "/respond/100", content(750))


def test_all_answered_is_the_end() -> None:
    asking = Asking()
    asking.at(20.0)
    for number in range(1, 5):
        asking.answer(number, 20.5)
    assert not asking.client.ended
    asking.answer(0, 21.0)
    assert asking.client.ended
    assert asking.record == [(1.0, 12.0), *4 * [(11.0, 11.5)]]


def test_patience_counts_from_the_last_request_and_leaves_the_rest_unanswered() -> None:
    asking = Asking()
    asking.at(20.0)
    assert asking.client.next_timeout() == 22.0 * NS_PER_S
    asking.client.on_time(21_999_999_999)
    assert not asking.client.ended
    asking.at(22.0)
    assert asking.client.ended
    assert asking.record == [(1.0, None), *4 * [(11.0, None)]]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (content(99), "request 0 was answered with 99 bytes, not 100"),
        (content(101), "request 0 was answered with 101 bytes, not 100"),
        (content(101)[1:], "request 0 was answered with 100 bytes, not those sent"),
        (b"", "request 0 was answered with 0 bytes, not 100"),
    ],
)
def test_an_answer_with_other_bytes_is_wrong(body: bytes, words: str) -> None:
    asking = Asking()
    asking.client.headers(0, 200, 0)
    asking.client.data(0, body[:30], 0)
    asking.client.data(0, body[30:], 0)
    with pytest.raises(WrongAnswer, match=words):
        asking.client.end(0, 0)
    assert asking.record == [(1.0, None)]


def test_an_answer_that_fails_is_wrong() -> None:
    client = Asking().client
    with pytest.raises(WrongAnswer, match=r"request 0 .*404"):
        client.headers(0, 404, 0)
    with pytest.raises(WrongAnswer, match="request 0"):
        client.reset(0, 0)


@given(st.integers(0, 3 * BLOCK_BYTES), st.lists(st.integers(0, 3 * BLOCK_BYTES), max_size=5))
def test_content_is_recognised_in_any_pieces(size: int, cuts: list[int]) -> None:
    body, received = content(size), Received()
    ends = [0, *sorted(min(cut, size) for cut in cuts), size]
    for begin, end in pairwise(ends):
        received.take(body[begin:end])
    assert received.is_content(size)
    assert not received.is_content(size + 1)


@pytest.mark.parametrize(
    ("path", "declared", "body", "answer"),
    [
        ("/respond/7", b"750", content(750), Content(7)),
        ("/respond/7", b"0", b"", Content(7)),
        ("/respond/7", b"750", content(749), HTTPStatus.BAD_REQUEST),
        ("/respond/7", b"750", content(751), HTTPStatus.BAD_REQUEST),
        ("/respond/7", b"750", bytes(750), HTTPStatus.BAD_REQUEST),
        ("/respond/7", None, content(750), HTTPStatus.BAD_REQUEST),
        ("/respond/7", b"x", content(750), HTTPStatus.BAD_REQUEST),
        ("/bytes/7", b"750", content(750), HTTPStatus.NOT_FOUND),
        ("/nothing", b"750", content(750), HTTPStatus.NOT_FOUND),
    ],
)
def test_a_post_gets_its_answer(
    path: str, declared: bytes | None, body: bytes, answer: Content | HTTPStatus
) -> None:
    answered = Answered()
    headers = {} if declared is None else {b"content-length": declared}
    serve(ContentServer(answered), Request("POST", path, headers), body[:100], body[100:])
    assert answered.answers == {0: answer}


def test_a_request_without_headers_needs_no_length() -> None:
    answered = Answered()
    serve(ContentServer(answered), Request("POST", "/respond/7"), content(5))
    serve(ContentServer(answered), Request("POST", "/respond/7"), bytes(5), stream=1)
    assert answered.answers == {0: Content(7), 1: HTTPStatus.BAD_REQUEST}


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [
        ("GET", "/bytes/5", Content(5)),
        ("GET", "/bytes/x", HTTPStatus.NOT_FOUND),
        ("PUT", "/bytes/5", HTTPStatus.NOT_FOUND),
    ],
)
def test_a_get_is_answered_at_once(method: str, path: str, answer: Content | HTTPStatus) -> None:
    answered = Answered()
    ContentServer(answered).request(3, Request(method, path), 0)
    assert answered.answers == {3: answer}
