"""What both ends of a flow over picoquic are told."""

from __future__ import annotations

from pathlib import Path

from minitopo_dc.picoquic.configuration import CONGESTION_CONTROLS as OWN
from minitopo_dc.picoquic.configuration import MAX_PATHS
from minitopo_dc.runners.quic import QuicEnd
from minitopo_dc.settings import PathPlan
from minitopo_dc.workloads import Download, Realtime, RequestResponse, Video, Workload

ALIASES = {"reno": "newreno"}
"""Of congestion controls: what other transports call it."""
CONGESTION_CONTROLS = (*ALIASES, *OWN)
"""All names."""


ANY_DATAGRAM = 65_535
"""As RFC 9221, section 3, recommends."""


class EndSettings(QuicEnd):
    """Of both programs."""

    clients: tuple[str, ...]
    """The client's address of each leg that is used, in order."""


class ServerSettings(EndSettings):
    """Of the server."""

    key: Path


class ClientSettings(EndSettings):
    """Of the client."""

    paths: PathPlan
    begin_ns: int
    """Time zero of the paths, on the monotonic clock."""
    workload: Download | RequestResponse | Video | Realtime


def congestion_control(name: str) -> str:
    """Picoquic's own name of a congestion control."""
    return ALIASES.get(name, name)


def datagram_frame(workload: Workload) -> int:
    """Bytes of a DATAGRAM frame that a workload's client takes: any that fits, or none."""
    needed = isinstance(workload, Realtime) and workload.delivery == "datagrams"
    return ANY_DATAGRAM if needed else 0


def most_paths(addresses: int) -> int:
    """What a connection is allowed that has so many addresses: with less than 2 no multipath.

    A schedule may use few of many addresses.
    """
    return min(addresses, MAX_PATHS)
