"""Goodput of policies on estimates of their legs against the same ones on the legs themselves."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from random import Random
from statistics import median_high
from typing import Any

from minitopo_dc.cli.screen import progress
from minitopo_dc.scenario import Scenario
from minitopo_dc.scratch import scratch
from minitopo_dc.virtual.run import run_virtual

SPLITS = ("least-delay", "proportional", "threshold")
AT_ONCE: Mapping[str, Any] = {"interval_ms": 1, "status_bytes": 1}
"""No backhaul, and a status for each packet."""


def networks(number: int) -> list[list[dict[str, Any]]]:
    """Return pairs of legs: 5 to 80 Mbit/s, evenly by their logarithm, and 5 to 80 ms."""
    rng = Random(1)
    return [
        [
            {
                "rate_mbps": round(5 * 16 ** rng.random(), 2),
                "delay_ms": round(rng.uniform(5, 80), 1),
                "jitter_ms": 0,
                "queue_packets": rng.choice([50, 100, 300]),
            }
            for _ in range(2)
        ]
        for _ in range(number)
    ]


def goodput(legs: list[dict[str, Any]], pdcp: dict[str, Any], size_mb: float) -> float:
    """Return the goodput of a download (Mbit/s).

    Raises:
        RuntimeError: the run failed.
    """
    fields: dict[str, Any] = {
        "transport": "quic-picoquic",
        "mode": "dc",
        "clock": "virtual",
        "legs": [{"downlink": leg} for leg in legs],
        "pdcp": pdcp,
        "workload": {"size_mb": size_mb},
    }
    with scratch() as directory:
        result = run_virtual(Scenario.check(fields, "benchmark"), directory / "run")
    if result.goodput_mbps is None:
        raise RuntimeError(f"{result.status}: {result.reason}")
    return result.goodput_mbps


def shares_of_ideal(
    split: str, number: int, size_mb: float, flow_control: Mapping[str, Any]
) -> list[float]:
    """Return the goodput with `flow_control` over that without it, of so many networks."""
    pdcp = {"split": split, "numbering": "late"}
    control = {"flow_control": dict(flow_control)}
    return [
        goodput(legs, pdcp | control, size_mb) / goodput(legs, pdcp, size_mb)
        for legs in progress(networks(number), lambda _: split)
    ]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the number of networks, the size of a download, and the backhaul."""
    parser.add_argument("--networks", type=int, default=100, help="pairs of legs (100)")
    parser.add_argument("--size", type=float, default=1, help="of a download, MB (1)")
    parser.add_argument("--backhaul", type=float, default=0, help="one-way delay, ms (0)")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Compare estimates of legs with the legs themselves: QUIC's goodput over random networks."""
    control = {**AT_ONCE, "backhaul_ms": options.backhaul}
    figures = {}
    for split in SPLITS:
        shares = shares_of_ideal(split, options.networks, options.size, control)
        figures[split] = {
            "least": round(min(shares), 3),
            "median": round(median_high(shares), 3),
            "within 3 %": sum(abs(share - 1) <= 0.03 for share in shares),
            "at least 97 %": sum(share >= 0.97 for share in shares),
        }
    return figures
