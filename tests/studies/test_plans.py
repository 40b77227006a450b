"""The studies' campaigns: each can be planned, and its runs are those whose results are kept."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.campaign.designs import spread
from minitopo_dc.campaign.plan import Plan
from minitopo_dc.campaign.program import load_program, studies
from tests import REPOSITORY

EXAMPLES = (REPOSITORY / "examples/campaigns").glob("*.py")
FILES = studies() | {f"examples/{path.stem}": path for path in EXAMPLES}
DIGESTS: dict[str, str] = json.loads(Path(__file__).with_name("digests.json").read_text())
"""By campaign: what `digest_of` returns. Whoever edits a scenario makes other runs."""
MOST = 40
"""The most cases that are planned: of thousands some, evenly chosen."""


def digest_of(path: Path) -> str:
    """Return a digest of the identities of some runs of a campaign's quick version."""
    program = load_program(path)
    plan = Plan(spread(program.cases("quick"), MOST), program.seeds("quick"))
    return hashlib.sha256(" ".join(sorted(plan.scenarios)).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", FILES)
def test_a_campaign_has_the_runs_that_it_had(name: str) -> None:
    assert digest_of(FILES[name]) == DIGESTS[name]


@pytest.mark.parametrize("name", FILES)
def test_a_campaign_s_report_asks_for_columns_of_its_table(name: str, tmp_path: Path) -> None:
    program = load_program(FILES[name])
    campaign = Campaign(tmp_path, spread(program.cases("quick"), MOST), [1])
    program.try_report(campaign.empty_table(), campaign.label_values)
