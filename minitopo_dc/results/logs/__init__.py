"""What transports recorded of their connections: qlogs, samples of TCP, captures."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from minitopo_dc.fields import SettingsError
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.logs.connection import ConnectionLog, LossRecovery
from minitopo_dc.results.logs.quic import quic_log, server_recovery
from minitopo_dc.results.logs.tcp import tcp_info_file, tcp_log, tcp_recovery


def connection_log(run: Path) -> ConnectionLog:
    """Read a run's connection; of several flows, that of the first one.

    Raises:
        ResultError: a file is missing (which the scenario must ask for: docs/results.md) or
            broken, or no content was sent.
        OSError: the run has no result.
    """
    return _read(run, (run / "result.json").stat().st_mtime_ns)


def sender_recovery(run: Path) -> LossRecovery:
    """Return the loss recovery of a run's server, from `tcp-info.csv` if it exists, else its qlog.

    Raises:
        ResultError: a run of TCP or QUIC has neither, or it is broken.
    """
    return tcp_recovery(run) if tcp_info_file(run) is not None else server_recovery(run)


@lru_cache(maxsize=1)
def _read(run: Path, _version: int) -> ConnectionLog:
    """Read a run's connection; keep the last one, which several measures need."""
    try:
        scenario = load_as_run(run)
    except SettingsError as error:
        raise ResultError(str(error)) from None
    if scenario.resolved_flows[0].transport == "tcp":
        log = tcp_log(run, virtual=scenario.clock == "virtual")
    else:
        log = quic_log(run)
    if log.packets["received_s"].isna().all():
        raise ResultError(f"{run}: no packet with content arrived")
    return log
