"""Downloads on the real clock: with PDCP against without, and by both backends of legs.

The legs of the kernel need one with netem; elsewhere `scripts/uml.sh .venv/bin/python -m benchmarks
backends` gives them.
"""

from __future__ import annotations

import argparse
from statistics import mean, median
from typing import Any

from minitopo_dc.cli.screen import progress
from minitopo_dc.clocks import run_scenario
from minitopo_dc.scenario import Scenario
from minitopo_dc.scratch import scratch

DEFAULT_POINT = {"rate_mbps": 20}
"""The papers' default point is the default of every other setting."""
LEG = {"rate_mbps": 5, "delay_ms": 20, "jitter_ms": 0, "loss_percent": 5, "queue_packets": 100}
"""Of rate, delay and loss: slow enough for user-mode Linux, which is several times slower."""
DOWNLOADS: dict[str, dict[str, Any]] = {
    # Both carry 2 Mbit/s.
    "sc": {"rate_mbps": 2, "delay_ms": 20, "jitter_ms": 0, "queue_packets": 50},
    "dc": {"rate_mbps": 1, "delay_ms": 20, "jitter_ms": 0, "queue_packets": 50},
}


def scenario(transport: str, mode: str, leg: dict[str, Any], **more: Any) -> Scenario:
    """Return a scenario with two equal legs, without loss uplink."""
    legs = [{"downlink": leg, "uplink": leg | {"loss_percent": 0}}] * 2
    fields = {"transport": transport, "mode": mode, "legs": legs, "congestion_control": "reno"}
    return Scenario.check(fields | more, "benchmark")


def times_s(base: Scenario, repetitions: int) -> list[float]:
    """Return the completion time of a run with each seed.

    Raises:
        RuntimeError: one failed; the message says why.
    """
    times = []
    for seed in progress(
        range(1, repetitions + 1), lambda seed: f"{base.transport} {base.mode} {seed}"
    ):
        with scratch() as directory:
            result = run_scenario(base.model_copy(update={"seed": seed}), directory)
        if result.completion_s is None:
            raise RuntimeError(f"seed {seed}: {result.status}: {result.reason}")
        times.append(result.completion_s)
    return times


def with_pdcp(options: argparse.Namespace) -> dict[str, float]:
    """Measure TCP's goodput (Mbit/s) with PDCP against without, on leg 1 of the default point.

    Out-of-order delivery shows what numbering and stripping cost. In order, t-Reordering also
    stalls the flow after each loss in the leg's queue, which is what the standard asks for.
    """
    base = scenario("tcp", "sc", DEFAULT_POINT, workload={"size_mb": 20})
    with_dc = base.evolve(mode="dc", pdcp={"ratio": [1, 0]})
    ways = {"without": base} | {
        delivery: with_dc.evolve(pdcp={"delivery": delivery})
        for delivery in ("out-of-order", "in-order")
    }
    mbps = {name: 160 / median(times_s(way, options.repetitions)) for name, way in ways.items()}
    ratios = {f"{name}_ratio": mbps[name] / mbps["without"] for name in mbps if name != "without"}
    return {f"{name}_mbps": value for name, value in mbps.items()} | ratios


def backends(options: argparse.Namespace) -> dict[str, Any]:
    """Measure a leg, and QUIC downloads, by the kernel's legs and the process' (root, netem)."""
    return {backend: _of_backend(backend, options) for backend in ("user", "kernel")}


def _of_backend(backend: str, options: argparse.Namespace) -> dict[str, Any]:
    from minitopo_dc.real.calibration import PROPERTIES, calibrate  # noqa: PLC0415 (Mininet)

    real = {"backend": backend}
    base = scenario("tcp", "sc", LEG, real=real, workload={"duration_s": options.seconds})
    with scratch() as place:
        result = calibrate(base.model_copy(update={"legs": base.legs[:1]}), place / "leg")
    figures: dict[str, Any] = {name: result.details.get(name) for name in PROPERTIES}
    for mode, leg in DOWNLOADS.items():
        fields = {"workload": {"size_mb": options.size}, "options": {"receive_buffer_bytes": None}}
        times = times_s(scenario("quic", mode, leg, real=real, **fields), options.repetitions)
        figures[f"QUIC {mode} (s)"] = {"mean": mean(times), "runs": times}
    return figures


def add_repetitions(parser: argparse.ArgumentParser) -> None:
    """Add the option of how many downloads of a kind there are."""
    parser.add_argument("--repetitions", type=int, default=3, help="of each download (3)")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the agreement of the backends."""
    add_repetitions(parser)
    parser.add_argument("--seconds", type=float, default=10, help="of a leg's measurement (10)")
    parser.add_argument("--size", type=float, default=2, help="of a download in MB (2)")
