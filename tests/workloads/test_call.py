"""Calls, and workloads that need their data in time."""

from __future__ import annotations

import json
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.runners.base import accepted, read_report
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Measurement, Realtime, parse_workload
from minitopo_dc.workloads.call import DOWN, HEAD, UP, Receiving, frame_rows
from minitopo_dc.workloads.exchange import Client, Request
from tests.workloads.wire import Answered, StreamPair, Wire, serve

FIELDS = {"fps": 10, "bitrate_mbps": 0.1, "duration_s": 0.3}


def a_call(direction: str = "both", delivery: str = "stream", **fields: object) -> Realtime:
    values = {**FIELDS, "direction": direction, "delivery": delivery, **fields}
    return Realtime.check(values, "test")


def frame(number: int, captured_s: float, size: int) -> bytes:
    return HEAD.pack(number, size, round(captured_s * NS_PER_S)) + bytes(size - HEAD.size)


def outcome_of(client: Client) -> SimpleNamespace:
    return SimpleNamespace(**client.report())


@given(
    st.sampled_from(["down", "up", "both"]),
    st.sampled_from(["stream", "streams", "datagrams"]),
    st.integers(1, 60),
    st.sampled_from([None, 46]),
)
def test_over_streams_without_a_network_every_frame_comes_when_it_is_due(
    direction: str, delivery: str, fps: int, dscp: int | None
) -> None:
    call = a_call(direction, delivery, fps=fps, key_frame_dscp=dscp)
    pair = StreamPair(call)
    pair.run(NS_PER_S, 100 * NS_PER_S)
    measured = accepted(call, read_report(pair.client.report(), call))
    assert len(measured.rows) == call.frames * len(call.directions)
    assert {row["delay_ms"] for row in measured.rows} == {0.0}
    assert measured.details["lost_frames"] == 0


def test_what_is_late_is_reset_and_counted() -> None:
    call = a_call("up", "streams", reset_late=True, deadline_ms=50)
    pair = StreamPair(call)
    pair.run(NS_PER_S, 100 * NS_PER_S)
    assert pair.ends[0].resets == call.frames  # without a network nobody says that they are there
    assert outcome_of(pair.client).reset_frames == call.frames


class Calling:
    """A client over requests that has just connected, at 10 s."""

    def __init__(self, call: Realtime) -> None:
        self.wire = Wire()
        self.client = call.make_client(self.wire)
        self.client.connecting(9 * NS_PER_S)
        self.client.connected(10 * NS_PER_S)
        self.streams = {request.path: number for number, request in enumerate(self.wire.sent)}

    def at(self, now_s: float) -> None:
        self.now = round(now_s * NS_PER_S)
        self.client.on_time(self.now)


def test_frames_go_up_when_they_are_due() -> None:
    calling = Calling(a_call("up"))
    for step in range(3):
        calling.at(10.0 + step / 10)
    (request,) = calling.wire.sent
    received = Receiving()
    received.on_stream(0, request.body or b"", 1)
    assert sorted(received.received_ns) == [0, 1, 2]
    assert request.length == len(request.body or b"")


def test_a_call_ends_with_the_last_frame_down_and_the_report_of_those_up() -> None:
    calling = Calling(a_call())
    calling.at(10.5)
    for number, size in enumerate(a_call().plan.sizes_bytes):
        data = frame(number, 10.05 + number / 10, size)
        calling.client.data(calling.streams[DOWN], data, calling.now)
    calling.at(10.5)
    assert not calling.client.ended
    report = {"received_ns": {"0": 10_020_000_000, "2": 10_230_000_000}}
    calling.client.data(calling.streams[UP], json.dumps(report).encode(), calling.now)
    calling.client.end(calling.streams[UP], calling.now)
    calling.at(10.5)
    outcome = outcome_of(calling.client)
    assert (calling.client.ended, outcome.error) == (True, None)
    assert [row["up"] for row in outcome.rows] == [0, 0, 0, 1, 1, 1]
    assert outcome.rows[0]["captured_s"] == pytest.approx(1.05)
    assert [row["delay_ms"] for row in outcome.rows[3:]] == [20.0, None, 30.0]


def test_frames_that_do_not_come_are_lost_2_s_behind_the_last() -> None:
    calling = Calling(a_call("down"))
    calling.at(10.1)
    data = frame(0, 10.05, a_call().plan.sizes_bytes[0])
    calling.client.data(calling.streams[DOWN], data, calling.now)
    calling.at(12.1)
    assert not calling.client.ended
    assert calling.client.next_timeout() == 12.2 * NS_PER_S
    calling.at(12.21)
    assert calling.client.ended
    rows = outcome_of(calling.client).rows
    assert [row["received_s"] is None for row in rows] == [False, True, True]


def test_a_report_that_does_not_come_is_an_error() -> None:
    calling = Calling(a_call("up"))
    calling.at(12.3)
    assert calling.client.next_timeout() == 72.2 * NS_PER_S
    calling.at(72.3)
    assert calling.client.outcome.error == "the server's report did not come within 60 s"


def test_the_server_sends_each_frame_down_when_it_is_due() -> None:
    answered = Answered()
    call = a_call("down")
    server = call.make_server(answered)
    serve(server, Request("POST", DOWN), call.model_dump_json(exclude_defaults=True).encode())
    while server.next_timeout() < NS_PER_S:
        server.on_time(int(server.next_timeout()))
    received = Receiving()
    body = answered.answers[0]
    assert isinstance(body, bytes)
    received.on_stream(0, body, 1)
    assert sorted(received.received_ns) == [0, 1, 2]
    assert answered.ended == {0}


@pytest.mark.parametrize("body", [b"{", b'{"fps": 0}', b"{}"])
def test_the_server_refuses_what_is_no_call_of_one_stream(body: bytes) -> None:
    answered = Answered()
    serve(a_call().make_server(answered), Request("POST", DOWN), body)
    assert answered.answers == {0: HTTPStatus.BAD_REQUEST}


def test_the_server_reports_when_frames_came_up() -> None:
    answered = Answered()
    frames = frame(0, 1.0, 50) + frame(1, 1.1, 50)
    serve(a_call().make_server(answered), Request("POST", UP), frames[:70], frames[70:])
    assert answered.answers == {0: b'{"received_ns": {"0": 0, "1": 0}}'}


TEN = Realtime(fps=10, duration_s=1, gop=5, bitrate_mbps=0.1)
MS = 1_000_000


def measured(delays_ms: dict[int, float], workload: Realtime = TEN) -> Measurement:
    plan = workload.plan
    received = {n: round(plan.due_ns(n) + delay * MS) for n, delay in delays_ms.items()}
    rows = frame_rows(plan, 0, received, -1000 * MS, up=False)
    return Measurement(1, 1.0, rows=rows)


def test_the_numbers_are_those_of_the_rows() -> None:
    made = measured({n: 20.0 + n for n in range(9)} | {8: 200.0})
    first = [made.rows[0][name] for name in ("frame", "captured_s", "received_s", "delay_ms")]
    assert first == pytest.approx([1, 1.0, 1.02, 20.0])  # since the start of connecting
    found = TEN.details(made)
    assert (found["frames"], found["lost_frames"], found["late_frames"]) == (10, 1, 1)
    assert found["late_share"] == pytest.approx(0.2)
    assert found["frame_delay_p50_ms"] == pytest.approx(24.0)
    assert found["frame_delay_p99_ms"] == pytest.approx(200.0)
    assert set(TEN.reported_measures) - {"reset_frames"} <= set(found)  # which the client tells
    assert TEN.failure(measured({})) == "none of 10 frames came down"
    assert TEN.failure(made) is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"deadline_ms": 0}, "realtime: deadline_ms: 0; allowed: above 0 to 3,600,000 ms"),
        ({"fps": 0}, "realtime: fps: 0; allowed: 1 to 1,000 frames/s"),
        ({"delivery": "rtp"}, "realtime: delivery: .*streams"),
        ({"key_frame_ratio": 0.5}, "realtime: key_frame_ratio: 0.5; allowed: 1 to 1,000"),
    ],
)
def test_a_wrong_field_is_one_error_with_what_is_allowed(
    fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        parse_workload({"kind": "realtime", **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"delivery": "datagrams", "reset_late": True},
            "reset_late with delivery datagrams; allowed: streams, one for each frame",
        ),
        ({"fps": 1000, "duration_s": 1001}, "1001000 frames; allowed: at most 1,000,000"),
    ],
)
def test_what_does_not_go_together_is_refused(fields: dict[str, Any], words: str) -> None:
    assert str(Realtime(**fields).obstacle(2)).startswith(words)
