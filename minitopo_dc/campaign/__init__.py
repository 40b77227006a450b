"""Campaigns: many scenarios times seeds, interrupted and resumed, as one table.

`plan` loads a file and makes a row of a case and a seed, `executors` run what is missing, `store`
keeps it and reads it as one table. `designs` have points over many factors.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
