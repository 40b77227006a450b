"""Where packets went: the account of a run, against what the end hosts sent and received."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest

from minitopo_dc.fields import Direction
from minitopo_dc.results.measures.account import PacketAccount, losses_over_time, packet_account
from minitopo_dc.scenario.presets import dual_connectivity
from tests.native.extension import needs_native
from tests.quic.extension import needs_picoquic
from tests.virtual.scenarios import leg, scenario
from tests.virtual.whole_runs.test_cores import LATE, SCENARIOS, run

pytestmark = [needs_native, needs_picoquic]
LEGS = [leg(rate_mbps=60, delay_ms=10), leg(rate_mbps=25, delay_ms=30)]
LONGER: dict[str, Any] = {"legs": LEGS, "workload": {"size_mb": 2}}
CODEL: dict[str, Any] = {"queue_discipline": "codel", "queue_parameters": {"target_ms": 1}}
CAUSED: dict[str, dict[str, Any]] = {
    "buffer": {**LONGER, **dual_connectivity("deployable", scenario(legs=LEGS).legs)},
    "aqm": {"mode": "sc", "legs": [leg(rate_mbps=5, **CODEL)]},
    "discard": {"pdcp": LATE | {"discard_timer_ms": 20}, "legs": [leg(rate_mbps=5)] * 2},
    "xn": {"pdcp": LATE | {"flow_control": {"backhaul_ms": 5, "loss_percent": 5}}},
    "queue": LONGER,
    "air": {"mode": "multipath", "transport": "mpquic-picoquic", "legs": [leg(loss_percent=2)] * 2},
    "leg_discard": SCENARIOS["UM alone"],
    "late": {"legs": LEGS, "pdcp": {"t_reordering_ms": 5}},
    "flush": {
        "pdcp": {"data_recovery": True, "report_ms": 10},
        "legs": [leg(outages=[[0.15, 0.4]]), leg()],
    },
}
"""By a cause, a run that loses packets by it."""
IDEAL = {"legs": LEGS, **dual_connectivity("ideal", scenario(legs=LEGS).legs)}
ALL = {**SCENARIOS, **CAUSED, "ideal": IDEAL}
OWN_PACKETS = {"proportional", "bandit", "own policy", "backhaul and early numbers", "flush"}
OWN_PACKETS |= {"ATSSS 0", "ATSSS 1", "ATSSS 2"}
"""Runs in which PDCP sends reports, statuses or echoes, which are no packets of the end hosts."""


def accounts(directory: Path, core: str, name: str) -> dict[Direction, PacketAccount]:
    fields = dict(ALL[name])
    virtual = {**fields.pop("virtual", {}), "packet_trace": True}
    assert run(directory, core, **fields, virtual=virtual).status == "ok"
    return {way: packet_account(directory, way) for way in get_args(Direction)}


@pytest.mark.parametrize("core", ["auto", "python"])
@pytest.mark.parametrize("name", [name for name in ALL if name != "opportunities"])
def test_every_packet_is_in_the_account_once(name: str, core: str, tmp_path: Path) -> None:
    for way, account in accounts(tmp_path, core, name).items():
        ends = account.delivered + account.duplicates + sum(account.losses.values())
        assert account.offered + account.copies == ends + account.under_way
        assert min(account.copies, account.under_way, *account.losses.values()) >= 0
        over_time = losses_over_time(tmp_path, way).groupby("part")["lost"].last()
        assert over_time.sum() == sum(account.losses.values())
        if name not in OWN_PACKETS:
            rows = pd.read_csv(tmp_path / "packets.csv").query("direction == @way")["event"]
            counted = rows.value_counts().to_dict()
            assert (account.offered, account.delivered) == (counted["sent"], counted["received"])


@pytest.mark.parametrize("name", CAUSED)
def test_a_loss_has_its_cause(name: str, tmp_path: Path) -> None:
    assert accounts(tmp_path, "auto", name)["downlink"].losses[name] > 0
