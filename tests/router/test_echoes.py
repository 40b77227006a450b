"""Echoes between two ends, whose datagrams a test carries."""

from __future__ import annotations

import pytest

from minitopo_dc.router.drivers import answering, echoing, measuring


def test_each_leg_is_measured_from_its_request_to_its_answer() -> None:
    told, sent, answers = list[tuple[int, ...]](), list[bytes](), list[bytes]()
    ways = [lambda data, _now: sent.append(data)] * 2
    sender = echoing(ways, interval=100)
    assert sender.next_timeout() is None
    sender.start(1000)
    assert sender.next_timeout() == 1000
    sender.handle(1000)
    assert sender.next_timeout() == 1100
    answer = answering(lambda data, _now: answers.append(data))
    for data in sent:
        answer(data, 1010)
    for leg, take in enumerate([measuring(lambda *answer: told.append(answer), n) for n in (0, 1)]):
        take(answers[leg], 1030 + leg)
    assert told == [(0, 30, 1030), (1, 31, 1031)]


@pytest.mark.parametrize(
    "data", [b"", b"\x01" + bytes(8), b"\x02" + bytes(7), b"\x02\x7f" + bytes(7)]
)
def test_what_is_no_answer_to_a_request_of_the_past_is_ignored(data: bytes) -> None:
    told: list[tuple[int, ...]] = []
    measuring(lambda *answer: told.append(answer), 0)(data, 5)
    assert told == []


def test_only_requests_are_answered() -> None:
    answers: list[bytes] = []
    answer = answering(lambda data, _now: answers.append(data))
    for data in (b"", b"\x02" + bytes(8), b"\x01" + bytes(9)):
        answer(data, 0)
    assert answers == []
