"""Page load times.

How long headless Chromium takes to load a page of 40 objects: one leg, Dual Connectivity, MPTCP;
HTTP/2 and HTTP/3 (docs/workloads.md). Real packets: the real clock, as root.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

import minitopo_dc as dc
from minitopo_dc import plots

LEG = dc.Leg(rate_mbps=20, uplink={"rate_mbps": 20})
CONTROL = ["--congestion-control", "{congestion_control}"]


def page(*options: str) -> dict[str, list[str]]:
    """Return the programs that serve and load the page with these options."""
    module = "examples.page_load"
    server = ["{python}", "-m", f"{module}.server", *options, *CONTROL]
    return {"server": server, "client": ["{python}", "-m", module, *options]}


BASE = dc.Scenario(
    legs=[LEG, LEG],
    transport="command",
    mode="dc",
    congestion_control="cubic",
    timeout_s=60,
    workload=dc.Command(
        **page("--http", "2"),
        server_ready=4433,
        measures={
            "page_load_ms": {"json_path": "page_load_ms", "unit": "ms"},
            "dom_content_loaded_ms": {"json_path": "dom_content_loaded_ms", "unit": "ms"},
            "document_ms": {"json_path": "response_end_ms", "unit": "ms"},
            "page_bytes": {"json_path": "bytes", "unit": "B"},
        },
    ),
    clock="real",
)
LEAST_DELAY: dict[str, Any] = {
    "split": "least-delay",
    "numbering": "late",
    "t_reordering_ms": "adaptive",
    "legs_keep_order": True,
}
HTTP_3 = page("--http", "3")
WAYS: dict[str, dict[str, Any]] = {
    "HTTP/2, leg 1": {"mode": "sc", "leg": 1},
    "HTTP/2, DC batch": {},  # the papers'
    "HTTP/2, DC least-delay": {"pdcp": LEAST_DELAY},
    "HTTP/2, MPTCP": {"mode": "multipath", "workload": page("--http", "2", "--mptcp")},
    "HTTP/3, leg 1": {"mode": "sc", "leg": 1, "workload": HTTP_3},
    "HTTP/3, DC least-delay": {"pdcp": LEAST_DELAY, "workload": HTTP_3},
}
LINKS: dict[str, dict[str, Any]] = {
    "20 + 20": {},
    "10, 40 ms": {"downlink": {"delay_ms": 40}, "uplink": {"delay_ms": 40}},
    "20 + 5": {"downlink": {"rate_mbps": 5}},
}
"""Rates in Mbit/s; each leg has 20 Mbit/s and 10 ms unless named."""


def cases(version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield each way over each pair of legs; the quick version has equal legs only."""
    for name, second in list(LINKS.items())[: 3 if version == "full" else 1]:
        for way, fields in WAYS.items():
            yield BASE.evolve(**fields, legs={1: second}), {"legs": name, "way": way}


def seeds(version: str) -> range:
    """Return ten seeds, or two."""
    return range(1, 11 if version == "full" else 3)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the time until everything of a page is there."""
    yield "Page load time", plots.bars(runs, "legs", "way", "page_load_ms").figure
