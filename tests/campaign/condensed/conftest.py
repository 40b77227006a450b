"""A package with one campaign."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.campaign.condensed import recipe
from minitopo_dc.campaign.report import papers
from minitopo_dc.shipped import shipped
from tests.campaign.campaigns import document
from tests.campaign.condensed.results import change


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the package's campaigns, which has `campaign.yaml` alone."""
    monkeypatch.setattr(
        recipe, "shipped", lambda kind: tmp_path if kind == "campaigns" else shipped(kind)
    )
    monkeypatch.setattr(papers, "find_campaign", lambda _: tmp_path / "campaign.yaml")
    figure = {"x": "pdcp.batch", "curves": ["default", "large"]}
    batch = {"title": "Batch", "grid": {"pdcp.batch": [2, 100]}, "figure": figure}
    change(tmp_path, document(experiments={"batch": batch}))
    return tmp_path
