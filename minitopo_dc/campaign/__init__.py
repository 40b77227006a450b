"""Campaigns: many scenarios times seeds, interrupted and resumed, as one table.

A case goes this way, from a user's lines to the table:

* `plan` checks each case and makes a row of it for each seed, with the digest of its scenario;
* `campaign.Campaign` gives the runs that are missing to `executors` (or `cluster`), and each
  `RunResult` to `store`;
* `table` makes of both one table, and reads it again;
* `program` loads a campaign's file; `designs` has the points of space-filling designs.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
