"""What the outcome depends on, on made-up runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.advice import base_of, dependence
from minitopo_dc.advice.candidates import candidates_of, judged_of
from minitopo_dc.advice.sequence import SHOWN, Runs
from minitopo_dc.scenario import Scenario
from tests.advice.made_up import LEGS, made_up


def goodput(scenario: Scenario) -> float:
    """Multipath is better, but over a farther server, and not with coupled windows."""
    if scenario.mode == "multipath":
        return 20 if scenario.congestion_control == "lia" else 30
    return 33 if scenario.server_delay_ms else 20


@pytest.mark.parametrize("left_s", [1e9, 0])
def test_changes_that_give_another_outcome_are_named_while_there_is_time(
    tmp_path: Path, left_s: float
) -> None:
    base = base_of(LEGS)
    (stack,) = candidates_of(base, [("quic-picoquic", "mpquic-picoquic")], 5)
    runs = Runs(tmp_path, stack.ways, judged_of(base.workload), made_up(goodput))
    runs.make([stack.dual, stack.multipath], SHOWN)
    runs.until = left_s
    assert dependence(stack, runs) == (
        "By 2 seeds it would be DC (deployable, Xn 5 ms) with a server 20 ms farther away, a tie "
        "with coupled windows (LIA); no other outcome with a tenth of the size, 0.1 % of random "
        "losses."
        if left_s
        else ""
    )
