"""Options of runners: each runner has a model that says which there are."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict

from minitopo_dc.fields import IpVersion, Settings
from minitopo_dc.fields.ranges import within

MOST = 2**62 - 1
"""Of every size: what QUIC can write (RFC 9000, section 16)."""
Size = Annotated[int, *within(1, MOST)]
ETHERNET_BYTES = 1500
"""Of IP in a frame of Ethernet (RFC 894)."""
SocketBuffer = Annotated[int, *within(1, 2**30 - 1, "bytes")]
"""The kernel doubles it, in a C int (socket(7), SO_RCVBUF)."""


class Options(Settings):
    """Options of a runner that has none; a subclass has those of another runner.

    Each is a whole number from 1 on, a number with a range of `settings.ranges`, one of some words
    or a switch; one that may be None is None unless it is given.
    """

    model_config = ConfigDict(strict=True)

    def packet_bytes(self, ip_version: IpVersion) -> int | None:  # noqa: ARG002 (a hook)
        """Return the size of the transport's largest IP packets in bytes, None if not known."""
        return None
