"""Scenarios: what is refused, what they plan, and that files come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.ranges import MAX_SEED
from minitopo_dc.runs.element_settings import router_settings
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.drawing import UNUSED, USED
from minitopo_dc.ways import ways_of

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
DUPLICATED: dict[str, Any] = {"pdcp": {"split": "duplicate"}}
GOOD: dict[str, Any] = {"transport": "tcp", "mode": "dc", "legs": [LEG, LEG]}


@pytest.mark.parametrize("mode", ["sc", "dc-duplicate"])
def test_duplication_is_no_error_where_the_mode_says_so_or_nothing_is_split(mode: str) -> None:
    assert Scenario.check(GOOD | DUPLICATED | {"mode": mode}, "test").mode == mode


def test_a_missing_file_trace_or_bracket_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml: No such file"):
        Scenario.load(tmp_path / "none.yaml")
    (tmp_path / "s.yaml").write_text("transport: tcp\nlegs: [\n")
    with pytest.raises(SettingsError, match=r"s\.yaml:3: "):
        Scenario.load(tmp_path / "s.yaml")
    leg = {"downlink": {"trace": "/none/trace.csv"}}
    with pytest.raises(SettingsError, match=r"trace /none/trace\.csv: No such file"):
        Scenario.check(GOOD | {"legs": [LEG, leg]}, "test").read_traces()


directions = st.fixed_dictionaries(
    {"rate_mbps": st.floats(0.1, 1000)},
    optional={
        "delay_curve": st.just("power"),
        "rlc": st.just({"mode": "um", "discard_ms": 10}),
        "queue_ms": st.just(30),
        "burst_loss": st.just({"p": 0.1, "r": 0.5}),
        "changes": st.just([{"at_s": 1, "rate_mbps": 0.5}]),
        "outages": st.just([[1, 2]]),
    },
)
radios = st.fixed_dictionaries(
    {"downlink": directions}, optional={"uplink": directions, "outages": st.just([[3, 4.5]])}
)
mediums = st.fixed_dictionaries({"wifi": st.just({"hops": 2})})
waiting = {"numbering": "late", "buffer_packets": 9, "discard_timer_ms": 100}
pdcps = st.builds(
    lambda fields, waiting: fields | waiting,
    st.fixed_dictionaries(
        {"t_reordering_ms": st.sampled_from([0, 1, 200, 3000, "infinity", "adaptive"])},
        optional={
            "legs": st.just([2, 1]),
            "report_ms": st.just(7),
            "duplication": st.sampled_from([{"below_bytes": 300}, {"loss_percent": 2}]),
            "flow_control": st.just({"backhaul_ms": 5}),
            "legs_keep_order": st.just(True),
            "data_recovery": st.just(True),
            "leg_failure_ms": st.just(100),
        },
    ),
    st.sampled_from([{}, waiting]),
)
LEFT_OUT = ("duplication", "flow_control", "legs_keep_order", "data_recovery", "numbering", "rlc")


@given(
    st.lists(radios | mediums, min_size=2, max_size=4),
    pdcps,
    st.integers(-MAX_SEED, MAX_SEED),
    st.none() | st.fixed_dictionaries({"split": st.sampled_from(["duplicate", "least-delay"])}),
)
def test_a_scenario_comes_back_from_its_file_which_has_new_fields_only_where_given(
    tmp_path_factory: pytest.TempPathFactory,
    legs: list[dict[str, Any]],
    pdcp: dict[str, Any],
    seed: int,
    uplink: dict[str, Any] | None,
) -> None:
    values = GOOD | {"legs": legs, "seed": seed, "pdcp": pdcp, "split_uplink": True}
    values |= {} if uplink is None else {"uplink_pdcp": uplink}
    scenario, path = Scenario.check(values, "test"), tmp_path_factory.getbasetemp() / "s.yaml"
    scenario.save(path)
    assert Scenario.load(path) == scenario
    text = path.read_text(encoding="utf-8")
    assert {name for name in LEFT_OUT if f"{name}:" in text} == {
        name for name in LEFT_OUT if f"'{name}':" in str(values)
    }
    assert ("uplink_pdcp:" in text) == (uplink is not None)


def test_each_leg_of_a_run_has_a_seed_of_its_own(tmp_path: Path) -> None:
    scenario = Scenario.check(GOOD | {"seed": 7, "mode": "dc"}, "test")
    hosts = router_settings(scenario, tmp_path)
    assert len({leg.seed for host in hosts for leg in host.legs}) == 4


def test_rows_of_a_comparison_are_named_by_what_sets_them_apart() -> None:
    legs = [{"downlink": {"rate_mbps": 9}}] * 2
    base: dict[str, Any] = {"transport": "quic", "mode": "dc", "legs": legs, "clock": "virtual"}
    rows: list[dict[str, Any]] = [
        base | {"pdcp": {"split": "batch"}},
        base | {"pdcp": {"split": "least-delay"}},
        base | {"pdcp": {"split": "least-delay", "t_reordering_ms": 50}},
        base | {"mode": "sc"},
    ]
    assert [*ways_of([Scenario.check(row, "test") for row in rows])] == [
        "leg 1",
        "DC (batch, t-Reordering 200 ms)",
        "DC (least-delay, t-Reordering 200 ms)",
        "DC (least-delay, t-Reordering 50 ms)",
    ]
    controls = [rows[3] | {"congestion_control": name} for name in ("reno", "cubic")]
    assert [*ways_of([Scenario.check(row, "test") for row in controls])] == [
        "leg 1 (congestion_control reno)",
        "leg 1 (congestion_control cubic)",
    ]


@pytest.mark.parametrize(
    ("transports", "names"),
    [
        (("quic-picoquic", "tcp"), ["leg 1 (QUIC)", "leg 1 (TCP)"]),
        (("quic", "quic-picoquic"), ["leg 1 (quic)", "leg 1 (quic-picoquic)"]),
        (("quic",), ["leg 1"]),
        (("icmp",), ["each leg alone"]),
    ],
)
def test_ways_are_named_by_their_transport_where_there_are_several(
    transports: tuple[str, ...], names: list[str]
) -> None:
    base = Scenario.check(GOOD | {"mode": "sc"}, "test")
    made = [base.model_copy(update={"transport": name}) for name in transports]
    assert [*ways_of(made)] == names


def test_kernel_settings_of_a_clock_stay_and_go_to_the_other_only_where_that_has_none() -> None:
    buffers, memory = {"net.ipv4.tcp_rmem": "1 2 3"}, {"net.ipv4.tcp_wmem": "1 2 3"}
    both = {"real": {"sysctl": buffers}, "virtual": {"sysctl": memory}, "clock": "virtual"}
    scenario = Scenario.check(GOOD | both, "x")
    assert scenario.on_clock("virtual") == scenario
    assert scenario.on_clock("real").real.sysctl == buffers
    moved = Scenario.check(GOOD | both | {"real": {}}, "x").on_clock("real")
    assert (moved.real.sysctl, moved.virtual.sysctl) == (memory, {})


def test_captures_of_end_hosts_go_to_the_other_clock_and_those_of_legs_do_not() -> None:
    captured = {"real": {"capture": ["legs", "client"]}}
    moved = Scenario.check(GOOD | captured | {"clock": "real"}, "x").on_clock("virtual")
    assert (moved.virtual.capture, moved.real.capture) == (("client",), ())


def test_a_scenario_shows_itself_as_a_drawing_of_its_legs() -> None:
    drawing = Scenario.model_validate(
        {
            "legs": [{"rate_mbps": 20, "delay_ms": 30}, {"rate_mbps": 80, "loss_percent": 0.1}],
            "transport": "a<b",
            "mode": "sc",
            "workload": {"size_mb": 3},
        }
    )._repr_html_()
    words = [element.text for element in ElementTree.fromstring(drawing).iter() if element.text]
    assert words == [
        *("a<b, sc: download, size_mb 3.0", "leg 1: 20 Mbit/s, 30 ± 1 ms"),
        *("leg 2: 80 Mbit/s, 10 ± 1 ms, loss 0.1 %", "server", "client"),
    ]
    assert (drawing.count(USED), drawing.count(UNUSED)) == (1, 1)
