"""When a transport is said to have connected, asked, begun and finished: whole round trips."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.base import get_runner
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.run import run_virtual
from tests.linux_guest.guests import needs_guest
from tests.quic.extension import needs_noq, needs_picoquic
from tests.virtual.scenarios import rows

NO_NGTCP2 = get_runner("quic-ngtcp2").obstacle() or ""
needs_ngtcp2 = pytest.mark.skipif(bool(NO_NGTCP2) and not os.environ.get("CI"), reason=NO_NGTCP2)
LIMIT_S = 0.004
"""What a handshake's and an answer's packets of 1,228 bytes take at 10 Mbit/s is less."""


class Stack(NamedTuple):
    """A transport over equal legs, and the round trips that it takes."""

    transport: str
    handshake: int
    """From its first packet until it may ask."""
    legs: int = 1
    connect: int | None = None
    """Of the handshake: until TCP is connected."""
    options: dict[str, Any] = {}  # noqa: RUF012 (nobody changes it)
    mode: str = "sc"

    def scenario(
        self, delay_ms: float, workload: dict[str, Any], clock: str, queue_ms: float | None = None
    ) -> Scenario:
        """Return one over so many legs of 10 Mbit/s."""
        leg = {"rate_mbps": 10, "delay_ms": delay_ms, "jitter_ms": 0}
        leg |= {} if queue_ms is None else {"queue_ms": queue_ms}
        fields: dict[str, Any] = {"mode": self.mode, "workload": workload}
        fields |= {"transport": self.transport, "options": self.options, "clock": clock}
        return Scenario.check(fields | {"legs": [{"downlink": leg}] * self.legs}, "test")

    def run(
        self, directory: Path, delay_ms: float, queue_ms: float | None = None, **workload: Any
    ) -> RunResult:
        """Return the result on the virtual clock."""
        made = self.scenario(delay_ms, workload, "virtual", queue_ms)
        result = run_virtual(made, directory)
        assert (result.status, result.reason) == ("ok", "")
        return result


STACKS = {
    # A round trip for TCP (RFC 9293), one for TLS 1.3 and two for TLS 1.2 (RFC 8446, section 2).
    "tcp": pytest.param(Stack("tcp", 2, connect=1), marks=needs_guest),
    "tls-1.2": pytest.param(Stack("tcp", 3, connect=1, options={"tls": "1.2"}), marks=needs_guest),
    "mptcp": pytest.param(
        Stack("mptcp", 2, legs=2, connect=1, mode="multipath"), marks=needs_guest
    ),
    "mptcp-proxy": pytest.param(
        Stack("mptcp", 2, legs=2, connect=1, mode="atsss"), marks=needs_guest
    ),
    # RFC 9001, section 4.1.1: complete after one, confirmed after two.
    "quic": pytest.param(Stack("quic", 1)),
    "quic-picoquic": pytest.param(Stack("quic-picoquic", 1), marks=needs_picoquic),
    "mpquic-picoquic": pytest.param(
        Stack("mpquic-picoquic", 1, legs=2, mode="multipath"), marks=needs_picoquic
    ),
    **{
        name: pytest.param(Stack(transport, 1, legs=2, mode=mode), marks=needs_picoquic)
        for name, transport, mode in (
            ("dc", "quic-picoquic", "dc"),
            ("atsss-ll", "quic-picoquic", "atsss"),
            ("tunnel", "mpquic-picoquic", "atsss"),  # from when it is open on
        )
    },
    "quic-noq": pytest.param(Stack("quic-noq", 1), marks=needs_noq),
    "mpquic-noq": pytest.param(Stack("mpquic-noq", 1, legs=2, mode="multipath"), marks=needs_noq),
}
NGTCP2 = pytest.param(Stack("quic-ngtcp2", 1), marks=[needs_guest, needs_ngtcp2])


def over(round_trips: int, delay_ms: float) -> Any:
    """So many round trips, and at most `LIMIT_S` for packets."""
    return pytest.approx(round_trips * 2 * delay_ms / 1000 + LIMIT_S / 2, abs=LIMIT_S / 2)


@pytest.mark.parametrize("delay_ms", [10, 100, 750])
@pytest.mark.parametrize("stack", STACKS.values(), ids=STACKS)
def test_a_small_answer_takes_one_round_trip_more_than_the_handshake(
    stack: Stack, delay_ms: float, tmp_path: Path
) -> None:
    result = stack.run(tmp_path, delay_ms, size_mb=0.001)
    times = result.details
    if stack.connect is not None:
        assert times["connect_s"] == over(stack.connect, delay_ms)
    assert times["handshake_s"] == over(stack.handshake, delay_ms)
    assert times["first_byte_s"] == over(stack.handshake + 1, delay_ms)
    assert result.completion_s == over(stack.handshake + 1, delay_ms)


DOWN_S, UP_S = 1228 * 8 / 10e6, 1228 * 8 / 20e6
"""A full datagram on a leg, and up to it."""
PAYLOAD = 1165
"""Bytes of a stream in 1,200: 11 of the header, 16 of the tag and 8 of the frame are not."""


def idle_s(round_trip_s: float) -> float:
    """How long a leg stands still in slow start, from 10 packets on (RFC 9002, section 7.2)."""
    windows_s = (DOWN_S * 10 * 2.0**number for number in range(10))
    return sum(max(0.0, round_trip_s + DOWN_S - window_s) for window_s in windows_s)


@pytest.mark.parametrize("delay_ms", [10, 100])
@pytest.mark.parametrize("stack", [STACKS[name] for name in ("quic-picoquic", "quic-noq")])
def test_a_download_over_a_clean_leg_takes_what_slow_start_and_the_rate_give(
    stack: Stack, delay_ms: float, tmp_path: Path
) -> None:
    """The client ends the handshake with at most a datagram more than its request."""
    result = stack.run(tmp_path, delay_ms, queue_ms=500, size_mb=20)
    round_trip_s = 2 * delay_ms / 1000
    handshake_s = round_trip_s + UP_S + DOWN_S
    first_byte_s = handshake_s + round_trip_s + UP_S / 2 + DOWN_S
    rest_s = idle_s(round_trip_s) + (20e6 / PAYLOAD - 1) * DOWN_S
    assert result.details["handshake_s"] == pytest.approx(handshake_s, rel=0.0001)
    assert result.details["first_byte_s"] == pytest.approx(first_byte_s, rel=0.01)
    assert result.completion_s == pytest.approx(first_byte_s + rest_s, rel=0.01)


@pytest.mark.parametrize("stack", [STACKS[name] for name in ("mpquic-picoquic", "mpquic-noq")])
def test_a_download_over_two_clean_legs_takes_half_of_that_and_what_the_later_path_waits(
    stack: Stack, tmp_path: Path
) -> None:
    """The later path's first data come eight one-way delays after the client's first packet."""
    result = stack.run(tmp_path, 10, size_mb=20)
    first_byte_s, later_s = 0.04 + 1.5 * UP_S + 2 * DOWN_S, 0.08
    data_s = 20e6 / PAYLOAD * DOWN_S
    both_s = (first_byte_s + later_s + 2 * idle_s(0.02) + data_s) / 2
    assert result.details["first_byte_s"] == pytest.approx(first_byte_s, rel=0.01)
    assert result.completion_s == pytest.approx(both_s, rel=0.01)


@pytest.mark.parametrize("delay_ms", [10, 100, 750])
@pytest.mark.parametrize("stack", [STACKS[name] for name in STACKS if name != "mpquic-noq"])
def test_each_request_is_sent_at_its_time_and_answered_after_a_round_trip(
    stack: Stack, delay_ms: float, tmp_path: Path
) -> None:
    small: dict[str, Any] = {"count": 3, "interval_s": 1, "request_bytes": 100}  # one packet
    result = stack.run(tmp_path, delay_ms, kind="request-response", **small)
    asked = rows(tmp_path / "request-response.csv")
    for late_s, request in enumerate(asked):
        assert float(request["sent_s"]) - late_s == over(stack.handshake, delay_ms)
        assert float(request["delay_ms"]) / 1000 == over(1, delay_ms)
    assert result.details["answered"] == 3


@pytest.mark.parametrize("delay_ms", [10, 100, 750])
@pytest.mark.parametrize(
    "stack", [STACKS[name] for name in ("mpquic-picoquic", "mpquic-noq", "mptcp")]
)
def test_a_later_path_is_open_at_the_server_after_seven_one_way_delays(
    stack: Stack, delay_ms: float, tmp_path: Path
) -> None:
    """Four until HANDSHAKE_DONE or the first DATA_ACK lets the client open it; three to do so."""
    result = stack.run(tmp_path, delay_ms, size_mb=0.25)
    later = result.details["paths"][1]
    statistics_s = 0.1 if stack.transport == "mptcp" else 0.0  # it asks its kernel so often
    begin_s = 7 * delay_ms / 1000
    assert begin_s < later["opened_s"] < begin_s + 2 * LIMIT_S + statistics_s


@pytest.mark.parametrize("delay_ms", [50, 100, 750])
@pytest.mark.parametrize("stack", [NGTCP2])
def test_ngtcp2_has_its_answer_after_two_round_trips(
    stack: Stack, delay_ms: float, tmp_path: Path
) -> None:
    """Cut to whole milliseconds."""
    result = stack.run(tmp_path, delay_ms, size_mb=0.001)
    assert result.details["first_byte_s"] == over(2, delay_ms)
    assert result.completion_s == over(2, delay_ms)


@pytest.mark.parametrize("stack", [NGTCP2])
def test_ngtcp2_paces_its_first_request_as_if_the_round_trip_were_333_ms(
    stack: Stack, tmp_path: Path
) -> None:
    """RFC 9002, sections 6.2.2, 7.2, 7.7: ten packets in it, at 1.25 times the window's rate."""
    result = stack.run(tmp_path, 10, size_mb=0.001)
    assert result.completion_s == pytest.approx(0.333 / 10 / 1.25 + 0.0215, abs=0.002)


@needs_picoquic
@pytest.mark.parametrize(
    ("delay_ms", "probe_s"), [(374, None), (375, 0.75), (130, 0.25), (400, 0.75)]
)
def test_picoquic_paces_its_first_request_behind_a_probe_of_the_handshake(
    delay_ms: int, probe_s: float | None, tmp_path: Path
) -> None:
    """Probes at 250 and 750 ms have taken the credit of a packet: a twelfth of the round trip."""
    result = Stack("quic-picoquic", 1).run(tmp_path, delay_ms, size_mb=0.001)
    round_trip_s = 2 * delay_ms / 1000
    paced_s = 0 if probe_s is None else probe_s + round_trip_s / 12 - round_trip_s
    assert result.completion_s == pytest.approx(2 * round_trip_s + paced_s + 0.004, abs=0.003)


@needs_noq
def test_noq_paces_its_first_request_behind_the_identifiers_of_paths(tmp_path: Path) -> None:
    """Ten packets in a round trip (RFC 9002, section 7.7) at 1.25 times the window's rate."""
    stack = Stack("mpquic-noq", 1, legs=2, mode="multipath")
    stack.run(tmp_path, 750, kind="request-response", count=3, interval_s=2)
    delays_s = [float(each["delay_ms"]) / 1000 for each in rows(tmp_path / "request-response.csv")]
    assert delays_s[0] == pytest.approx(1.5 + 1.5 / 10 / 1.25, abs=0.01)
    assert delays_s[1:] == [over(1, 750)] * 2
