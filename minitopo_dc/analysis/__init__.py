"""From the directories of runs to tables and figures. Reads files only; runs nothing."""

from __future__ import annotations

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.analysis.figure import goodput_figure
from minitopo_dc.analysis.leg_rates import leg_rates, legs_figure
from minitopo_dc.analysis.load import load_results, results_table
from minitopo_dc.analysis.path_rates import path_rates, path_series, paths_figure
from minitopo_dc.analysis.render import render_table
from minitopo_dc.analysis.rows_figure import read_rows, rows_figure
from minitopo_dc.analysis.save import save_tables
from minitopo_dc.analysis.series import client_rate, leg_series, pdcp_series
from minitopo_dc.analysis.summary import compare_table

__all__ = [
    "ResultError",
    "client_rate",
    "compare_table",
    "goodput_figure",
    "leg_rates",
    "leg_series",
    "legs_figure",
    "load_results",
    "path_rates",
    "path_series",
    "paths_figure",
    "pdcp_series",
    "read_rows",
    "render_table",
    "results_table",
    "rows_figure",
    "save_tables",
]
