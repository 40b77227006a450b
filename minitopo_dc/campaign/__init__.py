"""Campaigns: many scenarios times seeds, interrupted and resumed, as one table.

`plan` makes a row of a case and a seed, `executors` or `cluster` run what is missing, `store` keeps
it, and `table` makes one table. `program` loads a file, `designs` have points over many factors.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
