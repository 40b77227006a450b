"""The bound of a transfer: closed forms, what has none, and that no run is above it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitopo_dc as dc
from minitopo_dc.results import bound_mbps
from minitopo_dc.workloads import Both, Upload
from tests.linux_guest.guests import needs_guest
from tests.quic.extension import needs_noq, needs_picoquic

CONTENT = 1460 / 1500


def scenario(*legs: dict[str, Any], **fields: Any) -> dc.Scenario:
    """Two legs of 30 and 10 Mbit/s, 20 and 50 ms each way, unless the arguments say otherwise."""
    usual: Any = ({"rate_mbps": 30, "delay_ms": 20}, {"rate_mbps": 10, "delay_ms": 50})
    both = [
        {"jitter_ms": 0, **own, **given} for own, given in zip(usual, legs or ({}, {}), strict=True)
    ]
    values = {
        "transport": "quic-picoquic",
        "mode": "dc",
        "clock": "virtual",
        "workload": dc.Download(size_mb=5),
    } | fields
    return dc.Scenario(legs=both, **values)


def served_mbit(seconds: float, first_s: float, second_s: float) -> float:
    """The content that legs of 30 and 10 Mbit/s carry, which have begun by so many s."""
    return CONTENT * (30 * (seconds - first_s) + 10 * (seconds - second_s))


def test_a_download_takes_handshake_request_and_both_capacities() -> None:
    """40 ms of handshake and 20 ms of request, then each leg's delay: 80 and 110 ms."""
    least_s = (40 / CONTENT + 30 * 0.08 + 10 * 0.11) / 40
    assert served_mbit(least_s, 0.08, 0.11) == pytest.approx(40)
    assert bound_mbps(scenario()) == pytest.approx(40 / least_s, rel=1e-5)


def test_an_upload_asks_nothing_and_ends_with_an_answer() -> None:
    least_s = (40 / CONTENT + 30 * 0.06 + 10 * 0.09) / 40 + 0.02
    assert bound_mbps(scenario(workload=Upload(size_mb=5))) == pytest.approx(40 / least_s, rel=1e-5)


def test_a_download_for_a_time_has_what_arrives_in_it() -> None:
    timed = scenario(workload=dc.Download(duration_s=2))
    assert bound_mbps(timed) == pytest.approx(served_mbit(2, 0.08, 0.11) / 2)


def test_a_distant_server_delays_the_handshake_and_the_answer() -> None:
    """Four ways of 10 ms more: two of the handshake, the request's and the answer's."""
    least_s = (40 / CONTENT + 30 * 0.12 + 10 * 0.15) / 40
    assert bound_mbps(scenario(server_delay_ms=10)) == pytest.approx(40 / least_s, rel=1e-5)


def test_nothing_passes_in_an_outage() -> None:
    """Leg 1 is down from 0.5 to 1.0 s, while leg 2 carries 5 Mbit; 15 Mbit wait for it."""
    least_s = (40 / CONTENT + 30 * 0.08 + 10 * 0.11 + 15) / 40
    silent = scenario({"outages": [[0.5, 1.0]]}, {})
    assert bound_mbps(silent) == pytest.approx(40 / least_s, rel=1e-5)


def test_a_trace_counts_from_when_the_client_connects() -> None:
    late = scenario({"outages": [[0.5, 1.0]]}, {})
    assert bound_mbps(late, 1.0) == pytest.approx(bound_mbps(scenario()) or 0)


def test_losses_take_their_mean_less_four_deviations() -> None:
    """Of 10,000 packets 1 % are lost, at the least 100 - 4 * sqrt(99) = 60."""
    lossy = scenario({"loss_percent": 1, "rate_mbps": 120, "delay_ms": 0}, {"rate_mbps": 1e-3},
                     workload=dc.Download(duration_s=1))  # fmt: skip
    assert bound_mbps(lossy) == pytest.approx(CONTENT * (120 - 0.012 * 60.2), rel=1e-5)


def test_failed_transmissions_of_rlc_take_their_share() -> None:
    radio = {"rlc": {"mode": "am", "block_error_percent": 20}}
    timed = dc.Download(duration_s=2)
    whole, less = (bound_mbps(scenario(leg, {}, workload=timed)) or 0 for leg in ({}, radio))
    assert less == pytest.approx(whole - 0.2 * CONTENT * 30 * (2 - 0.08) / 2)


@pytest.mark.parametrize("mode", ["sc", "dc", "dc-duplicate"])
def test_the_way_does_not_matter(mode: Any) -> None:
    assert bound_mbps(scenario(mode=mode)) == bound_mbps(scenario())


@pytest.mark.parametrize(
    "fields",
    [
        {"workload": dc.RequestResponse(count=3)},
        {"workload": Both(size_mb=1)},
        {"mode": "flows", "flows": [{"mode": "dc"}, {"mode": "dc"}]},
        {"workload": dc.Download(size_mb=1000), "timeout_s": 10},
    ],
    ids=["requests", "both ways", "two flows", "more than time allows"],
)
def test_what_has_no_bound(fields: dict[str, Any]) -> None:
    assert bound_mbps(scenario(**fields)) is None


LEGS = st.fixed_dictionaries(
    {
        "rate_mbps": st.floats(1, 40),
        "delay_ms": st.floats(0, 60),
        "jitter_ms": st.sampled_from([0, 0, 3]),
        "loss_percent": st.sampled_from([0, 0, 0.5, 3]),
        "queue_packets": st.integers(5, 200),
        "rlc": st.sampled_from([None, None, {"mode": "am"}]),
        "outages": st.sampled_from([(), [[0.1, 0.5]]]),
    }
)
WAYS: list[dict[str, Any]] = [
    {"mode": "sc", "leg": 2},
    *({"mode": "dc", "dual": name} for name in ("papers", "deployable", "ideal")),
    {"mode": "multipath"},
]
STACKS = {
    "picoquic": ("quic-picoquic", "mpquic-picoquic"),
    "noq": ("quic-noq", "mpquic-noq"),
    "aioquic": ("quic", "mpquic-picoquic"),  # it has no multipath
    "Linux": ("tcp", "mptcp"),
}


def run(base: dc.Scenario, way: dict[str, Any], stack: str) -> dc.Run:
    single, several = STACKS[stack]
    if way["mode"] == "multipath":
        return dc.run(base.evolve(mode="multipath", transport=several))
    base = base.evolve(transport=single)
    if "dual" in way:
        return dc.run(base.with_dc(way["dual"]))
    return dc.run(base.evolve(**way))


@needs_picoquic
@needs_noq
@needs_guest
@settings(max_examples=12, deadline=None)
@given(
    st.tuples(LEGS, LEGS),
    st.sampled_from([dc.Download(size_mb=0.1), dc.Download(size_mb=1), Upload(size_mb=0.5)]),
    st.sampled_from([*product(WAYS, STACKS)]),
    st.sampled_from([0, 15]),
)
def test_no_run_is_above_the_bound(
    legs: Any, workload: Any, way: tuple[dict[str, Any], str], server_ms: float
) -> None:
    base = scenario(*legs, workload=workload, server_delay_ms=server_ms, timeout_s=120)
    ran = run(base, *way)
    if ran.status == "ok":
        assert 0 < (ran.goodput_mbps or 0) <= ran.result.measures["bound_mbps"]
