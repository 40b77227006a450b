"""The native core and the Python one: every file of a run is the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from minitopo_dc.native import library
from minitopo_dc.pdcp import LegView, split_policy
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.virtual.run import run_virtual
from tests.linux_guest.guests import needs_guest
from tests.native.extension import needs_native
from tests.quic.extension import needs_picoquic
from tests.virtual.scenarios import leg, scenario

LATE = {
    "split": "least-delay",
    "numbering": "late",
    "t_reordering_ms": "adaptive",
    "legs_keep_order": True,
}
STEP: dict[str, Any] = {"queue_discipline": "step", "queue_parameters": {"threshold_ms": 5}}
FAR = leg(delay_ms=40)
SLOW = leg(rate_mbps=6, delay_ms=30, loss_percent=0.5)
XN = {"backhaul_ms": [0, 5], "jitter_ms": 2, "rate_mbps": 50, "loss_percent": 0.2}
AM = leg(
    rlc={"block_error_percent": 30, "harq_retransmissions": 1},
    changes=[{"at_s": 0.2, "block_error_percent": 50, "delay_ms": 20}],
)
UM = leg(
    rlc={"mode": "um", "in_order": False, "block_error_percent": 20, "discard_ms": 100},
    loss_percent=0.1,
    outages=[[0.1, 0.3]],
)
MARKED: list[dict[str, Any]] = [
    {"legs": [leg(rate_mbps=10, **STEP)] * 2},
    {"pdcp": {"mark_above_ms": 5}},
]
STEERED: list[dict[str, Any]] = [
    *({}, {"pdcp": {"split": "redundant"}}, {"server_delay_ms": 20}),
    {"transport": "mpquic-picoquic", "server_delay_ms": 20},
]
SCENARIOS: dict[str, dict[str, Any]] = {
    "batch": {"pdcp": {"batch": 10, "ratio": [7, 3]}},
    "losses": {"legs": [leg(loss_percent=1), leg(burst_loss={"p": 0.005, "r": 0.3})]},
    "one leg": {"mode": "sc", "congestion_control": "cubic"},
    "multipath": {"mode": "multipath", "transport": "mpquic-picoquic"},
    "least-delay": {"pdcp": LATE, "legs": [leg(), SLOW], "split_uplink": True},
    "proportional": {
        "pdcp": {"split": "proportional", "report_ms": 20, "numbering": "late"},
        "legs": [leg(), SLOW],
    },
    "threshold": {"pdcp": {"split": "threshold"}, "legs": [leg(), SLOW]},
    "bandit": {
        "pdcp": {"split": "bandit", "report_ms": 10, "parameters": {"epoch_ms": 50}},
        "legs": [leg(), SLOW],
        "split_uplink": True,
    },
    "own policy": {
        "pdcp": {"split": "test-cores-own", "numbering": "late", "report_ms": 10},
        "legs": [leg(outages=[[0.1, 0.15]]), SLOW],
        "virtual": {"processing_delay_ms": 1},
    },
    "duplicate": {
        "mode": "dc-duplicate",
        "legs": [leg(reorder=True, jitter_ms=5), SLOW],
        "virtual": {"packet_trace": True},
    },
    "outages": {"pdcp": LATE, "legs": [leg(outages=[[0.1, 0.3]]), leg()]},
    "opportunities": {"legs": [{"downlink": {"trace": "opportunities.mahi"}}, leg()]},
    "AM": {"pdcp": LATE, "legs": [AM, SLOW], "split_uplink": True},
    "AM alone": {"mode": "sc", "legs": [AM]},
    "UM": {"pdcp": {"split": "least-delay"}, "legs": [UM, AM]},
    "UM alone": {"mode": "sc", "legs": [UM]},
    "flows": {"mode": "flows", "flows": [{"mode": "dc"}, {"mode": "sc", "leg": 2}]},
    "aioquic": {"transport": "quic", "virtual": {"processing_delay_ms": 1, "packet_trace": True}},
    "backhaul": {
        "pdcp": LATE | {"flow_control": {"backhaul_ms": 10, "status_bytes": 6000}},
        "legs": [leg(outages=[[0.1, 0.15]]), SLOW],
    },
    "backhaul and early numbers": {
        "pdcp": {"split": "proportional", "flow_control": XN, "discard_timer_ms": 100},
        "legs": [leg(), SLOW],
        "split_uplink": True,
    },
    "credit": {"pdcp": {"split": "credit", "flow_control": XN}, "legs": [leg(), SLOW]},
    "batch and backhaul": {"pdcp": {"batch": 10, "flow_control": XN}, "legs": [leg(), SLOW]},
    "key frames": {
        "pdcp": LATE,
        "workload": {"kind": "realtime", "duration_s": 1, "key_frame_dscp": 46},
    },
    **{
        f"marks {mode} {number}": {"mode": mode, "options": {"ecn": True}, **fields}
        for number, fields in enumerate(MARKED)
        for mode in ("dc", "dc-duplicate")
    },
    **{
        f"ATSSS {number}": {"mode": "atsss", "legs": [FAR, leg()], **fields}
        for number, fields in enumerate(STEERED)
    },
    "requests": {"workload": {"kind": "request-response"}, "pdcp": LATE | {"discard_timer_ms": 50}},
}
IN_GUESTS: dict[str, dict[str, Any]] = {
    "dc": {
        "transport": "tcp",
        "pdcp": LATE,
        "legs": [leg(), SLOW],
        "virtual": {"client_cpu_us_per_packet": 50, "packet_trace": True},
    },
    "mptcp": {"transport": "mptcp", "mode": "multipath", "legs": [leg(), SLOW]},
    "beside quic": {
        "mode": "flows",
        "flows": [{"mode": "dc", "transport": "tcp"}, {"mode": "sc", "leg": 2}],
    },
}


@split_policy("test-cores-own")
class Own:
    """A user's policy: both legs for small packets, else the shorter queue that takes it."""

    sees_legs: ClassVar[bool] = True

    def __init__(self, legs: int, *, lasts: int = 10**9) -> None:
        self._all = tuple(range(legs))
        self._left = lasts

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        self._left -= 1
        if self._left < 0:
            raise LookupError("no leg comes to mind")
        reports = [view.report for view in views if view.report is not None]
        if size < 100 or any(report.lost_pdus % 3 == 1 for report in reports):
            return self._all
        able = [leg for leg in self._all if views[leg].takes(now=now, size=size)]
        able = able if views[0].may_wait else able or [0]
        return tuple(sorted(able, key=lambda leg: views[leg].backlog_bytes(now=now))[:1])


def run(directory: Path, core: str, **fields: Any) -> RunResult:
    virtual = {**fields.pop("virtual", {}), "core": core}
    common = {"transport": "quic-picoquic", "workload": {"size_mb": 0.5}, "options": {}}
    return run_virtual(scenario(**{**common, **fields}, virtual=virtual), directory)


def files(directory: Path) -> dict[str, bytes]:
    """All that a run has written, but for where it is and what says the core."""
    found = {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != "scenario.yaml"
    }
    result = json.loads(found["result.json"])
    del result["details"]["core"], result["directory"]
    return {**found, "result.json": json.dumps(result).encode()}


@needs_native
@needs_picoquic
@pytest.mark.parametrize("name", SCENARIOS)
def test_both_cores_write_the_same(name: str, tmp_path: Path) -> None:
    fields = SCENARIOS[name]
    if name == "opportunities":
        trace = tmp_path / "opportunities.mahi"
        trace.write_text("".join(f"{time}\n" for time in range(1, 1000) if time % 3))
        fields = {"legs": [{"downlink": {"trace": str(trace)}}, leg()]}
    check_equality(fields, tmp_path)


@needs_native
@needs_picoquic
@pytest.mark.parametrize("numbering", ["early", "late"])
@pytest.mark.parametrize("lasts", [0, 1, 300])
def test_an_error_of_a_policy_ends_the_run_alike(
    numbering: str, lasts: int, tmp_path: Path
) -> None:
    pdcp = {"split": "test-cores-own", "numbering": numbering, "parameters": {"lasts": lasts}}
    results = [run(tmp_path / core, core, pdcp=pdcp) for core in ("python", "native")]
    assert [each.status for each in results] == ["failed", "failed"]
    assert "LookupError: no leg comes to mind" in str(results[0].reason)
    assert files(tmp_path / "native") == files(tmp_path / "python")
    assert results[1].details["core"] == "native"


@needs_native
@needs_guest
@pytest.mark.parametrize("name", IN_GUESTS)
def test_both_cores_carry_a_guest_s_packets_alike(name: str, tmp_path: Path) -> None:
    check_equality(IN_GUESTS[name], tmp_path)


def check_equality(fields: dict[str, Any], tmp_path: Path) -> None:
    results = [run(tmp_path / core, core, **fields) for core in ("python", "native")]
    assert [result.status for result in results] == ["ok", "ok"], results
    assert [each.details["core"] for each in results] == ["python: the scenario says so", "native"]
    python, native = (files(tmp_path / core) for core in ("python", "native"))
    assert sorted(python) == sorted(native)
    for file, content in python.items():
        assert native[file] == content, file


@needs_native
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"legs": [{"wifi": {}}, leg()]}, "leg 1 has wifi"),
        ({"pdcp": {"data_recovery": True, "report_ms": 20}}, "pdcp has data_recovery"),
    ],
)
def test_what_the_native_core_lacks_runs_on_the_other_and_is_told(
    fields: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    small = {"transport": "quic", "workload": {"size_mb": 0.05}} | fields
    assert run(tmp_path / "auto", "auto", **small).details["core"] == f"python: {reason}"
    refused = run(tmp_path / "native", "native", **small)
    assert (refused.status, refused.reason) == (
        "unsupported",
        f"core native: {reason}; allowed: auto, python",
    )


def test_where_it_is_not_built_runs_are_python_s_and_say_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(library.OTHER, raising=False)
    monkeypatch.setattr("minitopo_dc.extension.checkout", lambda: None)
    monkeypatch.setattr("minitopo_dc.extension._LOADED", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = run(tmp_path / "run", "auto", transport="quic", workload={"size_mb": 0.05})
    assert result.details["core"] == (
        "python: the native core is not built (get it: minitopo-dc build native)"
    )
