"""Requests at a steady pace without a network: schedule, record, the server's part."""

from __future__ import annotations

import asyncio
import math
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.runners.payload.asgi import Message, application
from minitopo_dc.runners.payload.content import BLOCK_BYTES, Posted, Received, blocks, response_size
from minitopo_dc.runners.payload.requests import (
    RequestPlan,
    Requests,
    WrongAnswer,
)

PLAN = RequestPlan(request_bytes=750, response_bytes=100, interval_s=0.4, count=5, patience_s=2.0)


def content(size: int) -> bytes:
    return b"".join(blocks(size))


def connected(plan: RequestPlan = PLAN, at: float = 10.0) -> Requests:
    requests = Requests(plan)
    requests.connecting(at - 1.0)
    requests.connected(at)
    return requests


def send_due(requests: Requests, now: float) -> list[int]:
    numbers = list(requests.due(now))
    for number in numbers:
        requests.sent(number, now)
    return numbers


def answer(requests: Requests, number: int, now: float) -> None:
    requests.status(number, 200)
    requests.arrived(number, content(requests.plan.response_bytes))
    requests.answered(number, now)


@given(
    st.integers(1, 20),
    st.floats(0.001, 10),
    st.lists(st.tuples(st.floats(0, 20), st.integers(0, 3)), max_size=100),
    st.randoms(use_true_random=False),
)
def test_each_request_is_sent_once_in_order_and_none_early(
    count: int, interval_s: float, steps: list[tuple[float, int]], random: Any
) -> None:
    requests = connected(replace(PLAN, count=count, interval_s=interval_s))
    now, sent, waiting = 10.0, {}, []
    for wait_s, answers in steps:
        for number in send_due(requests, now):
            assert now >= 10.0 + number * interval_s
            sent[number] = now
            waiting.append(number)
        assert list(sent) == list(range(len(sent)))
        for _ in range(min(answers, len(waiting))):
            answer(requests, waiting.pop(random.randrange(len(waiting))), now)
        if len(sent) < count:
            assert requests.next_timeout() > now, "what is due was sent"
        now += wait_s
    record = requests.outcome.requests
    assert [sent_s for sent_s, _ in record] == [at - 9.0 for at in sent.values()]
    unanswered = [number for number, (_, answered_s) in enumerate(record) if answered_s is None]
    assert unanswered == sorted(waiting)
    assert all(end >= begin for begin, end in record if end is not None)
    assert requests.outcome.bytes_received == 100 * (len(sent) - len(waiting))


def test_the_first_request_is_due_with_the_connection_and_the_others_by_the_interval() -> None:
    requests = connected()
    assert (requests.outcome.handshake_s, send_due(requests, 10.0)) == (1.0, [0])
    assert requests.next_timeout() == 10.4
    assert send_due(requests, math.nextafter(10.4, 0)) == []
    assert send_due(requests, 10.4) == [1]


def test_a_late_client_sends_all_that_are_due_and_is_late_with_none_of_the_others() -> None:
    requests = connected()
    assert send_due(requests, 11.0) == [0, 1, 2]
    assert requests.next_timeout() == pytest.approx(11.2)


def test_nothing_is_due_before_the_connection() -> None:
    requests = Requests(PLAN)
    requests.connecting(10.0)
    assert (list(requests.due(1e9)), requests.next_timeout()) == ([], math.inf)
    assert not requests.ended(1e9)


def test_all_answered_is_the_end() -> None:
    requests = connected()
    numbers = send_due(requests, 20.0)
    for number in numbers[1:]:
        answer(requests, number, 20.5)
    assert not requests.ended(20.5)
    answer(requests, 0, 21.0)
    assert requests.ended(21.0)
    assert requests.outcome.requests == [(11.0, 12.0), *4 * [(11.0, 11.5)]]


def test_patience_counts_from_the_last_request_and_leaves_the_rest_unanswered() -> None:
    requests = connected()
    send_due(requests, 20.0)
    assert requests.next_timeout() == 22.0
    assert not requests.ended(math.nextafter(22.0, 0))
    assert requests.ended(22.0)
    assert requests.outcome.requests == 5 * [(11.0, None)]


def test_a_request_out_of_turn_is_refused() -> None:
    requests = connected()
    with pytest.raises(ValueError, match="request 1 is not the next one of 5"):
        requests.sent(1, 10.0)
    send_due(requests, 20.0)
    with pytest.raises(ValueError, match="request 5 is not the next one of 5"):
        requests.sent(5, 20.0)


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
    requests = connected()
    send_due(requests, 10.0)
    requests.status(0, 200)
    requests.arrived(0, body[:30])
    requests.arrived(0, body[30:])
    with pytest.raises(WrongAnswer, match=words):
        requests.answered(0, 10.1)
    assert requests.outcome.requests == [(1.0, None)]


def test_an_answer_with_another_status_is_wrong() -> None:
    requests = connected()
    send_due(requests, 10.0)
    with pytest.raises(WrongAnswer, match="request 0 got status 404, not 200"):
        requests.status(0, 404)


@pytest.mark.parametrize("name", list(asdict(PLAN)))
@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_a_plan_refuses_what_cannot_be(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be positive and finite, not {value}"):
        replace(PLAN, **{name: value})  # type: ignore[arg-type]


@given(st.integers(0, 3 * BLOCK_BYTES), st.lists(st.integers(0, 3 * BLOCK_BYTES), max_size=5))
def test_content_is_recognised_however_it_is_cut(size: int, cuts: list[int]) -> None:
    body, received = content(size), Received()
    ends = [0, *sorted(min(cut, size) for cut in cuts), size]
    for begin, end in pairwise(ends):
        received.take(body[begin:end])
    assert received.is_content(size)
    assert not received.is_content(size + 1)


@pytest.mark.parametrize("path", ["/respond/", "/respond/-1", "/respond/x", "/bytes/1", "", "/"])
def test_other_paths_ask_for_no_response(path: str) -> None:
    assert response_size(path) is None


POSTS = [
    ("/respond/7", b"750", content(750), 200),
    ("/respond/7", b"0", b"", 200),
    ("/respond/7", b"750", content(749), 400),
    ("/respond/7", b"750", content(751), 400),
    ("/respond/7", b"750", bytes(750), 400),
    ("/respond/7", None, content(750), 400),
    ("/respond/7", b"x", content(750), 400),
    ("/bytes/7", b"750", content(750), 404),
    ("/nothing", b"750", content(750), 404),
]


@pytest.mark.parametrize(("path", "declared", "body", "status"), POSTS)
def test_a_post_gets_its_status(
    path: str, declared: bytes | None, body: bytes, status: int
) -> None:
    posted = Posted(path, {} if declared is None else {b"content-length": declared})
    posted.take(body[:100])
    posted.take(body[100:])
    assert posted.answer() == (status, 7 if status == 200 else 0)


def respond(scope: Message, *messages: Message) -> list[Message]:
    """What the application sends when these messages come, and then no more."""
    sent: list[Message] = []
    coming = list(messages)

    async def receive() -> Message:
        if not coming:
            await asyncio.Event().wait()
        return coming.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(asyncio.wait_for(application(scope, receive, send), 60))
    return sent


def post(path: str, declared: bytes | None) -> Message:
    headers = [] if declared is None else [(b"content-length", declared)]
    return {"type": "http", "method": "POST", "path": path, "headers": headers}


@pytest.mark.parametrize(("path", "declared", "body", "status"), POSTS)
def test_the_tcp_application_answers_a_post_when_its_body_is_complete(
    path: str, declared: bytes | None, body: bytes, status: int
) -> None:
    pieces = ({"type": "http.request", "body": body[:99], "more_body": True},)
    last = {"type": "http.request", "body": body[99:], "more_body": False}
    start, *bodies = respond(post(path, declared), *pieces, last)
    assert start["status"] == status
    sent = b"".join(message.get("body", b"") for message in bodies)
    assert sent == (content(7) if status == 200 else b"")


def test_the_tcp_application_says_nothing_to_a_client_that_went_before_its_body_was_there() -> None:
    piece = {"type": "http.request", "body": b"1", "more_body": True}
    assert respond(post("/respond/7", b"2"), piece, {"type": "http.disconnect"}) == []
