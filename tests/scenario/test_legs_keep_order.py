"""`legs_keep_order`, `data_recovery` and adaptive t-Reordering, as a scenario has them."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import Scenario

RADIO: dict[str, Any] = {"rate_mbps": 20}
KEEPS: dict[str, Any] = {"downlink": RADIO, "uplink": RADIO}
REORDERS: dict[str, Any] = {"downlink": RADIO | {"reorder": True}, "uplink": RADIO}
UP: dict[str, Any] = {"downlink": RADIO, "uplink": RADIO | {"reorder": True}}
NR_RLC: dict[str, Any] = {"downlink": RADIO | {"rlc": {"in_order": False}}, "uplink": RADIO}
BY_ORDER: dict[str, Any] = {"legs_keep_order": True}


def scenario(**fields: Any) -> Scenario:
    values = {"transport": "quic", "mode": "dc", "legs": [KEEPS, KEEPS], "pdcp": BY_ORDER}
    return Scenario.check(values | fields, "test")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"legs": [KEEPS, REORDERS]}, r"pdcp.legs_keep_order: legs.1.downlink .*reorder: true"),
        ({"legs": [NR_RLC, KEEPS]}, r"pdcp.legs_keep_order: legs.0.downlink .*in_order"),
        ({"legs": [UP, KEEPS], "split_uplink": True}, r"legs_keep_order: legs.0.uplink"),
        (
            {"legs": [KEEPS, REORDERS], "mode": "flows", "flows": [{"mode": "sc", "leg": 2}]},
            r"legs_keep_order: legs.1.downlink",
        ),
    ],
)
def test_a_leg_of_the_bearer_s_that_reorders_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        scenario(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"legs": [UP, KEEPS]},
        {"legs": [REORDERS, KEEPS], "mode": "sc"},
        {"legs": [KEEPS, KEEPS, REORDERS], "pdcp": BY_ORDER | {"legs": [1, 2]}},
        {"legs": [REORDERS, KEEPS], "mode": "flows", "flows": [{"mode": "sc", "leg": 2}]},
    ],
)
def test_a_leg_that_no_bearer_relies_on_may_reorder(fields: dict[str, Any]) -> None:
    scenario(**fields)


@pytest.mark.parametrize(
    ("pdcp", "words"),
    [
        ({"data_recovery": True, "delivery": "off"}, "data_recovery: delivery off"),
        ({"t_reordering_ms": "adapts"}, "t_reordering_ms.*'infinity' or 'adaptive'"),
    ],
)
def test_what_does_not_fit_together_is_named(pdcp: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        scenario(pdcp=pdcp)
