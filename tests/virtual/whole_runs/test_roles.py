"""Roles of legs: the order in which legs are given changes nothing but their names."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.presets import NAMES
from minitopo_dc.virtual.run import run_virtual
from minitopo_dc.ways import compare, other_roles
from tests.linux_guest.guests import needs_guest
from tests.quic.extension import needs_picoquic
from tests.virtual.scenarios import scenario

pytestmark = [needs_picoquic, needs_guest]

WAYS: dict[str, dict[str, Any]] = {
    "papers": {"transport": "quic-picoquic", "mode": "dc"},
    "deployable": {"transport": "quic-picoquic", "mode": "dc"},
    "ideal": {"transport": "tcp", "mode": "dc"},
    "MP-QUIC": {"transport": "mpquic-picoquic", "mode": "multipath"},
    "MPTCP": {"transport": "mptcp", "mode": "multipath"},
    "ATSSS-LL": {"transport": "quic-picoquic", "mode": "atsss"},
    "ATSSS by MP-QUIC": {"transport": "mpquic-picoquic", "mode": "atsss"},
}
WORKLOADS: list[dict[str, Any]] = [
    {"kind": "download", "size_mb": 0.3},
    {"kind": "upload", "size_mb": 0.3},
]


def legs_of(seed: int) -> list[dict[str, Any]]:
    """Two random legs without losses and jitter, whose numbers are in the seeds of these."""
    random = Random(seed)
    return [
        {
            "downlink": {
                "rate_mbps": random.randint(5, 80),
                "delay_ms": random.randint(1, 60),
                "jitter_ms": 0,
                "queue_packets": random.choice([50, 200]),
            },
        }
        for _ in range(2)
    ]


def made(way: str, legs: list[dict[str, Any]], **fields: Any) -> Scenario:
    given = scenario(legs=legs, primary_leg="nearest", options={}, **(WAYS[way] | fields))
    return given.with_dc(way) if way in NAMES else given


def measured(result: RunResult, *, swapped: bool) -> tuple[Any, ...]:
    assert result.status == "ok", result.reason
    assert result.leg_bytes is not None
    legs = result.leg_bytes[::-1] if swapped else result.leg_bytes
    return result.completion_s, result.details.get("handshake_s"), legs


def check_order(way: str, seed: int, directory: Path) -> None:
    legs, workload = legs_of(seed), WORKLOADS[seed % len(WORKLOADS)]
    both = [
        measured(run_virtual(made(way, given, workload=workload), directory / name), swapped=swaps)
        for name, given, swaps in (("as given", legs, False), ("swapped", legs[::-1], True))
    ]
    assert both[0] == both[1], legs


@pytest.mark.parametrize("way", WAYS)
def test_swapped_legs_give_the_same_run(way: str, tmp_path: Path) -> None:
    check_order(way, 0, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 201))
def test_random_pairs_give_the_same_run_when_swapped(seed: int, tmp_path: Path) -> None:
    check_order([*WAYS][seed % len(WAYS)], seed, tmp_path)


def test_the_nearest_leg_that_is_up_is_the_primary_one() -> None:
    near, far = ({"rate_mbps": 10, "delay_ms": delay} for delay in (5, 50))
    assert scenario(legs=[far, near], primary_leg="nearest").leg_numbers == (2, 1)
    down = near | {"outages": [[0, 1]]}
    assert scenario(legs=[far, down], primary_leg="nearest").leg_numbers == (1, 2)


def test_the_primary_leg_splits_and_begins_the_connection() -> None:
    legs = [{"rate_mbps": 10, "delay_ms": 5}] * 3
    base = scenario(legs=legs, primary_leg=3)
    (bearer,) = base.evolve(mode="dc").resolved_flows
    assert (bearer.legs, bearer.uplink_legs) == ((3, 1, 2), (3, 1, 2))
    (paths,) = base.evolve(mode="multipath", transport="mpquic-picoquic").resolved_flows
    assert paths.paths is not None
    assert paths.paths.initial == (3, 1, 2)


def test_a_bearer_and_a_schedule_may_name_another_primary_leg() -> None:
    legs = [{"rate_mbps": 10, "delay_ms": 5}] * 2
    (bearer,) = scenario(legs=legs, primary_leg=2, pdcp={"legs": [1, 2]}).resolved_flows
    assert bearer.legs == (1, 2)
    several = {"mode": "multipath", "transport": "mpquic-picoquic", "paths": {"initial": [1, 2]}}
    (paths,) = scenario(legs=legs, primary_leg=2, **several).resolved_flows
    assert paths.paths is not None
    assert paths.paths.initial == (1, 2)


def test_a_named_dual_connectivity_is_derived_again_for_another_primary_leg() -> None:
    legs = [{"rate_mbps": 10, "delay_ms": 5}, {"rate_mbps": 10, "delay_ms": 90}]
    base = scenario(legs=legs, mode="dc").with_dc("deployable")
    other = base.evolve(primary_leg=2)
    assert other.pdcp == base.evolve(legs=legs[::-1]).pdcp
    assert other.dc_name == base.dc_name


@pytest.mark.parametrize("mode", [{"mode": "sc"}, {"mode": "multipath", "transport": "mptcp"}])
def test_a_named_dual_connectivity_is_derived_again_behind_another_mode(
    mode: dict[str, Any],
) -> None:
    near, far = ({"rate_mbps": 10, "delay_ms": delay} for delay in (5, 90))
    base = scenario(legs=[near, near], mode="dc", transport="tcp", options={})
    given = base.with_dc("deployable").evolve(**mode).evolve(legs=[near, far])
    again = given.evolve(mode="dc", transport="tcp")
    assert again == base.evolve(legs=[near, far]).with_dc("deployable")
    assert given.mode == mode["mode"]


def test_a_primary_leg_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"primary_leg: 3 .* allowed: 1 to 2, nearest"):
        scenario(legs=[{"rate_mbps": 10}] * 2, primary_leg=3)


def test_another_primary_leg_is_a_way_of_its_own_unless_the_legs_are_named() -> None:
    legs = [{"rate_mbps": 10, "delay_ms": 5}] * 2
    base = scenario(legs=legs, mode="dc")
    (name, other), *more = other_roles({"DC": base}).items()
    assert (name, other.leg_numbers, more) == ("DC; primary leg 2", (2, 1), [])
    assert not other_roles({"DC": base.evolve(pdcp={"legs": [1, 2]})})


@pytest.mark.slow
def test_both_orders_of_two_legs_have_one_answer() -> None:
    near, far = ({"rate_mbps": 60, "delay_ms": 8}, {"rate_mbps": 25, "delay_ms": 35})
    quiet = {"jitter_ms": 0}
    answers = []
    for legs, names in (([near, far], {"1": "1", "2": "2"}), ([far, near], {"1": "2", "2": "1"})):
        base = made(
            "deployable", [{"downlink": leg | quiet} for leg in legs], workload={"size_mb": 2}
        )
        several = base.evolve(transport="mpquic-picoquic", mode="multipath")
        found = compare({"DC": base, "MP-QUIC": several}, seeds=1, jobs=1, progress=False)
        said = "\n".join([*found.of_roles, found.findings[0].sentence])
        for number, name in names.items():
            said = said.replace(f"leg {number}", f"leg <{name}>")
        answers.append(said.replace("<", "").replace(">", ""))
    assert answers[0] == answers[1]
    assert answers[0].startswith("With leg 2 as the primary one (-")
