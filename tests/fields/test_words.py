"""Words for what is allowed, and for what has moved."""

from __future__ import annotations

import datetime
import inspect
import math
from collections.abc import Iterator
from typing import Any

import pytest

from minitopo_dc.fields import Settings, SettingsError
from minitopo_dc.runners.base import all_runners, get_runner
from minitopo_dc.scenario import RealSettings, Scenario

WRONG: list[Any] = [
    *(None, True, "", "x", "1_0", -1, 1.5, 10**400, math.nan, math.inf, [], ["x"]),
    *({}, {1: 2}, {"x": 1}, [[{}]], datetime.date(2026, 1, 1), b"x", {"x": {"x": {"x": None}}}),
]
NOT_OURS = ("Input", "input", "should", "valid", "Value error", "pydantic", "function-", "literal[")
"""Words of pydantic's messages and of its types."""
LEG = {"downlink": {"rate_mbps": 20}}
GOOD: dict[str, Any] = {"transport": "quic", "mode": "sc", "legs": [LEG]}


def _subclasses(cls: type[Settings]) -> Iterator[type[Settings]]:
    for each in cls.__subclasses__():
        if each.__module__.startswith("minitopo_dc."):
            yield each
        yield from _subclasses(each)


all_runners()
CONCRETE = [cls for cls in _subclasses(Settings) if not inspect.isabstract(cls)]
CLASSES: list[type[Settings]] = sorted({*CONCRETE, Scenario}, key=lambda cls: cls.__name__)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of ipaddress, about an int of True
@pytest.mark.parametrize("cls", CLASSES, ids=lambda each: str(each.__name__))
def test_no_field_of_any_settings_is_told_of_in_pydantic_s_words(cls: type[Settings]) -> None:
    for name in (*cls.model_fields, "x"):
        for value in WRONG:
            try:
                cls.check({name: value}, "file")
            except SettingsError as error:
                found = [word for word in NOT_OURS if word in str(error)]
                assert not found, f"{name}: {value!r}: {error}"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"trasport": "tcp"}, "trasport: unknown field; did you mean transport?"),
        ({"pdcp": {"numberin": "late"}}, "pdcp.numberin: unknown field; did you mean numbering?"),
        ({"legs": [{"downlnk": {}}]}, "legs.0.downlnk: unknown field; did you mean downlink?"),
        ({"legs": [{"none": 3}]}, "legs.0.none: unknown field; known: "),
        ({"workload": {"kind": "ping", "int": 3}}, "int: unknown field; known: "),
        (
            {"legs": [{"downlink": {"rate": 1}}]},
            "downlink.rate: unknown field; did you mean rate_mbps?",
        ),
        ({"real": {"bakend": "user"}}, "real.bakend: unknown field; did you mean backend?"),
        ({"flows": [{"mod": "sc"}]}, "flows.0.mod: unknown field; did you mean mode?"),
        ({"workload": {"size_mbb": 3}}, "size_mbb: unknown field; did you mean size_mb?"),
        (  # and not `t_reordering_ms` of another place
            {"legs": [{"downlink": {"rate_mbps": 1, "rlc": {"t_reordering_ms": 3}}}]},
            "t_reordering_ms: unknown field; known: mode, block_error_percent",
        ),
        (
            {"workload": {"kind": "ping", "duration_s": 3}},
            "s: workload: ping: duration_s: unknown field; known: count, interval_s",
        ),
        *(
            ({name: 3}, f"s: {name}: write workload: {{{name}: ...}}")
            for name in ("size_mb", "duration_s")
        ),
        *(
            ({name: "x"}, f"s: {name}: write real: {{{name}: ...}}")
            for name in RealSettings.model_fields
        ),
    ],
)
def test_an_unknown_field_names_its_place_or_the_nearest_one_there(
    fields: dict[str, Any], told: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Scenario.check(GOOD | fields, "s")
    assert told in str(caught.value)


def test_an_option_of_a_runner_takes_a_unit_and_names_the_nearest_one() -> None:
    runner = get_runner("quic-picoquic")
    runner.check_options({"receive_buffer_bytes": "33.5MB"}, 4)
    with pytest.raises(SettingsError, match="receive_buffer_bytes"):
        runner.check_options({"recieve_buffer_bytes": 1}, 4)
    with pytest.raises(SettingsError, match=r"er_bytes: 3ms .*units: B, k"):
        runner.check_options({"receive_buffer_bytes": "3ms"}, 4)


def test_what_a_class_takes_is_told_before_its_first_use() -> None:
    class Small(Settings):
        size: int = 3

    assert str(inspect.signature(Small)) == "(*, size: int = 3) -> None"
    assert Small(size="4").size == 4
