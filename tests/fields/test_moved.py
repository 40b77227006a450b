"""A key that has another place gets one error that says which."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import RealSettings, Scenario

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
GOOD: dict[str, Any] = {"transport": "quic", "mode": "sc", "legs": [LEG]}


def refused(**fields: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        Scenario.check(GOOD | fields, "s.yaml")
    return str(caught.value)


@pytest.mark.parametrize("name", ["size_mb", "duration_s"])
def test_what_a_download_asks_for_is_in_the_workload(name: str) -> None:
    assert refused(**{name: 3}) == f"s.yaml: {name}: write workload: {{{name}: ...}}"


@pytest.mark.parametrize("name", sorted(RealSettings.model_fields))
def test_what_only_the_real_clock_has_is_below_real(name: str) -> None:
    assert refused(**{name: "x"}) == f"s.yaml: {name}: write real: {{{name}: ...}}"


@pytest.mark.parametrize(
    ("workload", "known"),
    [
        ({"kind": "ping", "duration_s": 3}, "duration_s: unknown field; known: count, interval_s"),
        (
            {"kind": "request-response", "size_mb": 3},
            "size_mb: unknown field; known: request_bytes, response_bytes, interval_s, count, ",
        ),
    ],
)
def test_a_workload_without_a_size_is_not_told_to_write_one(
    workload: dict[str, Any], known: str
) -> None:
    kind = workload["kind"]
    assert refused(workload=workload).startswith(f"s.yaml: workload: {kind}: {known}")
