"""Loss recovery at the server: its window, what it declared lost, and its round trips.

It is read from samples of the kernel's TCP (`tcp-info.csv`) where the run has some, else from the
server's qlog; of several flows it is the first one's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

import minitopo_dc as dc
from minitopo_dc.results.qlog import LOST, METRICS, qlog_events
from minitopo_dc.results.run_result import of_first_flow
from minitopo_dc.results.tcp_info import FILE, decreases, tcp_info
from minitopo_dc.units import NS_PER_S

SENDER = ["rtt_ms", "drop_occasions", "lost_packets"]


@dataclass(frozen=True)
class LossRecovery:
    """The loss recovery of one connection."""

    window: pd.DataFrame
    """`time_s` since the first event, `cwnd_bytes`; of a qlog a row a change, and the last one."""
    lost_packets: int
    """What was declared lost, whether it was or came late; of TCP segments sent again."""
    drop_occasions: int
    """Decreases of the congestion window: packets that are lost together decrease it once (RFC
    9002, section 7.3.2)."""
    rtt_ms: float
    """The mean of the samples of the round-trip time, of TCP of the smoothed one; NaN: none."""


@dc.run_measures(*SENDER)
def sender_measures(run: Path) -> dict[str, float]:
    """Return the numbers of `server_recovery`, whose errors it has."""
    recovery = server_recovery(run)
    return {name: float(getattr(recovery, name)) for name in SENDER}


def server_recovery(run: Path) -> LossRecovery:
    """Return the loss recovery of a run's server.

    The round-trip times of ngtcp2 are cut to whole milliseconds: their mean is 0.5 ms low.

    Raises:
        ResultError: a run of TCP or QUIC recorded neither (`options: {tcp_info: true}`, `{qlog:
            true}`), or it is broken.
    """
    return _of_kernel(run) if of_first_flow(run, FILE) is not None else _of_qlog(run)


def _of_kernel(run: Path) -> LossRecovery:
    info = tcp_info(run)
    elapsed = (info["time_ns"] - info["time_ns"].iloc[0]) / NS_PER_S
    return LossRecovery(
        window=info[["cwnd_bytes"]].assign(time_s=elapsed)[["time_s", "cwnd_bytes"]],
        lost_packets=int(info["retransmissions"].max()),
        drop_occasions=int(decreases(info).sum()),
        rtt_ms=float(info["smoothed_rtt_ms"].mean()),
    )


def _of_qlog(run: Path) -> LossRecovery:
    events = qlog_events(run, "server")
    metrics = [(event["time"], event["data"]) for event in events if event["name"] == METRICS]
    windows = pd.DataFrame(
        [
            ((time - events[0]["time"]) / 1000, data["cwnd"])
            for time, data in metrics
            if "cwnd" in data
        ],
        columns=["time_s", "cwnd_bytes"],
    )
    changes = windows["cwnd_bytes"].diff()
    rtts = [data["latest_rtt"] for _, data in metrics if "latest_rtt" in data]
    return LossRecovery(
        window=windows[(changes != 0) | (windows.index == len(windows) - 1)].reset_index(drop=True),
        lost_packets=sum(event["name"] == LOST for event in events),
        drop_occasions=int((changes < 0).sum()),
        rtt_ms=sum(rtts) / len(rtts) if rtts else math.nan,
    )
