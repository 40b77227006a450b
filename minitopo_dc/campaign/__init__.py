"""Campaigns: many scenarios times repetitions, interrupted and resumed, as one table.

A cell goes this way, from the file to the report:

* `file.fields` says what a file may hold, and `file.cells` makes the `Cell`s of each experiment;
* `file.scenarios` works out each cell's scenario, and `file.plan` the `Plan`: of each cell a `Run`
  per repetition, identified by its content;
* `execution.resume` gives the runs that are missing to `execution.workers`, and each `RunResult` to
  `execution.store`;
* `execution.table` makes of the plan and the store a row for each run, and for each cell and
  repetition, which `report` reads;
* `condensed` keeps of both what a page of many campaigns needs, without the runs.
"""

from __future__ import annotations

from minitopo_dc.campaign.execution.resume import run_campaign
from minitopo_dc.campaign.execution.store import Store, StoreError
from minitopo_dc.campaign.execution.table import cell_table
from minitopo_dc.campaign.file.fields import campaign_names, find_campaign
from minitopo_dc.campaign.file.plan import Plan, read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.campaign.report.claims import claims_table
from minitopo_dc.campaign.report.evaluation import comparison, load_sources

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
