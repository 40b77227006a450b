"""MPTCP for the browser, and whether it was used over all legs."""

from __future__ import annotations

from minitopo_dc.page_load.counters import Counters
from minitopo_dc.page_load.timing import PageError

RUN_WITH_MPTCP = ("mptcpize", "run")
LEAST_SHARE = 0.01
"""Of the page's bytes that each leg must have carried: more than the subflow's handshake."""


def check_multipath(counted: Counters, page_bytes: int) -> None:
    """Return when MPTCP was used, and over all legs.

    Raises:
        PageError: it was not.
    """
    if not counted.mptcp["connections"]:
        raise PageError("no MPTCP connection: the browser's sockets are plain TCP")
    if counted.mptcp["fallbacks"]:
        raise PageError(f"{counted.mptcp['fallbacks']} connections fell back to TCP (RFC 8684)")
    for name, received in counted.received_bytes.items():
        if received < LEAST_SHARE * page_bytes:
            raise PageError(f"{name} carried {received} of the page's {page_bytes} bytes")
