"""What stands on the page as an address, a command line, a program, a file, and scenarios."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
import yaml

import minitopo_dc as dc
from minitopo_dc.cli import entry
from minitopo_dc.cli.explore.form import START, Form, place_of
from minitopo_dc.cli.options.rows import base_scenario, compared_ways
from minitopo_dc.scenario import Scenario

SHORT = "?legs=40,30&delay=10,40&size=0.5&transports=quic-picoquic,mpquic-picoquic&repetitions=2"
FULL = (
    "?legs=lte-20,7.5&delay=8/9,20ms&jitter=0&loss=0.5&queue=50,100&dc=deployable,ideal&xn=10"
    "&workload=upload:size_mb=0.5&transports=quic-picoquic,mpquic-picoquic&modes=sc,dc,multipath"
    "&congestion-control=newreno&seed=7&repetitions=2&set=pdcp.sn_bits=12&set=statistics_ms=10"
)
of_forms = pytest.mark.parametrize("query", [SHORT, FULL], ids=["short", "full"])


def form_of(query: str) -> Form:
    form = Form.of_query(query)
    assert form is not None
    return form


def parsed(command: str, *words: str) -> argparse.Namespace:
    return entry.parser().parse_args([command, *words])


@of_forms
def test_an_address_says_all_that_stands_on_the_page(query: str) -> None:
    assert form_of(form_of(query).query()) == form_of(query)


def test_an_address_with_another_option_is_refused_and_one_without_says_nothing() -> None:
    with pytest.raises(dc.InputError, match=r"^output: allowed: legs, "):
        Form.of_query("?output=/tmp/x")
    assert Form.of_query("") is None
    with pytest.raises(dc.InputError, match=r"^plugin: allowed: legs, "):
        Form.of_query("?plugin=evil.py")


@of_forms
def test_the_command_line_compares_the_same_ways(query: str) -> None:
    form = form_of(query)
    arguments = parsed("compare", *form.command().split()[2:])
    assert compared_ways(arguments, base_scenario(arguments)) == form.ways()
    seeds = range(arguments.seed, arguments.seed + arguments.repetitions)
    assert [*seeds] == form.seeds()


@of_forms
def test_the_program_compares_the_same_ways(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, Any]] = []
    monkeypatch.setattr(dc, "compare", lambda ways, seeds: calls.append((ways, seeds)))
    form = form_of(query)
    exec(form.python(), {})
    assert calls == [(form.ways(), form.seeds())]


@of_forms
def test_the_yaml_is_the_first_scenario_over_dual_connectivity(query: str) -> None:
    form = form_of(query)
    duals = (way for way in form.ways().values() if way.mode == "dc")
    assert Scenario.check(yaml.safe_load(form.yaml()), "page") == next(duals)


def test_a_command_line_begins_with_an_open_network_unless_it_names_legs() -> None:
    assert Form.of(parsed("explore")).words["legs"] == START["legs"]
    assert Form.of(parsed("explore")).words["delay"] == START["delay"]
    named = Form.of(parsed("explore", "--legs", "40", "30", "--seed", "3"))
    assert "delay" not in named.words
    assert named.words["seed"] == ("3",)


@pytest.mark.parametrize(
    "legs",
    [
        [dc.Leg(rate_mbps=12, delay_ms=7, loss_percent=0.1), dc.Leg(rate_mbps=80)],
        [dc.lte(20), dc.nr()],
        [dc.Leg(rate_mbps=20, uplink={"rate_mbps": 3}), dc.Leg(wifi={})],
    ],
    ids=["rates", "carriers", "others"],
)
@pytest.mark.parametrize("name", ["papers", "deployable", "ideal"])
def test_a_scenario_s_options_make_it_again(legs: list[dc.Leg], name: Any, tmp_path: Path) -> None:
    base = Scenario(
        legs=legs,
        transport="quic-picoquic",
        mode="dc",
        clock="virtual",
        primary_leg=2,
        statistics_ms=10,
        workload=dc.Download(size_mb=3),
        options={"receive_buffer_bytes": 1 << 25},
    ).with_dc(name, xn_ms=7)
    base.save(tmp_path / "scenario.yaml")
    line = parsed("explore", "--scenario", str(tmp_path / "scenario.yaml"))
    assert base in Form.of(line).ways().values()
    assert base in Form.of_values(base, {}).ways().values()


def test_values_of_python_are_options() -> None:
    legs = [dc.Leg(rate_mbps=20, delay_ms=30), dc.Leg(rate_mbps=80)]
    form = Form.of_values(legs, {"size": 0.5, "congestion_control": "bbr"})
    assert form.words["size"] == ("0.5",)
    assert next(iter(form.ways().values())).legs == tuple(legs)
    with pytest.raises(dc.InputError, match=r"^size_mb: allowed: "):
        Form.of_values(None, {"size_mb": 1})


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"delay": ["10", "-3"]}, ("delay", 1), r"delay_ms: -3; allowed: 0 to 3,600,000 ms"),
        ({"delay": ["10", "3x"]}, ("delay", None), "--delay: 3x is no number"),
        ({"legs": ["1e9", "30"]}, ("legs", 0), "allowed: 1e-06 to 1,000,000 Mbit/s"),
        ({"legs": ["nr-tdd-7", "30"]}, ("legs", 0), "bandwidth_mhz: 7; allowed: 10, "),
        ({"loss": ["0", "101"]}, ("loss", 1), "allowed: 0 to 100 %"),
        ({"queue": ["0", "1"]}, ("queue", 0), "queue_packets: 0; allowed: 1 to"),
        ({"size": ["x"]}, ("size", None), "--size: x is no number"),
        ({"xn": ["-1"]}, ("xn", None), "allowed: 0 to 3,600,000 ms"),
        ({"repetitions": ["x"]}, ("repetitions", None), "--repetitions: "),
        ({"set": ["pdcp.t_reordering_ms=37"]}, ("pdcp.t_reordering_ms", None), "must be one of"),
        ({"set": ["mode=sc"]}, ("set", None), "--set mode: the command chooses it"),
    ],
)
def test_a_wrong_entry_is_one_line_whose_field_is_known(
    changes: dict[str, list[str]], place: tuple[str, int | None], words: str
) -> None:
    with pytest.raises(dc.InputError, match=words) as told:
        form_of(SHORT).changed(**changes).ways()
    assert "\n" not in str(told.value)
    assert place_of(str(told.value)) == place
