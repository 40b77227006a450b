"""A server's reports on its connection over picoquic, on either clock."""

from __future__ import annotations

from typing import Any

from minitopo_dc.picoquic.library import PICOQUIC_VERSION
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.picoquic.session import Session
from minitopo_dc.runners.picoquic.settings import congestion_control


def describe(server: Session) -> dict[str, Any]:
    """Return what was negotiated, and picoquic's version and the congestion control of the data.

    It is empty if there was no connection.
    """
    if server.ready is None:
        return {}
    return {
        "picoquic": PICOQUIC_VERSION,
        "quic_version": server.ready.version,
        "multipath": server.ready.multipath,
        "congestion_control": server.ready.congestion_control,
    }


def check_negotiated(server: dict[str, Any], control: str, *, multipath: bool) -> None:
    """Check that a connection had what was asked for.

    Args:
        server: what `describe` said of the server's end.
        control: the congestion control asked for.
        multipath: whether paths were.

    Raises:
        TransferFailed: it had something else.
    """
    if server.get("quic_version") is None:
        raise TransferFailed("the server saw no connection")
    used = server["congestion_control"]
    if used != congestion_control(control):
        raise TransferFailed(f"the connection used congestion control {used}, not {control}")
    if server["multipath"] != multipath:
        raise TransferFailed("multipath was not negotiated")
