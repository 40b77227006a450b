"""One run's directory: judged, written, and read back as tables, with measures of it.

This package reads and writes files and runs nothing. The names below are imported when they are
first used, as pandas takes half a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minitopo_dc.results.files import ResultError as ResultError
    from minitopo_dc.results.logs.quic import qlog_events as qlog_events
    from minitopo_dc.results.tables.render import render_table as render_table
    from minitopo_dc.results.tables.runs import load_results as load_results
    from minitopo_dc.results.tables.runs import results_table as results_table
    from minitopo_dc.results.tables.runs import save_tables as save_tables
    from minitopo_dc.results.tables.series import buffer_over_time as buffer_over_time
    from minitopo_dc.results.tables.series import client_rate as client_rate
    from minitopo_dc.results.tables.series import leg_rates as leg_rates
    from minitopo_dc.results.tables.series import leg_series as leg_series
    from minitopo_dc.results.tables.series import load_series as load_series
    from minitopo_dc.results.tables.series import path_rates as path_rates
    from minitopo_dc.results.tables.series import path_series as path_series
    from minitopo_dc.results.tables.series import pdcp_series as pdcp_series
    from minitopo_dc.results.tables.summary import compare_table as compare_table

_SERIES = (
    *("buffer_over_time", "client_rate", "leg_rates", "leg_series", "load_series", "path_rates"),
    *("path_series", "pdcp_series"),
)
_HOMES = {
    "ResultError": "files",
    "qlog_events": "logs.quic",
    "render_table": "tables.render",
    "load_results": "tables.runs",
    "results_table": "tables.runs",
    "save_tables": "tables.runs",
    **dict.fromkeys(_SERIES, "tables.series"),
    "compare_table": "tables.summary",
}
"""The module that each name comes from."""
__all__ = [*_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Import a name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
