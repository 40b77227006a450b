"""Campaigns have the runs that were recorded, and reports that fit their tables."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.campaign.designs import spread
from tests.studies.digests import FILES, MOST, digest, program, runs_of

FOLDER = Path(__file__).parent
DIGESTS: dict[str, str] = json.loads((FOLDER / "digests.json").read_text())
"""By campaign: of the identities of some quick runs. Whoever edits a scenario makes other runs."""
IDENTITIES: dict[str, dict[str, list[Any]]] = json.loads((FOLDER / "identities.json").read_text())
"""By campaign and version the number of its runs, and the digest of all their identities: who
changes one loses what was recorded."""


def versions() -> list[Any]:
    return [
        pytest.param(name, version, marks=[pytest.mark.slow, pytest.mark.long] * (runs > 600))
        for name, known in IDENTITIES.items()
        for version, (runs, _) in known.items()
    ]


@pytest.mark.parametrize(("name", "version"), versions())
def test_recorded_runs_stay_joined_and_can_be_planned(name: str, version: str) -> None:
    runs = set(runs_of(name, version)["run"])
    assert [len(runs), digest(runs)] == IDENTITIES[name][version]


@pytest.mark.parametrize("name", FILES)
def test_a_campaign_has_the_runs_that_it_had_and_a_report_of_its_columns(
    name: str, tmp_path: Path
) -> None:
    mine = program(name)
    campaign = Campaign(tmp_path, spread(mine.cases("quick"), MOST), mine.seeds("quick"))
    identities = " ".join(sorted(campaign.names))
    assert hashlib.sha256(identities.encode()).hexdigest()[:16] == DIGESTS[name]
    mine.try_report(campaign.empty_table(), campaign.label_values)
