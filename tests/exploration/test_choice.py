"""What is chosen on the page as scenarios, and as the words to take away."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
import yaml

import minitopo_dc as dc
from minitopo_dc.cli.commands import COMMANDS
from minitopo_dc.cli.options.rows import base_scenario, over_each_leg, rows
from minitopo_dc.exploration.choice import Choice, LegChoice
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.presets import FIELDS
from minitopo_dc.ways import scenario_of_row

PLAIN = Choice()
FULL = Choice(
    legs=(
        LegChoice(trace="lte_a", delay_ms=30, jitter_ms=0, loss_percent=0.5),
        LegChoice(rate_mbps=7.5, delay_ms=20, queue_packets=50),
    ),
    size_mb=0.5,
    congestion_control="newreno",
    dc="batch",
    t_reordering_ms="40",
    others="pdcp.sn_bits=12 legs.1.uplink.rate_mbps=5",
    seed=7,
    seeds=2,
)
NAMED = replace(FULL, dc="deployable", xn_ms=10)
of_choices = pytest.mark.parametrize("choice", [PLAIN, FULL, NAMED], ids=["plain", "full", "named"])


def dumps(scenarios: Iterable[Scenario]) -> list[str]:
    """Return scenarios in one order, without default options, and bearers that none has."""
    rows = [scenario.model_dump(mode="json") | {"options": {}} for scenario in scenarios]
    return sorted(
        str({name: row[name] for name in row if row["mode"] == "dc" or name not in FIELDS})
        for row in rows
    )


def test_ways_are_each_leg_alone_dc_and_multipath() -> None:
    ways = PLAIN.ways()
    assert [*ways] == ["leg 1", "leg 2", "DC", "MP-QUIC"]
    assert [(way.mode, way.leg) for way in ways.values()] == [
        *(("sc", 1), ("sc", 2), ("dc", 1), ("multipath", 1))
    ]
    with_kernel = [*replace(PLAIN, kernel=True).ways()]
    assert with_kernel[4:] == ["leg 1 (TCP)", "leg 2 (TCP)", "DC (TCP)", "MPTCP"]


@of_choices
def test_the_yaml_is_the_scenario_over_dual_connectivity(choice: Choice) -> None:
    assert Scenario.check(yaml.safe_load(choice.yaml()), "page") == choice.ways()["DC"]


@of_choices
def test_the_program_compares_the_same_ways(
    choice: Choice, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, Any]] = []
    monkeypatch.setattr(dc, "compare", lambda ways, seeds: calls.append((ways, seeds)))
    exec(choice.python(), {})
    assert calls == [(choice.ways(), choice.seed_numbers())]


@of_choices
def test_the_command_compares_the_same_ways(choice: Choice) -> None:
    parser = argparse.ArgumentParser()
    COMMANDS["compare"][1](parser)
    arguments = parser.parse_args(choice.command().split()[2:])
    base = base_scenario(arguments)
    wanted = over_each_leg(rows(arguments, base), base)
    scenarios = [scenario_of_row(base, row) for row in wanted]
    seeds = range(base.seed, base.seed + arguments.repetitions)
    planned = [scenario.evolve(seed=seed) for scenario in scenarios for seed in seeds]
    mine = [
        way.evolve(seed=seed) for way in choice.ways().values() for seed in choice.seed_numbers()
    ]
    assert dumps(planned) == dumps(mine)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"t_reordering_ms": "37"},
            r"pdcp\.t_reordering_ms: t-Reordering 37\.0 ms: must be one of",
        ),
        ({"others": "pdcp.foo=3"}, r"pdcp\.foo: unknown field; "),
        ({"others": "pdcp.batch"}, r"pdcp\.batch: allowed: FIELD=VALUE"),
        ({"others": "mode=sc"}, r"mode: the page chooses it"),
        ({"others": "legs.5.delay_ms=3"}, r"legs\.5\.delay_ms: 5 is no index here"),
        ({"others": "seed=!x"}, "seed=!x: could not determine a constructor"),
        ({"others": "seed={[1]:2}"}, "seed=.*: found unhashable key"),
        ({"others": "seed=\x07"}, r"seed='\\x07': not YAML"),
        ({"t_reordering_ms": "2001-13-41"}, r"pdcp\.t_reordering_ms=.*: .* is no timestamp"),
        ({"others": "ip_version=5"}, r"ip_version: 5; allowed: 4 or 6"),
    ],
)
def test_a_wrong_entry_is_one_line_that_names_the_field(change: dict[str, Any], words: str) -> None:
    with pytest.raises(dc.InputError, match=words) as told:
        replace(PLAIN, **change).ways()
    assert "\n" not in str(told.value)


def test_a_leg_is_chosen_as_it_was_made_unless_it_has_more_than_sliders_have() -> None:
    leg = dc.Leg(rate_mbps=12, delay_ms=7, loss_percent=0.1)
    choice = LegChoice.of(leg, "legs.0")
    assert dc.Leg(**choice.settings()) == leg
    with pytest.raises(dc.InputError, match=r"legs\.1: more than the sliders have"):
        LegChoice.of(leg.evolve(uplink={"rate_mbps": 3}), "legs.1")
