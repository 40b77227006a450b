"""Legs of the kernel against those of the process: `python -m benchmarks.backends`, as root.

One scenario on both: rate, delay and loss of a leg, and QUIC downloads over one leg and over two.
Needs a kernel with netem; elsewhere `scripts/uml.sh .venv/bin/python -m benchmarks.backends`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from minitopo_dc.real.run.calibration import calibrate
from minitopo_dc.real.run.real import run_real
from minitopo_dc.scenario import Scenario

BACKENDS = ("user", "kernel")
LEG = {"rate_mbps": 5, "delay_ms": 20, "jitter_ms": 0, "loss_percent": 5, "queue_packets": 100}
"""Of rate, delay and loss: slow enough for user-mode Linux, which is several times slower."""
DOWNLOADS: dict[str, dict[str, Any]] = {
    # Both carry 2 Mbit/s.
    "sc": {"rate_mbps": 2, "delay_ms": 20, "jitter_ms": 0, "queue_packets": 50},
    "dc": {"rate_mbps": 1, "delay_ms": 20, "jitter_ms": 0, "queue_packets": 50},
}


def leg_quantities(backend: str, seconds: float) -> Iterator[tuple[str, float]]:
    """Yield name and measured value of each property of a leg."""
    wanted = scenario("tcp", "sc", LEG, backend)
    single = wanted.model_copy(update={"legs": wanted.legs[:1]})
    for quantity in calibrate(single, seconds):
        yield f"{quantity.name} ({quantity.unit})", quantity.measured


def downloads(backend: str, mode: str, size_mb: float, repetitions: int) -> Iterator[float]:
    """Yield the completion time (s) of a QUIC download for each seed.

    Raises:
        RuntimeError: one failed; the message says why.
    """
    for seed in range(1, repetitions + 1):
        wanted = scenario(
            "quic",
            mode,
            DOWNLOADS[mode],
            backend,
            workload={"size_mb": size_mb},
            options={"receive_buffer_bytes": None},
            seed=seed,
        )
        with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
            result = run_real(wanted, Path(name))
        if result.completion_s is None:
            raise RuntimeError(f"{backend} {mode} seed {seed}: {result.status}: {result.reason}")
        print(f"{backend} {mode} seed {seed}: {result.completion_s:.3f} s", file=sys.stderr)  # noqa: T201
        yield result.completion_s


def scenario(transport: str, mode: str, leg: dict[str, Any], backend: str, **more: Any) -> Scenario:
    """Return a scenario with two equal legs of a backend."""
    legs = [{"downlink": leg, "uplink": leg | {"loss_percent": 0}}] * 2
    real = {"backend": backend}
    fields = {"transport": transport, "mode": mode, "legs": legs, "real": real}
    fields["congestion_control"] = "reno"
    return Scenario.check(fields | more, "benchmark")


def measure(backend: str, seconds: float, size_mb: float, repetitions: int) -> dict[str, Any]:
    """Return all figures of one backend."""
    figures: dict[str, Any] = dict(leg_quantities(backend, seconds))
    for mode in DOWNLOADS:
        times = list(downloads(backend, mode, size_mb, repetitions))
        spread = stdev(times) if len(times) > 1 else 0.0
        figures[f"QUIC {mode} (s)"] = {"mean": mean(times), "sd": spread, "runs": times}
    return figures


def main() -> None:
    """Measure both backends and print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backends", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="of a leg's measurement (10)")
    parser.add_argument("--size", type=float, default=2, help="of a download in MB (2)")
    parser.add_argument("--repetitions", type=int, default=3, help="of each download (3)")
    chosen = parser.parse_args()
    figures = {
        backend: measure(backend, chosen.seconds, chosen.size, chosen.repetitions)
        for backend in BACKENDS
    }
    print(json.dumps(figures, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
