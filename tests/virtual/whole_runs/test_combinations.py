"""Whatever of Dual Connectivity is combined: a run ends well, or is refused in clear words."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.pdcp import PolicyError
from minitopo_dc.pdcp.policies.policy import policy_names
from minitopo_dc.virtual.run import run_virtual
from tests.quic.extension import needs_picoquic
from tests.virtual.scenarios import leg, scenario

pytestmark = needs_picoquic
SPLITS = ["batch", "least-delay", "proportional", "threshold", "bandit", "credit", "duplicate"]
NUMBERING: list[dict[str, Any]] = [
    {},
    {"numbering": "late"},
    {"numbering": "late", "discard_timer_ms": 100, "buffer_packets": 50},
]
DUPLICATION: list[dict[str, Any]] = [
    {},
    {"duplication": {"packets": ["handshake", "ack"], "deadline_ms": 30}},
    {"duplication": {"loss_percent": 1}},
]
RECOVERY: list[dict[str, Any]] = [{}, {"report_ms": 10}, {"report_ms": 10, "data_recovery": True}]
FLOW_CONTROL: list[dict[str, Any]] = [
    {},
    {"flow_control": {}},
    {"flow_control": {"backhaul_ms": [0, 5]}},
]
RADIO: list[dict[str, Any]] = [{}, {"rlc": {"mode": "am"}}, {"rlc": {"mode": "um"}}]
UPLINK: list[dict[str, Any]] = [
    {},
    {"split_uplink": True},
    {"split_uplink": True, "uplink_pdcp": {"split": "least-delay", "numbering": "late"}},
]
LEGS: list[dict[str, Any]] = [{}, {"legs": [3, 1]}]
OUTAGES: list[dict[str, Any]] = [{}, {"outages": [[0.05, 0.15]]}]
EVERY = list(
    product(*(SPLITS, NUMBERING, DUPLICATION, RECOVERY, FLOW_CONTROL, RADIO, UPLINK, LEGS, OUTAGES))
)
SOME = Random(1).sample(EVERY, 60)


def run(combination: tuple[Any, ...], directory: Path) -> str:
    """The run's status, or how it was refused."""
    split, numbering, duplication, recovery, control, radio, uplink, legs, outages = combination
    mode = "dc-duplicate" if split == "duplicate" else "dc"
    pdcp = {"split": "batch" if split == "duplicate" else split}
    pdcp |= numbering | duplication | recovery | control | legs
    down = leg(**radio)
    both = [down | outages, leg(rate_mbps=5, **radio), leg(**radio)]
    try:
        made = scenario(
            transport="quic-picoquic",
            workload={"size_mb": 0.3},
            mode=mode,
            pdcp=pdcp,
            legs=both[: 3 if legs else 2],
            **uplink,
        )
    except (SettingsError, PolicyError) as error:
        assert len(str(error).splitlines()) <= 2
        return "refused"
    result = run_virtual(made, directory)
    assert result.status == "ok", result.reason
    sent = json.loads((directory / "gnb-summary.json").read_text())["transmit"]["1"]
    assert sent["sdus"] > 0
    return "ok"


def test_every_split_policy_is_among_the_combinations() -> None:
    assert set(SPLITS) <= set(policy_names())


@pytest.mark.parametrize("number", range(len(SOME)))
def test_what_is_combined_ends_well_or_is_refused(number: int, tmp_path: Path) -> None:
    run(SOME[number], tmp_path / "run")
