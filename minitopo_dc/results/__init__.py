"""Tables and figures from the directories of runs; this package reads files and runs nothing.

Figures have modules of their own, as Matplotlib takes a second to be imported.
"""

from __future__ import annotations

from minitopo_dc.results.errors import ResultError
from minitopo_dc.results.tables.all_series import load_series
from minitopo_dc.results.tables.load import load_results, results_table
from minitopo_dc.results.tables.playback import buffer_over_time
from minitopo_dc.results.tables.rates import leg_rates, path_rates, path_series
from minitopo_dc.results.tables.render import render_table
from minitopo_dc.results.tables.save import save_tables
from minitopo_dc.results.tables.series import client_rate, leg_series, pdcp_series
from minitopo_dc.results.tables.summary import compare_table

__all__ = [
    "ResultError",
    "buffer_over_time",
    "client_rate",
    "compare_table",
    "leg_rates",
    "leg_series",
    "load_results",
    "load_series",
    "path_rates",
    "path_series",
    "pdcp_series",
    "render_table",
    "results_table",
    "save_tables",
]
