"""The end hosts' addresses, on either clock.

The two-path topology has the same ones written down: it also works without this package. A test
keeps them equal.
"""

from __future__ import annotations

SERVER_ADDRESS = "10.0.0.2"
SERVER_PORT = 4433
"""Of the first flow; the next ones have the ports behind it."""


def client_address(leg: int) -> str:
    """The client's address whose traffic takes leg ``leg`` (1, 2, ...)."""
    return f"10.2.{leg}.2"


def server_address(link: int) -> str:
    """The server's address on backhaul link ``link`` (1, 2, ...)."""
    return f"10.0.{link - 1}.2"
