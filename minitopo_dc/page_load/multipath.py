"""MPTCP for the browser: endpoints for the further legs, and whether all legs carried bytes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from minitopo_dc.page_load.counters import Counters
from minitopo_dc.page_load.timing import PageError

RUN_WITH_MPTCP = ("mptcpize", "run")
LEAST_SHARE = 0.01
"""Of the page's bytes that each leg must have carried: more than the subflow's handshake."""


def further_legs(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The addresses of all legs but the first, as `minitopo-dc exec` tells them.

    Raises:
        PageError: there are none.
    """
    names = (f"MINITOPO_DC_LEG_{number}" for number in range(2, len(environment) + 2))
    addresses = [environment[name] for name in names if name in environment]
    if not addresses:
        raise PageError("MPTCP needs MINITOPO_DC_LEG_2, ... in the environment (minitopo-dc exec)")
    return addresses


@contextmanager
def endpoints(addresses: list[str]) -> Iterator[None]:
    """Until the end, the kernel opens a subflow from each of these for each connection.

    Those that are endpoints already (the runner `command` makes them) are left as they are.

    Raises:
        PageError: the kernel does not take them.
    """
    present = {each["address"] for each in json.loads(_mptcp("endpoint", "show"))}
    missing = [address for address in addresses if address not in present]
    try:
        for address in missing:
            _mptcp("endpoint", "add", address, "subflow")
        yield
    finally:
        for each in json.loads(_mptcp("endpoint", "show")):
            if each["address"] in missing:
                _mptcp("endpoint", "delete", "id", str(each["id"]))


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


def _mptcp(*words: str) -> str:
    """What ip-mptcp(8) says."""
    command = ["ip", "-json", "mptcp", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PageError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
