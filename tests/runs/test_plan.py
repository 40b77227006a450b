"""What a scenario needs by arithmetic, against numbers by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import Download, Leg, Scenario
from minitopo_dc.cli import entry
from minitopo_dc.results.kept_scenario import load_to_run
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.runs.plan import needs

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yaml"))
LEG = Leg(rate_mbps=20, delay_ms=10)
"""A product of 50 kB, and a queue of 150 kB, which takes 60 ms."""
LATE = LEG.evolve(delay_ms=60)


def scenario(*legs: Leg, **more: Any) -> Scenario:
    values = {"transport": "quic-picoquic", "mode": "dc", "workload": Download(size_mb=2), **more}
    return Scenario(legs=legs, clock="virtual", **values)


def unmet(made: Scenario) -> list[str]:
    return [need.words.partition(":")[0] for need in needs(made) if not need.is_met]


def test_the_default_scenario_has_all_that_it_needs() -> None:
    lines = [need.words for need in needs(scenario(LEG, LEG))]
    queue = "0.15 MB, 3 times its bandwidth-delay product of 0.05 MB; cubic needs 0.021 MB"
    assert lines == [
        "slow start: from 10 packets on it fills the legs after 0.19 MB and 2.8 round trips; "
        "the transfer has 2 MB",  # 2 x 40 Mbit/s x 20 ms - 14.6 kB
        "receive window: 0.4 MB are needed, max_data and max_stream_data allow 17 MB",  # 80 ms
        "t-Reordering: 200 ms; the legs' skew is 0 ms, and 60 ms when the slower one's queue is "
        "full",
        f"queue of leg 1: {queue}",
        f"queue of leg 2: {queue}",
        "ports: server udp port 4433; the client's is the kernel's choice",
    ]
    assert unmet(scenario(LEG, LEG)) == []


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (scenario(LEG, LEG, workload=Download(size_mb=0.18)), ["slow start"]),
        (scenario(LEG, LATE, pdcp={"t_reordering_ms": 100}), ["t-Reordering"]),
        (scenario(LEG, LATE, pdcp={"t_reordering_ms": 120}), []),
        (scenario(LEG, LATE, pdcp={"split": "least-delay", "t_reordering_ms": 50}), []),
        (scenario(LEG, LEG, options={"max_data": 390_000}), ["receive window"]),
        (scenario(LEG, LEG, options={"max_data": 410_000}), []),
        (scenario(LEG, LEG.evolve(queue_packets=14)), ["queue of leg 2"]),
        (scenario(LEG, LEG.evolve(queue_packets=15)), []),
        (scenario(LEG, LEG.evolve(queue_packets=15), congestion_control="newreno"), 1),
        (scenario(LEG, LEG.evolve(queue_packets=1), congestion_control="bbr"), []),
        (scenario(LEG, LEG.evolve(queue_packets=14), mode="sc", leg=1), []),
    ],
)
def test_what_falls_short_is_said(made: Scenario, words: list[str] | int) -> None:
    said = unmet(made)
    assert (len(said) if isinstance(words, int) else said) == words


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_have_what_they_need(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_scenario(load_to_run(path))
    assert entry.run_command(["check", str(path)], lambda: None) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith("✓ ") for line in lines)
