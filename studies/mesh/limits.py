"""What kept a connection from its throughput: slow start that ended early, or false losses.

The kinds are those of section 5.2 and table 5. Their definitions are this project's, as the paper
gives none. Which packets were really lost is known here: the client logs what arrived.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from connection import ConnectionLog, connection_log

import minitopo_dc as dc

Kind = Literal["early exit", "false loss", "normal"]
BEHAVIOUR_MEASURES = (
    *("early_exit", "false_loss", "normal_behaviour", "false_cuts", "window_cuts"),
    *("spurious_losses", "cwnd_over_optimum", "reached_optimum"),
)
"""The fields of a `Behaviour` that are measures."""


@dataclass(frozen=True)
class Behaviour:
    """The behaviour of one connection."""

    optimum_bytes: float
    """Capacity of the legs times least round-trip time; NaN where either is not known."""
    exit_bytes: float
    """The window at which the first slow start ended; NaN: it never did."""
    early_exit: bool
    """Whether slow start ended without a loss, below the optimum."""
    false_cuts: int
    """How often the window was cut though every packet it was cut for arrived."""
    cuts: int
    spurious_losses: int
    """Packets that were declared lost, also by a timeout, and arrived."""
    lost_packets: int
    """Packets that were declared lost."""
    mean_cwnd_bytes: float
    reached_optimum: bool
    """Whether the window was ever as large as the optimum."""

    @property
    def kind(self) -> Kind:
        """Return one of the three kinds; an early exit comes first, as the rest follows from it."""
        return "early exit" if self.early_exit else "false loss" if self.false_cuts else "normal"


@dc.run_measures(*BEHAVIOUR_MEASURES)
def behaviour_measures(run: Path) -> dict[str, float]:
    """Return how the connection of a run behaved; what is true or false is 1 or 0.

    Errors are those of `behaviour`.
    """
    of = behaviour(run)
    numbers = (
        *(of.early_exit, of.false_cuts > 0, of.kind == "normal", of.false_cuts, of.cuts),
        *(of.spurious_losses, of.mean_cwnd_bytes / of.optimum_bytes, of.reached_optimum),
    )
    return {name: float(n) for name, n in zip(BEHAVIOUR_MEASURES, numbers, strict=True)}


def behaviour(run: Path) -> Behaviour:
    """Return how the connection of a run behaved; of several flows, the first one.

    Raises:
        ResultError: a record is missing or broken (`connection_log`).
    """
    result = dc.results.RunResult.load(run)
    goodput, share = result.goodput_mbps, result.capacity_share
    # Of all legs together, as the mean over the transfer.
    capacity_bps = goodput * 1e6 / share if goodput and share else math.nan
    return behaviour_of(connection_log(run), capacity_bps)


def behaviour_of(log: ConnectionLog, capacity_bps: float) -> Behaviour:
    """Return the behaviour of a connection that both ends logged, on legs of a capacity (bit/s)."""
    optimum = capacity_bps / 8 * log.least_rtt_s
    exit_bytes, by_loss = _slow_start_exit(log)
    windows, lasted = log.during()
    return Behaviour(
        optimum_bytes=optimum,
        exit_bytes=exit_bytes,
        early_exit=not by_loss and exit_bytes < optimum,
        false_cuts=sum(all(log.were_received(cut.lost)) for cut in log.cuts),
        cuts=len(log.cuts),
        spurious_losses=sum(log.were_received(log.lost)),
        lost_packets=len(log.lost),
        mean_cwnd_bytes=float(np.average(windows["cwnd_bytes"], weights=lasted)),
        reached_optimum=bool(windows["cwnd_bytes"].max() >= optimum),
    )


def _slow_start_exit(log: ConnectionLog) -> tuple[float, bool]:
    """Return the window when the first threshold was set (NaN: never), and whether by a loss."""
    known = log.windows[log.windows["ssthresh_bytes"].notna()]
    if known.empty:
        return math.nan, False
    first = known.iloc[0]
    for cut in log.cuts:
        if cut.time_s <= first["time_s"]:
            return float(cut.cwnd_bytes), True
    return float(first["ssthresh_bytes"]), False
