"""Scenarios that several tests change a little."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from minitopo_dc.scenario import Scenario


def leg(**downlink: Any) -> dict[str, Any]:
    """A leg of 20 Mbit/s, but for what is given."""
    return {"downlink": {"rate_mbps": 20} | downlink}


def scenario(**fields: Any) -> Scenario:
    """1 MB by QUIC over DC at the papers' default point, but for what is given."""
    values: dict[str, Any] = {
        "transport": "quic",
        "mode": "dc",
        "legs": [leg(), leg()],
        "workload": {"size_mb": 1},
        "clock": "virtual",
        "options": {"receive_buffer_bytes": 33_554_432},
    }
    return Scenario.check(values | fields, "test")


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
