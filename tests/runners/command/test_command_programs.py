"""The project's own programs for workload `command`, on this machine's loopback."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.runners.addresses import is_port_bound
from minitopo_dc.runners.command.programs import payloads
from tests.runners.hosts import free_port

PROGRAMS = "minitopo_dc.runners.command.programs"
LOAD: dict[str, float] = {"--bytes": 1000, "--concurrent": 3, "--seconds": 0.5}
MESSAGES: dict[str, float] = {
    **{"--message-port": 0, "--seed": 1, "--seconds": 0.5, "--query-bytes": 2500},
    **{"--response-bytes": 750, "--response-delay": 0, "--least-payload": 85},
    **{"--most-payload": 500, "--interval-ms": 50, "--buffer-queries": 9, "--burst-queries": 0},
    **{"--burst-interval-ms": 0, "--message-pause": 0.1, "--message-delay": 0.05},
    **{"--messages": 3, "--message-bytes": 1200},
}


def words(program: str, role: str, **numbers: float) -> list[str]:
    options = [word for name, value in numbers.items() for word in (name, str(value))]
    return [sys.executable, "-m", PROGRAMS, program, role, "--server", "127.0.0.1", *options]


@contextmanager
def serving(program: str, numbers: Mapping[str, float]) -> Iterator[None]:
    server = subprocess.Popen(words(program, "server", **numbers))
    try:
        until = time.monotonic() + 20
        while not is_port_bound(server.pid, int(numbers["--port"])):
            assert server.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        yield
    finally:
        server.kill()
        server.wait()


def client(program: str, numbers: Mapping[str, float]) -> subprocess.CompletedProcess[str]:
    command = words(program, "client", **numbers)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def told(program: str, numbers: Mapping[str, float]) -> dict[str, Any]:
    done = client(program, numbers)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_load_repeats_requests_for_its_time_and_counts_their_bytes() -> None:
    numbers = {**LOAD, "--port": free_port()}
    with serving("web_load", numbers):
        begun = time.monotonic()
        found = told("web_load", numbers)
        assert time.monotonic() - begun > 0.5
    assert found["complete_requests"] == len(found["requests_s"]) > 3
    assert found["failed_requests"] == 0
    # Up to three more are not complete at the end.
    least = 8e-6 * 1000 * found["requests_per_s"]
    assert least <= found["received_mbps"] * 1.000001 <= least + 8e-6 * 3000 / 0.4
    ordered = ("request_median_ms", "request_p95_ms", "request_max_ms")
    assert [found[name] for name in ordered] == sorted(found[name] for name in ordered)


def test_an_answer_of_another_length_has_failed_and_ten_of_them_end_the_load() -> None:
    numbers = {**LOAD, "--port": free_port(), "--seconds": 20}
    with serving("web_load", {**numbers, "--bytes": 999}):
        begun = time.monotonic()
        done = client("web_load", numbers)
    assert time.monotonic() - begun < 20
    assert done.returncode == 1
    assert "no request was complete after" in done.stderr
    assert "the last failure: an answer of 999 bytes" in done.stderr


def test_a_load_without_a_server_says_so() -> None:
    done = client("web_load", {**LOAD, "--port": free_port()})
    assert done.returncode == 1
    assert "the last failure: [Errno 111]" in done.stderr


def test_queries_and_messages_are_answered_beside_each_other() -> None:
    numbers = {**MESSAGES, "--port": free_port(), "--message-port": free_port()}
    with serving("messages", numbers):
        found = told("messages", numbers)
    assert 4 <= found["queries"] <= 9
    assert found["answered_queries"] == len(found["queries_s"]) >= found["queries"] - 1
    assert found["missed_queries"] == 0
    assert 1 <= found["answered_messages"] <= found["messages"] <= 3
    assert 0 < found["query_mean_ms"] < 500


def test_a_burst_is_followed_by_its_own_interval() -> None:
    burst: dict[str, float] = {
        "--burst-queries": 2,
        "--burst-interval-ms": 300,
        "--interval-ms": 20,
    }
    numbers = {**MESSAGES, **burst, "--port": free_port(), "--message-port": free_port()}
    with serving("messages", numbers):
        found = told("messages", numbers)
    assert 2 <= found["queries"] <= 5  # without bursts there are about 20


def test_queries_that_nobody_answers_in_time_fail() -> None:
    numbers = {**MESSAGES, "--response-delay": 30, "--seconds": 0.3}
    numbers.update({"--port": free_port(), "--message-port": free_port()})
    with serving("messages", numbers):
        done = client("messages", numbers)
    assert done.returncode == 1
    assert "queries was answered" in done.stderr


@given(st.integers(1, 300), st.integers(0, 500), st.integers(0, 5000), st.integers(0, 9))
def test_packets_of_a_query_keep_to_their_sizes(
    least: int, more: int, further: int, seed: int
) -> None:
    most, query = 2 * least + more, least + further
    sizes = list(payloads(query, least, most, random.Random(seed)))
    assert sum(sizes) == query
    assert least <= min(sizes) <= max(sizes) <= most


@pytest.mark.parametrize("program", ["web_load", "messages"])
def test_an_option_that_is_missing_is_named(program: str) -> None:
    done = client(program, {})
    assert done.returncode == 2
    assert "--port" in done.stderr
