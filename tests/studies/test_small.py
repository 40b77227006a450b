"""Campaigns of a few cases, in studies and in examples: their runs, and what makes their cases."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import pytest

from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.campaign.plan import Plan
from minitopo_dc.campaign.program import Program, load_program
from minitopo_dc.installation import PACKAGE

ROOT = PACKAGE.parent
RUNS = {
    "studies/clocks/campaign.py": ("88a7bb1b0a2ae553", "1aaf2b346316df88"),
    "studies/link_failure/data_recovery.py": ("6dff72f7a8461815", "538e797999adec70"),
    "studies/link_failure/leg_down.py": ("4899c0b14c82759e", "f9148c760b94476c"),
    "studies/link_failure/leg_failure.py": ("90e6f456d433ddf6", "44cb87ccf40a750e"),
    "examples/campaigns/latency.py": ("f29cee57a0a585be", "e96187765ba4eb5d"),
    "examples/campaigns/own_program.py": ("5e11a2b5bbdcd3b4", "4f3a954d33faf0b5"),
    "examples/campaigns/page_load.py": ("36b23bc3d4e328b5", "c3854f4726ecddb4"),
    "examples/campaigns/path_script.py": ("d58103adf7e151d1", "d72e35993447b5ec"),
    "examples/campaigns/t_reordering.py": ("51a00d8246300e73", "6b0e2588b2c3df7b"),
}
"""By file the digests of its runs' identities, full and quick: recorded results stay joined."""
NAMES = sorted(RUNS)


def program(name: str) -> Program:
    return load_program(ROOT / name)


@cache
def plan(name: str, version: str) -> Plan:
    found = program(name)
    return Plan(found.cases(version), found.seeds(version))


@pytest.mark.parametrize("name", NAMES)
def test_runs_have_the_identity_that_recorded_ones_have(name: str) -> None:
    for version, expected in zip(("full", "quick"), RUNS[name], strict=True):
        identities = ",".join(sorted(plan(name, version).scenarios))
        assert hashlib.sha256(identities.encode()).hexdigest()[:16] == expected, version


@pytest.mark.parametrize("name", NAMES)
def test_quick_runs_are_fewer_and_a_report_needs_no_run(name: str, tmp_path: Path) -> None:
    found = program(name)
    assert len(plan(name, "quick").rows) < len(plan(name, "full").rows)
    campaign = Campaign(tmp_path, found.cases("quick"), found.seeds("quick"))
    found.try_report(campaign.empty_table(), campaign.label_values)
