"""What the kernel of this host counted: bytes per interface, and what became of MPTCP."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

NETWORK = Path("/proc/net")
"""Of the process's own network namespace (proc(5))."""
MPTCP_COUNTERS = {
    "connections": "MPCapableSYNACKRX",
    "fallbacks": "MPCapableFallbackSYNACK",
    "joined": "MPJoinSynAckRx",
}
"""linux/net/mptcp/mib.c: connections that the server accepted as MPTCP, and as TCP only; further
subflows that it accepted."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Since the host was made, or since other counters."""

    received_bytes: dict[str, int]
    """By interface: whole frames."""
    mptcp: dict[str, int]

    def since(self, before: Counters) -> Counters:
        """The difference."""
        return Counters(
            _minus(self.received_bytes, before.received_bytes), _minus(self.mptcp, before.mptcp)
        )


def host_counters(network: Path = NETWORK) -> Counters:
    """As they are now, of all interfaces but the loopback."""
    rows = [line.replace(":", " ").split() for line in _lines(network / "dev")[2:]]
    received = {row[0]: int(row[1]) for row in rows if row[0] != "lo"}
    counted = _mptcp_counters(_lines(network / "netstat"))
    return Counters(received, {name: counted.get(key, 0) for name, key in MPTCP_COUNTERS.items()})


def _mptcp_counters(lines: list[str]) -> dict[str, int]:
    """Of a line of names and one of values; none where the kernel has no MPTCP."""
    rows = [line.split()[1:] for line in lines if line.startswith("MPTcpExt:")]
    return {name: int(value) for name, value in zip(*rows, strict=True)} if rows else {}


def _minus(later: dict[str, int], earlier: dict[str, int]) -> dict[str, int]:
    return {name: count - earlier.get(name, 0) for name, count in later.items()}


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="ascii").splitlines()
