"""Campaigns: many scenarios times repetitions, interrupted and resumed, as one table."""

from __future__ import annotations

from minitopo_dc.campaign.claims import claims_table
from minitopo_dc.campaign.evaluation import comparison, load_sources
from minitopo_dc.campaign.find import campaign_names, find_campaign
from minitopo_dc.campaign.plan import Plan, read_plan
from minitopo_dc.campaign.resume import run_campaign
from minitopo_dc.campaign.scenarios import Overrides
from minitopo_dc.campaign.store import Store, StoreError
from minitopo_dc.campaign.table import cell_table

__all__ = [
    "Overrides",
    "Plan",
    "Store",
    "StoreError",
    "campaign_names",
    "cell_table",
    "claims_table",
    "comparison",
    "find_campaign",
    "load_sources",
    "read_plan",
    "run_campaign",
]
