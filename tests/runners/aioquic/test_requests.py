"""Requests over HTTP/3 between both ends of `runners` in virtual time: 10 ms each way, losses."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import RequestResponse, Workload
from minitopo_dc.workloads.exchange import BLOCK, Client, Outcome, Received, Requests, WrongAnswer
from tests.runners.aioquic.pair import Lost, Pair, none_lost

PLAN = RequestResponse(
    request_bytes=750, response_bytes=750, interval_s=0.4, count=10, patience_s=2.0
)
ROUND_TRIP_S = 0.02
CLOSING_S = 1.0  # more than three probe timeouts of 20 ms of round trip (RFC 9000, section 10.2)


def exchange(plan: RequestResponse, lost: Lost = none_lost) -> tuple[SimpleNamespace, float]:
    """What the client saw, and how long it ran in s."""
    pair = Pair(plan, lost)
    took_s = pair.run()
    return outcome_of(pair), took_s


def outcome_of(pair: Pair) -> SimpleNamespace:
    return SimpleNamespace(**pair.client.client.report())


def at_random(share: float, seed: int) -> Lost:
    numbers = random.Random(seed)
    return lambda _to_server, _at_s: numbers.random() < share


def lost_between(begin_s: float, end_s: float) -> Lost:
    return lambda _to_server, at_s: begin_s <= at_s < end_s


def unanswered(outcome: SimpleNamespace) -> list[int]:
    return [number for number, (_, end) in enumerate(outcome.requests) if end is None]


def test_requests_are_sent_on_time_and_answered_a_round_trip_later() -> None:
    outcome, took_s = exchange(PLAN)
    assert outcome.handshake_s == pytest.approx(ROUND_TRIP_S, abs=1e-9)
    for number, (sent_s, answered_s) in enumerate(outcome.requests):
        # A virtual host's timers fire 1 us late.
        assert sent_s == pytest.approx(ROUND_TRIP_S + number * 0.4, abs=2e-6)
        assert answered_s == pytest.approx(sent_s + ROUND_TRIP_S, abs=1e-9)
    assert (outcome.error, outcome.bytes_received, len(outcome.requests)) == (None, 7500, 10)
    assert took_s < outcome.requests[-1][0] + ROUND_TRIP_S + CLOSING_S


@pytest.mark.parametrize("size", [1, 65_535, 65_536, 65_537, 300_000])
def test_bodies_of_any_size_arrive_in_both_directions(size: int) -> None:
    plan = PLAN.model_copy(
        update={"request_bytes": size, "response_bytes": size, "count": 3, "patience_s": 60.0}
    )
    outcome, _ = exchange(plan)
    assert (unanswered(outcome), outcome.error) == ([], None)
    assert outcome.bytes_received == 3 * size


@settings(max_examples=20)
@given(st.floats(0, 0.3), st.integers(0, 10**6), st.integers(1, 20_000))
def test_losses_change_times_but_no_byte(share: float, seed: int, size: int) -> None:
    plan = PLAN.model_copy(update={"response_bytes": size, "patience_s": 600.0})
    # The handshake and the client's close get through.
    noise = at_random(share, seed)
    outcome, _ = exchange(plan, lambda *where: 0.1 < where[1] < 5 and noise(*where))
    assert (unanswered(outcome), outcome.error) == ([], None)
    assert outcome.bytes_received == plan.requests * size


def test_requests_go_on_while_nothing_gets_through_and_are_answered_afterwards() -> None:
    outcome, _ = exchange(PLAN.model_copy(update={"count": 20}), lost_between(1.0, 3.0))
    assert [sent_s for sent_s, _ in outcome.requests] == pytest.approx(
        [ROUND_TRIP_S + number * 0.4 for number in range(20)], abs=1e-4
    )
    late = {
        number for number, (sent, end) in enumerate(outcome.requests) if (end or 0) > sent + 0.2
    }
    assert late >= {3, 4, 5, 6}
    assert {0, 1, 2, 15, 19}.isdisjoint(late)
    assert (unanswered(outcome), outcome.error) == ([], None)


def test_a_path_that_is_cut_for_good_leaves_requests_unanswered_and_no_error() -> None:
    outcome, took_s = exchange(PLAN, lost_between(1.0, 1e9))
    assert unanswered(outcome) == [3, 4, 5, 6, 7, 8, 9]
    assert outcome.error is None
    assert took_s < ROUND_TRIP_S + 9 * 0.4 + PLAN.patience_s + CLOSING_S


def test_without_a_server_the_client_ends_with_an_error() -> None:
    outcome, took_s = exchange(PLAN, lambda _to_server, _at_s: True)
    assert (outcome.requests, outcome.handshake_s) == ([], None)
    assert outcome.error == "connection ended: Idle timeout"
    assert took_s == pytest.approx(60, abs=0.1)  # aioquic's idle timeout


def test_a_server_that_closes_in_mid_run_is_an_error_with_what_was_answered() -> None:
    pair = Pair(PLAN)

    def lost(to_server: bool, at_s: float) -> bool:
        if at_s > 1.0 and to_server:
            pair.server.connection.close(0, 0x100)
        return False

    pair._lost = lost
    pair.run()
    assert outcome_of(pair).error == "connection ended: 256"
    assert unanswered(outcome_of(pair)) == [3]


def test_requests_beyond_the_servers_limit_of_streams_wait_in_the_transport() -> None:
    plan = PLAN.model_copy(update={"interval_s": 1e-9, "count": 500})
    outcome, _ = exchange(plan)
    assert outcome.requests[-1][0] < outcome.requests[0][0] + 1e-5
    assert (unanswered(outcome), outcome.error) == ([], None)
    first, last = outcome.requests[0][1], outcome.requests[-1][1]
    assert first is not None
    assert last is not None
    assert last > first + 2 * ROUND_TRIP_S  # 128 at a time


@dataclass(frozen=True)
class Ask:
    """A request of `Asking`."""

    path: str
    method: str = "POST"
    body: bytes | None = b""
    declared: int | None = None


class Asking(Client):
    """A client that asks for several things at once, when the handshake is over."""

    def __init__(self, connection: Requests, asks: Sequence[Ask]) -> None:
        super().__init__(Outcome())
        self._connection = connection
        self.asks = asks
        self.statuses: dict[int, int] = {}
        self.bodies = [Received() for _ in self.asks]
        self.ended_at: dict[int, float] = {}

    def connected(self, now: int) -> None:  # noqa: ARG002
        for ask in self.asks:
            if ask.declared is None:
                self._connection.request(ask.method, ask.path, ask.body)
                continue
            stream = self._connection.request("POST", ask.path, length=ask.declared)
            self._connection.write(stream, ask.body or b"", end=True)

    def headers(self, stream: int, status: int, now: int) -> None:  # noqa: ARG002
        self.statuses[stream // 4] = status
        if status == 404:
            raise WrongAnswer("status 404")

    def data(self, stream: int, data: bytes, now: int) -> None:  # noqa: ARG002
        self.bodies[stream // 4].take(data)

    def end(self, stream: int, now: int) -> None:
        self.ended_at[stream // 4] = now / NS_PER_S
        self.ended = len(self.ended_at) == len(self.asks)


class Asked(Workload):
    """A workload of such a client, with the server of all."""

    asks: tuple[Ask, ...]

    def make_client(self, connection: Requests) -> Client:
        return Asking(connection, self.asks)


def ask(*asks: Ask) -> Asking:
    pair = Pair(Asked(asks=asks))
    pair.run()
    assert isinstance(pair.client.client, Asking)
    return pair.client.client


def test_a_session_answers_small_requests_beside_a_download() -> None:
    client = ask(
        Ask("/bytes/3000000", "GET", None), *(Ask(f"/respond/{size}") for size in range(20))
    )
    assert set(client.statuses.values()) == {200}
    assert client.bodies[0].is_content(3_000_000)
    assert all(client.bodies[size + 1].is_content(size) for size in range(20))
    *small, large = sorted(client.ended_at, key=lambda number: (client.ended_at[number], -number))
    assert large == 0
    assert max(client.ended_at[number] for number in small) == pytest.approx(
        1.0 + 2 * ROUND_TRIP_S, abs=1e-3
    )


def test_a_session_sends_large_responses_in_turn() -> None:
    client = ask(*3 * [Ask("/respond/2000000")])
    assert all(body.is_content(2_000_000) for body in client.bodies)
    ends = sorted(client.ended_at.values())
    assert ends[-1] - ends[0] < 0.1 * (ends[-1] - 1.0)


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        (Ask("/respond/10", body=BLOCK[:5]), 200),
        (Ask("/respond/10", body=None), 400),  # without content-length
        (Ask("/nothing", body=BLOCK[:5]), 404),
        (Ask("/bytes/x", "GET", None), 404),
    ],
)
def test_a_session_says_what_is_wrong_with_a_request(wanted: Ask, status: int) -> None:
    client = ask(wanted)
    assert client.statuses == {0: status}
    assert client.bodies[0].is_content(10 if status == 200 else 0)
    assert client.outcome.error == ("status 404" if status == 404 else None)


@pytest.mark.parametrize("declared", [4, 6])
def test_a_body_of_another_length_than_announced_ends_the_connection(declared: int) -> None:
    # aioquic itself takes it for a malformed message (RFC 9114, section 4.1.2).
    client = ask(Ask("/respond/10", body=BLOCK[:5], declared=declared))
    assert client.outcome.error == "connection ended: content-length does not match data size"
    assert client.statuses == {}
