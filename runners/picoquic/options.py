"""What both ends of a flow over picoquic are told, on either clock."""

from __future__ import annotations

from minitopo_dc.picoquic.configuration import CONGESTION_CONTROLS as OWN
from minitopo_dc.picoquic.configuration import MAX_PATHS

ALIASES = {"reno": "newreno"}
"""Of congestion controls: what other transports call it."""
CONGESTION_CONTROLS = (*ALIASES, *OWN)
"""All names."""


def congestion_control(name: str) -> str:
    """Picoquic's own name of a congestion control."""
    return ALIASES.get(name, name)


def most_paths(addresses: int) -> int:
    """What a connection is allowed that has so many addresses: with less than 2 no multipath.

    A schedule may use few of many addresses.
    """
    return min(addresses, MAX_PATHS)
