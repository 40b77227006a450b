"""The names of `minitopo_dc.results`, each with the module that has it."""

from .bound import bound_mbps as bound_mbps
from .files import ResultError as ResultError
from .kept_scenario import load_as_run as load_as_run
from .measures.account import packet_account as packet_account
from .measures.account import reordering_wait_ms as reordering_wait_ms
from .measures.delays import packet_delays as packet_delays
from .measures.named import run_measures as run_measures
from .measures.named import with_measures as with_measures
from .measures.recovery import handover_table as handover_table
from .measures.utilisation import open_capacity as open_capacity
from .qlog import qlog_events as qlog_events
from .run_result import RunResult as RunResult
from .run_result import capacity_over_time as capacity_over_time
from .tables.series import buffer_over_time as buffer_over_time
from .tables.series import client_rate as client_rate
from .tables.series import leg_rates as leg_rates
from .tables.series import leg_series as leg_series
from .tables.series import load_series as load_series
from .tables.series import path_rates as path_rates
from .tables.series import path_series as path_series
from .tables.series import pdcp_series as pdcp_series
from .tables.summary import compare_table as compare_table
from .tables.summary import render_table as render_table
