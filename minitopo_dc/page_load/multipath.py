"""MPTCP for the browser, and whether it was used over all legs, by the kernel's counters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from minitopo_dc.page_load.timing import PageError

RUN_WITH_MPTCP = ("mptcpize", "run")
MIN_SHARE = 0.01
"""Of the page's bytes that each leg must have carried: more than the subflow's handshake."""
NETWORK = Path("/proc/net")
"""Of the process's own network namespace (proc(5))."""
MPTCP_COUNTERS = {
    "connections": "MPCapableSYNACKRX",
    "fallbacks": "MPCapableFallbackSYNACK",
    "joined": "MPJoinSynAckRx",
}
"""linux/net/mptcp/mib.c: connections that the server accepted as MPTCP, and as TCP only; further
subflows that it accepted."""


def check_multipath(counted: Counters, page_bytes: int) -> None:
    """Refuse a page load that did not use MPTCP over all legs.

    Raises:
        PageError: it was not.
    """
    if not counted.mptcp["connections"]:
        raise PageError("no MPTCP connection: the browser's sockets are plain TCP")
    if counted.mptcp["fallbacks"]:
        raise PageError(f"{counted.mptcp['fallbacks']} connections fell back to TCP (RFC 8684)")
    for name, received in counted.received_bytes.items():
        if received < MIN_SHARE * page_bytes:
            raise PageError(f"{name} carried {received} of the page's {page_bytes} bytes")


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of a host since it was made, or since other counters."""

    received_bytes: dict[str, int]
    """By interface: whole frames."""
    mptcp: dict[str, int]

    def since(self, before: Counters) -> Counters:
        """Return the difference to earlier counters."""
        return Counters(
            _minus(self.received_bytes, before.received_bytes), _minus(self.mptcp, before.mptcp)
        )


def host_counters(network: Path = NETWORK) -> Counters:
    """Return the counters of now, of all interfaces but the loopback."""
    rows = [line.replace(":", " ").split() for line in _lines(network / "dev")[2:]]
    received = {row[0]: int(row[1]) for row in rows if row[0] != "lo"}
    counted = _mptcp_counters(_lines(network / "netstat"))
    return Counters(received, {name: counted.get(key, 0) for name, key in MPTCP_COUNTERS.items()})


def _mptcp_counters(lines: list[str]) -> dict[str, int]:
    """Return the counters of a line of names and one of values, none without MPTCP."""
    rows = [line.split()[1:] for line in lines if line.startswith("MPTcpExt:")]
    return {name: int(value) for name, value in zip(*rows, strict=True)} if rows else {}


def _minus(later: dict[str, int], earlier: dict[str, int]) -> dict[str, int]:
    return {name: count - earlier.get(name, 0) for name, count in later.items()}


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="ascii").splitlines()
