"""TCLink's parameters, and those a radio link has besides, as the settings of a leg."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mininet.link import Intf, TCIntf

from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import LegDirection
from minitopo_dc.topologies import element_process, radio_link
from minitopo_dc.topologies.element_process import TopologyError
from minitopo_dc.topologies.radio_link import radio_settings

TIMES = {"0.5s": 500, "2secs": 2000, "800us": 0.8, "7 usecs": 0.007, 0: 0, "0": 0}
"""As tc reads them, in ms."""


def leg(**parameters: Any) -> LegDirection:
    return LegDirection.check(radio_settings(parameters), "test")


def test_without_parameters_nothing_limits_a_link() -> None:
    plain = leg()
    assert (plain.rate_mbps, plain.delay_ms, plain.jitter_ms) == (1e6, 0, 0)
    assert plain.mean_loss_percent() == 0


def test_every_parameter_of_mininet_s_links_is_accepted_as_it_is_by_default() -> None:
    """And `use_htb`, which Mininet's examples name and its links ignore."""
    known = {"use_htb": True, "disable_gro": True}
    for function in (Intf.config, TCIntf.config, TCIntf.bwCmds, TCIntf.delayCmds):
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.default is not parameter.empty:
                known[name] = parameter.default
    own = {name: known.pop(name) for name in radio_link._FIELDS if name in known}
    interface = object.__new__(radio_link.RadioIntf)
    interface.name = "h1-eth0"
    interface._check_others(known)
    assert known.keys() == {"mac", "ip", "ifconfig", "up"}
    assert leg(**own) == leg()


@pytest.mark.parametrize("value", ["0.01:0.3", (0.01, 0.3), "0.01:0.3:0:1"])
def test_bursts_are_given_as_text_or_numbers(value: object) -> None:
    assert leg(burst_loss=value).mean_loss_percent() == pytest.approx(100 * 0.01 / 0.31)


def test_bursts_and_rlc_are_given_as_numpy_s_numbers() -> None:
    bursts = radio_settings({"burst_loss": numpy.array([0.25, 0.5])})["burst_loss"]
    assert bursts == {"p": 0.25, "r": 0.5}
    rlc = radio_settings({"rlc": {"block_error_percent": numpy.float64(10)}})["rlc"]
    assert json.dumps(rlc) == '{"block_error_percent": 10.0}'


@pytest.mark.parametrize(
    "parameters",
    [
        {"delay": 10},
        {"jitter": "3"},
        {"rlc": {"mode": object()}},
        {"bw": float("nan")},
        {"band": 3},
    ],
)
def test_what_the_process_would_misread_is_refused_by_name(parameters: dict[str, Any]) -> None:
    with pytest.raises(TopologyError, match=rf"{next(iter(parameters))}.*(: allowed|; known)"):
        radio_settings(parameters)


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"bw": -1}, "rate_mbps"),
        ({"delay": "9" * 400 + "ms"}, "delay_ms"),
        ({"delay": "\u0663ms"}, "delay_ms"),
        ({"max_queue_size": 1e300}, "queue_packets"),
        ({"max_queue_size": 40.5}, "queue_packets"),
        ({"jitter_model": 1}, "jitter"),
        ({"end": "stops"}, "end"),
        ({"trace": "a\0b"}, "trace"),
        ({"trace": "x", "trace_column": 3}, "trace_column"),
        ({"bw": 1, "trace": "x"}, "rate_mbps and trace"),
        ({"loss": 101}, "loss_percent"),
        ({"loss": 1, "burst_loss": "0.1:0.2"}, "loss_percent or burst_loss"),
        ({"burst_loss": "0.1"}, "burst_loss.r"),
        ({"burst_loss": [0, 0, 0, 0, 0]}, "burst_loss.4"),
    ],
)
def test_a_wrong_value_is_refused_by_the_process_by_its_field(
    parameters: dict[str, Any], field: str
) -> None:
    with pytest.raises(SettingsError, match=field):
        leg(**parameters)


@pytest.mark.parametrize(
    ("file", "environment"),
    [
        ("checkout/topologies/radio_link.py", "checkout/.venv"),
        ("env/lib/python3.11/site-packages/minitopo_dc/topologies/radio_link.py", "env"),
    ],
)
def test_the_process_runs_on_the_python_that_has_this_file(
    file: str, environment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(element_process, "HERE", tmp_path / file)
    assert element_process.interpreter() == sys.executable
    (tmp_path / environment).mkdir(parents=True)
    (tmp_path / environment / "pyvenv.cfg").touch()
    assert element_process.interpreter() == str(tmp_path / environment / "bin/python")


@pytest.mark.parametrize(
    ("parameters", "field", "value"),
    [
        ({"max_queue_size": 40.0}, "queue_packets", 40),
        ({"max_queue_size": "40"}, "queue_packets", 40),
        ({"max_queue_size": None}, "queue_packets", 100),
        ({"bw": "10mbit"}, "rate_mbps", 10),
        ({"bw": "2.5 Gbit"}, "rate_mbps", 2500),
        ({"bw": "500kbit/s"}, "rate_mbps", 0.5),
        ({"bw": numpy.float64(7.5)}, "rate_mbps", 7.5),
        ({"jitter": "1ms"}, "jitter_ms", 1),
        ({"loss": "1 %"}, "loss_percent", 1),
        ({"delay": "10MS"}, "delay_ms", 10),
        *(({"delay": text}, "delay_ms", pytest.approx(ms)) for text, ms in TIMES.items()),
        ({"reorder": numpy.bool_(True)}, "reorder", True),
        ({"reorder": "False"}, "reorder", False),
        ({"delay": None}, "delay_ms", 0),
    ],
)
def test_a_value_of_another_type_is_read_as_mininet_s_users_mean_it(
    parameters: dict[str, Any], field: str, value: float
) -> None:
    assert getattr(LegDirection.check(radio_settings(parameters), "test"), field) == value


@given(
    st.sampled_from(sorted(radio_link._FIELDS)),
    st.one_of(
        st.floats(),
        st.booleans(),
        st.text(max_size=6),
        st.lists(st.integers(), max_size=5),
        st.binary(max_size=3),
        st.builds(object),
        st.dictionaries(st.text(max_size=3), st.builds(object), max_size=1),
        st.floats().map(numpy.float64),
        st.booleans().map(numpy.bool_),
    ),
)
def test_any_value_is_read_or_refused_with_the_parameter_s_name(name: str, value: Any) -> None:
    try:
        json.dumps(radio_settings({name: value}), allow_nan=False)
    except TopologyError as error:
        assert str(error).startswith(f"{name}=")
        assert ": allowed are " in str(error)
