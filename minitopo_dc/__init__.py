"""Link-layer Dual Connectivity against transport multipath, on one machine.

This module is the API: what `minitopo_dc/__init__.pyi` lists. It has what most programs use: a
`Scenario` of `Leg`s, `Pdcp` and a workload, `run`, `compare`, `advise`, `Campaign` and `load`, and
the decorators of plugins. The rest has modules of its own:

* `results`: read the directories of runs as tables, and compute measures from their files;
* `plots`, `statistics`, `claims`: draw, compute intervals, judge statements about tables of runs;
* `campaign`, `report`: designs and retries of campaigns, and the page of a table of runs;
* `plugins`: base classes of policies, runners, workloads and video algorithms (docs/plugins.md);
* `mininet`: topologies and hosts for programs of Mininet (docs/mininet.md);
* `pdcp`, `link`, `trace`, `capture`: the cores, which are sans-IO: time is an argument (integer
  nanoseconds), and nothing in them opens a socket or reads a clock.

What these modules list in `__all__` keeps its meaning until the next major version
(docs/stability.md). Everything else is private, and may change at any time. A name is imported when
it is first used, so `import minitopo_dc` costs nothing.
"""

from __future__ import annotations

import lazy_loader

__version__ = "1.0.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
