"""Campaigns: many scenarios times repetitions, interrupted and resumed, as one table."""

from __future__ import annotations

from minitopo_dc.campaign.evaluation import comparison, load_sources
from minitopo_dc.campaign.execute import run_campaign
from minitopo_dc.campaign.plan import Plan, read_plan
from minitopo_dc.campaign.planner import Overrides
from minitopo_dc.campaign.store import Store, StoreError
from minitopo_dc.campaign.table import cell_table

__all__ = [
    "Overrides",
    "Plan",
    "Store",
    "StoreError",
    "cell_table",
    "comparison",
    "load_sources",
    "read_plan",
    "run_campaign",
]
