"""Link-layer Dual Connectivity against transport multipath, on one machine.

This module is the API: the names below, and those in `__all__` of the cores `minitopo_dc.pdcp`,
`minitopo_dc.link`, `minitopo_dc.trace`, of `minitopo_dc.capture` and its scapy `layers`. They keep
their meaning from one minor version to the next, or CHANGELOG.md says what has changed. Everything
else is private, and may change at any time.

* Run a scenario, or several beside each other; ask what is better over your legs:
  `Scenario`, `Leg`, `Pdcp`, `Download`, `RequestResponse`, `Ping`, `Video`, `Realtime`, `Command`,
  `explore`
* Load and read results:
  `load_results`, `load_series`, `load_as_run`, `results_table`, `compare_table`, `save_tables`,
  `client_rate`, `leg_series`, `leg_rates`, `path_rates`, `path_series`, `pdcp_series`,
  `buffer_over_time`, `capacity_over_time`, `connection_log`, `ConnectionLog`,
  `handover_table`, `open_capacity`, `reordering_wait_ms`, `flow_rates`
* Draw, compute intervals and judge claims from tables of runs: the modules `plots`, `statistics`
  and `claims`
* Campaigns, and the points of their designs:
  `Campaign`, `Retries`, `load`, `write_report`, `grid`, `sobol`, `latin_hypercube`, `wsp`,
  `points_of`, `spread`, `with_measures`, `run_measures`
* Mininet parts (docs/mininet.md):
  `TwoPath`, `addDualConnectivity`, `Gnb`, `Ue`, `RadioLink`, `testbed`
* Base classes and decorators of plugins (docs/plugins.md):
  `Runner`, `Transfer`, `TransferFailed`, `Tool`, `runner`, `Workload`, `Column`, `Measure`,
  `Measurement`, `RowsFigure`, `workload`, `SplitPolicy`, `LegView`, `split_policy`,
  `AbrAlgorithm`, `AbrChoice`, `AbrView`, `abr_algorithm`
* Errors:
  `MinitopoDcError`, `InputError`

The cores are sans-IO: time is an argument (integer nanoseconds) and nothing in them opens a
socket or reads a clock. A name is imported when it is first used, so `import minitopo_dc` costs
nothing, and what needs Mininet is needed by those who ask for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from minitopo_dc import claims as claims
    from minitopo_dc import plots as plots
    from minitopo_dc import statistics as statistics
    from minitopo_dc.advice import advise as advise
    from minitopo_dc.campaign.campaign import Campaign as Campaign
    from minitopo_dc.campaign.designs import grid as grid
    from minitopo_dc.campaign.designs import latin_hypercube as latin_hypercube
    from minitopo_dc.campaign.designs import points_of as points_of
    from minitopo_dc.campaign.designs import sobol as sobol
    from minitopo_dc.campaign.designs import spread as spread
    from minitopo_dc.campaign.designs import wsp as wsp
    from minitopo_dc.campaign.table import load as load
    from minitopo_dc.clocks import run_scenario as run_scenario
    from minitopo_dc.errors import InputError as InputError
    from minitopo_dc.errors import MinitopoDcError as MinitopoDcError
    from minitopo_dc.exploration import explore as explore
    from minitopo_dc.media.abr import AbrAlgorithm as AbrAlgorithm
    from minitopo_dc.media.abr import AbrChoice as AbrChoice
    from minitopo_dc.media.abr import AbrView as AbrView
    from minitopo_dc.media.abr import abr_algorithm as abr_algorithm
    from minitopo_dc.pdcp import LegView as LegView
    from minitopo_dc.pdcp import SplitPolicy as SplitPolicy
    from minitopo_dc.pdcp import split_policy as split_policy
    from minitopo_dc.real.network.testbed import testbed as testbed
    from minitopo_dc.report import write_report as write_report
    from minitopo_dc.results import buffer_over_time as buffer_over_time
    from minitopo_dc.results import client_rate as client_rate
    from minitopo_dc.results import compare_table as compare_table
    from minitopo_dc.results import leg_rates as leg_rates
    from minitopo_dc.results import leg_series as leg_series
    from minitopo_dc.results import load_results as load_results
    from minitopo_dc.results import load_series as load_series
    from minitopo_dc.results import path_rates as path_rates
    from minitopo_dc.results import path_series as path_series
    from minitopo_dc.results import pdcp_series as pdcp_series
    from minitopo_dc.results import results_table as results_table
    from minitopo_dc.results import save_tables as save_tables
    from minitopo_dc.results.kept_scenario import load_as_run as load_as_run
    from minitopo_dc.results.logs import connection_log as connection_log
    from minitopo_dc.results.logs.connection import ConnectionLog as ConnectionLog
    from minitopo_dc.results.measures.named import run_measures as run_measures
    from minitopo_dc.results.measures.named import with_measures as with_measures
    from minitopo_dc.results.measures.pdcp import reordering_wait_ms as reordering_wait_ms
    from minitopo_dc.results.measures.recovery import handover_table as handover_table
    from minitopo_dc.results.measures.utilisation import flow_rates as flow_rates
    from minitopo_dc.results.measures.utilisation import open_capacity as open_capacity
    from minitopo_dc.results.metrics import capacity_over_time as capacity_over_time
    from minitopo_dc.results.run_result import RunResult as RunResult
    from minitopo_dc.runners.base import Runner as Runner
    from minitopo_dc.runners.base import Transfer as Transfer
    from minitopo_dc.runners.base import TransferFailed as TransferFailed
    from minitopo_dc.runners.base import runner as runner
    from minitopo_dc.runners.tools import Tool as Tool
    from minitopo_dc.runs.attempts import Retries as Retries
    from minitopo_dc.scenario import Leg as Leg
    from minitopo_dc.scenario import Pdcp as Pdcp
    from minitopo_dc.scenario import Scenario as Scenario
    from minitopo_dc.topologies.dual_connectivity import Gnb as Gnb
    from minitopo_dc.topologies.dual_connectivity import Ue as Ue
    from minitopo_dc.topologies.dual_connectivity import addDualConnectivity as addDualConnectivity
    from minitopo_dc.topologies.radio_link import RadioLink as RadioLink
    from minitopo_dc.topologies.two_path import TwoPath as TwoPath
    from minitopo_dc.ways import Comparison as Comparison
    from minitopo_dc.ways import Run as Run
    from minitopo_dc.ways import compare as compare
    from minitopo_dc.ways import run as run
    from minitopo_dc.workloads import Column as Column
    from minitopo_dc.workloads import Command as Command
    from minitopo_dc.workloads import Download as Download
    from minitopo_dc.workloads import Measure as Measure
    from minitopo_dc.workloads import Measurement as Measurement
    from minitopo_dc.workloads import Ping as Ping
    from minitopo_dc.workloads import Realtime as Realtime
    from minitopo_dc.workloads import RequestResponse as RequestResponse
    from minitopo_dc.workloads import RowsFigure as RowsFigure
    from minitopo_dc.workloads import Video as Video
    from minitopo_dc.workloads import Workload as Workload
    from minitopo_dc.workloads import workload as workload

_HOMES = {
    # Run a scenario, or several beside each other.
    "Scenario": "minitopo_dc.scenario",
    "Leg": "minitopo_dc.scenario",
    "Pdcp": "minitopo_dc.scenario",
    "Download": "minitopo_dc.workloads",
    "RequestResponse": "minitopo_dc.workloads",
    "Ping": "minitopo_dc.workloads",
    "Video": "minitopo_dc.workloads",
    "Realtime": "minitopo_dc.workloads",
    "Command": "minitopo_dc.workloads",
    "run": "minitopo_dc.ways",
    "compare": "minitopo_dc.ways",
    "Run": "minitopo_dc.ways",
    "Comparison": "minitopo_dc.ways",
    "run_scenario": "minitopo_dc.clocks",
    "RunResult": "minitopo_dc.results.run_result",
    "advise": "minitopo_dc.advice",
    "explore": "minitopo_dc.exploration",
    # Load and read results.
    "load_results": "minitopo_dc.results",
    "load_series": "minitopo_dc.results",
    "load_as_run": "minitopo_dc.results.kept_scenario",
    "results_table": "minitopo_dc.results",
    "compare_table": "minitopo_dc.results",
    "save_tables": "minitopo_dc.results",
    "client_rate": "minitopo_dc.results",
    "leg_series": "minitopo_dc.results",
    "leg_rates": "minitopo_dc.results",
    "path_rates": "minitopo_dc.results",
    "path_series": "minitopo_dc.results",
    "pdcp_series": "minitopo_dc.results",
    "buffer_over_time": "minitopo_dc.results",
    "capacity_over_time": "minitopo_dc.results.metrics",
    "connection_log": "minitopo_dc.results.logs",
    "ConnectionLog": "minitopo_dc.results.logs.connection",
    "flow_rates": "minitopo_dc.results.measures.utilisation",
    "handover_table": "minitopo_dc.results.measures.recovery",
    "open_capacity": "minitopo_dc.results.measures.utilisation",
    "with_measures": "minitopo_dc.results.measures.named",
    "run_measures": "minitopo_dc.results.measures.named",
    "reordering_wait_ms": "minitopo_dc.results.measures.pdcp",
    # Campaigns.
    "Campaign": "minitopo_dc.campaign.campaign",
    "load": "minitopo_dc.campaign.table",
    "write_report": "minitopo_dc.report",
    "sobol": "minitopo_dc.campaign.designs",
    "latin_hypercube": "minitopo_dc.campaign.designs",
    "wsp": "minitopo_dc.campaign.designs",
    "points_of": "minitopo_dc.campaign.designs",
    "spread": "minitopo_dc.campaign.designs",
    "grid": "minitopo_dc.campaign.designs",
    "Retries": "minitopo_dc.runs.attempts",
    # Mininet parts (docs/mininet.md).
    "TwoPath": "minitopo_dc.topologies.two_path",
    "addDualConnectivity": "minitopo_dc.topologies.dual_connectivity",
    "Gnb": "minitopo_dc.topologies.dual_connectivity",
    "Ue": "minitopo_dc.topologies.dual_connectivity",
    "RadioLink": "minitopo_dc.topologies.radio_link",
    "testbed": "minitopo_dc.real.network.testbed",
    # Base classes and decorators of plugins (docs/plugins.md).
    "Runner": "minitopo_dc.runners.base",
    "Transfer": "minitopo_dc.runners.base",
    "TransferFailed": "minitopo_dc.runners.base",
    "Tool": "minitopo_dc.runners.tools",
    "runner": "minitopo_dc.runners.base",
    "Workload": "minitopo_dc.workloads",
    "Column": "minitopo_dc.workloads",
    "Measure": "minitopo_dc.workloads",
    "Measurement": "minitopo_dc.workloads",
    "RowsFigure": "minitopo_dc.workloads",
    "workload": "minitopo_dc.workloads",
    "SplitPolicy": "minitopo_dc.pdcp",
    "LegView": "minitopo_dc.pdcp",
    "split_policy": "minitopo_dc.pdcp",
    "AbrAlgorithm": "minitopo_dc.media.abr",
    "AbrChoice": "minitopo_dc.media.abr",
    "AbrView": "minitopo_dc.media.abr",
    "abr_algorithm": "minitopo_dc.media.abr",
    # Errors.
    "MinitopoDcError": "minitopo_dc.errors",
    "InputError": "minitopo_dc.errors",
}
"""The module that each name of the API comes from."""
_MODULES = ("claims", "plots", "statistics")
"""Modules of the API whose names are their own: `dc.plots.curves`, `dc.statistics.means`."""
__all__ = [*_HOMES, *_MODULES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Import a name of the API when it is first used (PEP 562)."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
