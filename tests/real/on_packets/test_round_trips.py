"""When a transport is said to have connected, asked and finished, on real packets."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.real.run import run_real
from tests.virtual.whole_runs.test_round_trips import STACKS, Stack

pytestmark = [pytest.mark.root, pytest.mark.alone]
REAL = {
    name: STACKS[name]
    for name in ("tcp", "tls-1.2", "mptcp", "quic", "quic-picoquic", "dc", "mpquic-picoquic")
}
ON_TIME_S = 0.0005
"""What jitter of timers may take off a round trip: the elements are not early by more."""
LATE_S = 0.08
"""What elements (0.1 ms), packets (1 ms each) and programs add, on busy processors, too: less than
half of the longer round trip, so that it tells how many there were."""


@pytest.mark.parametrize("delay_ms", [10, 100])
@pytest.mark.parametrize("stack", REAL.values(), ids=REAL)
def test_a_small_answer_takes_one_round_trip_more_than_the_handshake(
    stack: Stack, delay_ms: float, tmp_path: Path
) -> None:
    result = run_real(stack.scenario(delay_ms, {"size_mb": 0.001}, "real"), tmp_path)
    assert (result.status, result.reason) == ("ok", "")
    times, round_trip_s = result.details, 2 * delay_ms / 1000
    expected = {
        "connect_s": stack.connect,
        "handshake_s": stack.handshake,
        "first_byte_s": stack.handshake + 1,
        "completion_s": stack.handshake + 1,
    }
    late = {
        name: (times | {"completion_s": result.completion_s})[name] - count * round_trip_s
        for name, count in expected.items()
        if count is not None
    }
    assert min(late.values()) > -ON_TIME_S, late
    assert max(late.values()) < LATE_S, late
