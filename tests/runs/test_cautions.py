"""What is said of a scenario before its numbers are believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import Download, Leg, Scenario
from minitopo_dc.clocks import run_scenario
from minitopo_dc.results.run_result import CAUTIONS, DESYNCHRONISED
from minitopo_dc.runs.needs import cautions

LEG = Leg(rate_mbps=20, delay_ms=10)
LATE = Leg(rate_mbps=20, delay_ms=70)


def scenario(
    *legs: Leg, transport: str = "quic-picoquic", mode: str = "dc", **more: Any
) -> Scenario:
    """A small download on the virtual clock."""
    more = {"clock": "virtual", "workload": Download(size_mb=0.1), **more}
    return Scenario(legs=legs, transport=transport, mode=mode, **more)


def with_pdcp(first: Leg, second: Leg, mode: str = "dc", **pdcp: Any) -> list[str]:
    return cautions(scenario(first, second, mode=mode, transport="quic", pdcp=pdcp))


@pytest.mark.parametrize(
    ("transport", "mode", "control", "loss", "said"),
    [
        ("quic-picoquic", "dc", "cubic-picoquic", 1, True),
        ("mpquic-picoquic", "multipath", "cubic-picoquic", 1, True),
        ("quic-picoquic", "dc", "cubic-picoquic", 0, False),
        ("quic-picoquic", "dc", "cubic", 1, False),
        ("quic", "dc", "cubic", 1, False),
    ],
)
def test_picoquics_cubic_is_named_where_packets_are_lost(
    transport: str, mode: str, control: str, loss: float, said: bool
) -> None:
    lossy = LEG.evolve(loss_percent=loss)
    made = scenario(LEG, lossy, transport=transport, mode=mode, congestion_control=control)
    assert [("cubic-picoquic" in line) for line in cautions(made)] == [True] * said
    alone = made.evolve(transport="quic-picoquic", mode="sc")  # over the leg without losses
    assert cautions(alone) == []
    assert bool(cautions(alone.evolve(leg=2))) == said


XN_0: dict[str, Any] = {"flow_control": {}}


@pytest.mark.parametrize(
    ("pdcp", "said"),
    [
        ({"t_reordering_ms": 50}, True),
        ({"t_reordering_ms": 60}, False),
        ({"t_reordering_ms": "infinity"}, False),
        ({"t_reordering_ms": "adaptive"}, False),
        ({"t_reordering_ms": 50, "delivery": "out-of-order"}, False),
        ({"t_reordering_ms": 50, "split": "least-delay"}, False),
        ({"t_reordering_ms": 50, "split": "least-delay", "numbering": "late", **XN_0}, True),
    ],
)
def test_a_timer_below_the_skew_is_told_with_both(pdcp: dict[str, Any], said: bool) -> None:
    lines = with_pdcp(LEG, LATE, **pdcp)
    assert len(lines) == said
    assert all("50 ms is below the legs' skew of 60 ms" in line for line in lines)


@pytest.mark.parametrize("queue", [{}, {"queue_ms": 600}])
def test_few_sequence_numbers_are_told_where_skew_and_rate_pass_half_of_them(
    queue: dict[str, Any],
) -> None:
    """40 ms and a full queue of 100 packets at 2 Mbit/s, at 40 Mbit/s of PDUs of 1,500 bytes."""
    fast = Leg(rate_mbps=40, delay_ms=5)
    slow = Leg(rate_mbps=2, delay_ms=45, **queue)
    (line,) = with_pdcp(fast, slow, mode="dc-duplicate", sn_bits=12)
    assert "640 ms" in line
    assert "2133 PDUs" in line
    assert with_pdcp(fast, slow, mode="dc-duplicate", sn_bits=18) == []
    assert with_pdcp(fast, fast, mode="dc-duplicate", sn_bits=12) == []


def test_a_result_keeps_them_and_its_run_tells_them_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = scenario(LEG, LATE, transport="quic", pdcp={"t_reordering_ms": 40})
    results = [run_scenario(made, tmp_path / str(number)) for number in (1, 2)]
    assert [result.details[CAUTIONS] for result in results] == [cautions(made)] * 2
    assert capsys.readouterr().err.count("t-Reordering of 40 ms") == 1


@pytest.mark.parametrize(("bits", "wrong"), [(12, True), (18, False)])
def test_a_result_counts_the_pdus_that_were_taken_for_others(
    bits: int, wrong: bool, tmp_path: Path
) -> None:
    fast = Leg(rate_mbps=40, delay_ms=5, queue_packets=300)
    slow = Leg(rate_mbps=2, delay_ms=45, queue_packets=300)
    made = scenario(
        *(fast, slow),
        mode="dc-duplicate",
        pdcp={"sn_bits": bits},
        workload=Download(size_mb=10),
    )
    details = run_scenario(made, tmp_path / "run").details
    assert (details.get(DESYNCHRONISED, 0) > 1000) == wrong
