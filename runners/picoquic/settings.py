"""Settings of both ends of a flow over picoquic."""

from __future__ import annotations

from pathlib import Path

from minitopo_dc.picoquic.configuration import CONGESTION_CONTROLS as OWN
from minitopo_dc.picoquic.configuration import IDLE_TIMEOUT_S, MAX_PATHS, DemotedPaths
from minitopo_dc.runners.quic import QuicEnd, QuicOptions
from minitopo_dc.settings import PathPlan
from minitopo_dc.workloads import Realtime, Workload

ALIASES = {"reno": "newreno"}
"""Of congestion controls: what other transports call it."""
CONGESTION_CONTROLS = (*ALIASES, *OWN)
"""All names of congestion controls."""


class PicoquicOptions(QuicOptions):
    """Also what concerns several paths."""

    demoted_paths: DemotedPaths = "as-now"


class EndSettings(QuicEnd):
    """Settings of both programs, server and client."""

    options: PicoquicOptions
    clients: tuple[str, ...]
    """The client's address of each leg that is used, in order."""


class ServerSettings(EndSettings):
    """Settings of the server program."""

    key: Path


class ClientSettings(EndSettings):
    """Settings of the client program."""

    paths: PathPlan


def congestion_control(name: str) -> str:
    """Return picoquic's own name of a congestion control."""
    return ALIASES.get(name, name)


def idle_timeout_s(workload: Workload) -> float:
    """Return after which silence (s) a connection ends.

    One of two may have nothing to carry during a whole call.
    """
    has_keys = isinstance(workload, Realtime) and workload.key_frame_dscp is not None
    return IDLE_TIMEOUT_S + ((workload.lasts_s or 0) if has_keys else 0)


def path_limit(addresses: int) -> int:
    """Return how many paths a connection with so many addresses may have, up to picoquic's most.

    With fewer than 2 there is no multipath. A schedule may use few of many addresses.
    """
    return min(addresses, MAX_PATHS)
