"""Orders for a guest's agent, or for its proxy on a host: `struct orders` of agent/orders.h.

All times are ns on the monotonic clock; a guest's is that of the process that runs it.
"""

from __future__ import annotations

import functools
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from cffi import FFI

from minitopo_dc.linux_guest import ORDERS

ChangeName = Literal["add", "delete", "delete-initial", "backup", "available"]
ACTIONS: tuple[ChangeName, ...] = get_args(ChangeName)
"""In the order of `enum action`."""
COUNTS = {"flight": "flights", "attempt": "attempts", "setting": "settings", "change": "changes"}
"""Which member has the count of a list."""
ADDRESS = "struct sockaddr_storage { uint16_t family; uint8_t data[118]; uint64_t alignment; };"


def orders(
    server: tuple[str, int],
    *,
    clients: Sequence[str] = (),
    proxy: str | None = None,
    congestion_control: str = "",
    sysctl: Mapping[str, str] | None = None,
    **members: Any,
) -> bytes:
    """Return the file that the agent reads.

    Args:
        server: the server's address and port.
        clients: the client's addresses: of card 1, 2, ...
        proxy: the proxy's address; its port is the server's. None: there is none.
        congestion_control: of the server, or the proxy, as the kernel names it; of programs both
            hosts', and empty for the kernel's own.
        sysctl: kernel settings of both hosts.
        members: the others of `struct orders`, by their names; a list's count is its own.
    """
    address, port = server
    members["setting"] = [
        (f"/proc/sys/{name.replace('.', '/')}".encode(), value.encode())
        for name, value in (sysctl or {}).items()
    ]
    counts = {count: len(members.get(name, ())) for name, count in COUNTS.items()}
    made = _ffi().new(
        "struct orders *",
        {
            "server": _socket_address(address, port),
            "client": [{}, *(_socket_address(client, 0) for client in clients)],
            "clients": len(clients),
            "proxy": {} if proxy is None else _socket_address(proxy, port),
            "congestion_control": congestion_control.encode(),
            "change": (),
            **counts,
            **members,
        },
    )
    return bytes(_ffi().buffer(made))


def words(given: Iterable[str]) -> bytes:
    """Return a file of words, such as those of a program's command line."""
    return b"".join(os.fsencode(word) + b"\0" for word in given)


@functools.cache
def _ffi() -> FFI:
    ffi = FFI()
    ffi.cdef(ADDRESS + ORDERS.read_text(encoding="ascii"))
    return ffi


def _socket_address(address: str, port: int) -> dict[str, Any]:
    """Return what a `struct sockaddr_in` or `sockaddr_in6` has; the latter's flow label is 0."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    flow = bytes(4) if family == socket.AF_INET6 else b""
    return {
        "family": family,
        "data": port.to_bytes(2, "big") + flow + socket.inet_pton(family, address),
    }
