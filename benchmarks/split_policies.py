"""What split policies make of legs with a saturating source: `python -m benchmarks.split_policies`.

PDCP alone, in virtual time: 200 packets of 1500 bytes are always under way over legs of 30 and 10
Mbit/s with 10 ms of delay, whose rates are exchanged half-way. No queue is ever full, nothing is
lost: what is measured is the split. A row is the mean of five runs with seeds of their own.
"""

from __future__ import annotations

from statistics import mean
from typing import Any

from minitopo_dc.pdcp import make_policy
from tests.pdcp.bearer_loop import Bearer, changing

SECONDS = 40
SEEDS = range(1, 6)
WINDOWS = {"0-2": (0, 2), "2-10": (2, 10), "10-20": (10, 20), "20-25": (20, 25), "25-40": (25, 40)}
"""From and to in s, in which goodput is told."""
CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("batch", {"batch": 2}),
    ("batch", {"batch": 4, "ratio": [3, 1]}),
    ("least-delay", {}),
    ("threshold", {}),
    *(("proportional", {"time_constant_ms": each}) for each in (50, 100, 200, 500, 1000)),
    *(
        ("bandit", {"epoch_ms": epoch, "discount": discount, "exploration": exploration})
        for epoch in (200, 400)
        for discount in (0.8, 0.9, 0.95)
        for exploration in (0.02, 0.05, 0.1)
    ),
)


def goodputs(name: str, parameters: dict[str, Any]) -> list[float]:
    """Return the goodput in Mbit/s in each window."""
    capacities = changing((0, 30), (SECONDS / 2, 10)), changing((0, 10), (SECONDS / 2, 30))
    bearer = Bearer(make_policy(name, legs=2, **parameters), capacities)
    bearer.run(SECONDS)
    return [bearer.mbps(begin, end) for begin, end in WINDOWS.values()]


def main() -> None:
    """Print a table, with a row per case."""
    print(f"{'policy':70}{''.join(f'{window:>8}' for window in WINDOWS)}")  # noqa: T201
    for name, parameters in CASES:
        seeds = [{"seed": seed} for seed in SEEDS] if name == "bandit" else [{}]
        runs = [goodputs(name, parameters | seed) for seed in seeds]
        row = "".join(f"{mean(values):8.1f}" for values in zip(*runs, strict=True))
        print(f"{f'{name} {parameters}':70}{row}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
