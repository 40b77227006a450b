"""Transports over picoquic: QUIC on one path, and MP-QUIC, also as a tunnel of ATSSS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minitopo_dc.quic.configuration import SCHEDULERS
from minitopo_dc.quic.picoquic.library import PICOQUIC
from minitopo_dc.quic.stack import Stack
from minitopo_dc.runners.base import runner
from minitopo_dc.runners.quic import MAX_PAYLOAD, MIN_PAYLOAD, QuicOptions
from minitopo_dc.runners.sans_io.runner import (
    MultipathStackRunner,
    PathOptions,
    StackRunner,
    names_of_controls,
)
from minitopo_dc.workloads import Workload

TUNNEL_BYTES = 43
"""By which a datagram of ATSSS's tunnel may be larger than the inner one: 2 of HTTP (Quarter Stream
ID and Context ID), and the most that `mdc_send_datagram` leaves for QUIC's headers and tag."""
OF_STREAMS = ("blest", "redundant")
"""Schedulers that DATAGRAM frames cannot have: they have no flow control (RFC 9221, section 5.3),
and no copies are made of them."""


@runner("quic-picoquic")
class PicoquicRunner(StackRunner):
    """QUIC on one path, with picoquic on both sides."""

    library: ClassVar[Stack] = PICOQUIC
    stack: ClassVar[str] = PICOQUIC.name
    congestion_controls: ClassVar[tuple[str, ...]] = names_of_controls(PICOQUIC)


@runner("mpquic-picoquic")
class MultipathPicoquicRunner(MultipathStackRunner):
    """MP-QUIC (draft-ietf-quic-multipath) on one path per client address."""

    options_type: ClassVar[type[QuicOptions]] = PathOptions
    library: ClassVar[Stack] = PICOQUIC
    stack: ClassVar[str] = PICOQUIC.name
    congestion_controls: ClassVar[tuple[str, ...]] = names_of_controls(PICOQUIC)

    def modes(self) -> tuple[str, ...]:
        """Return that it is multipath to the server, or with ATSSS a tunnel to the UPF."""
        return ("multipath", "atsss")

    def proxy_refusal(
        self,
        workload: Workload,  # noqa: ARG002
        options: Mapping[str, Any],
        ip_version: int,
    ) -> str | None:
        """Return that a tunnel cannot have a scheduler, or datagrams of the inner connection."""
        given = PathOptions.check(options, f"runner {self.name}")
        if given.scheduler in OF_STREAMS:
            allowed = ", ".join(name for name in SCHEDULERS if name not in OF_STREAMS)
            return (
                f"whose tunnel has DATAGRAM frames: options.scheduler {given.scheduler} is for "
                f"streams; allowed: {allowed}, or a plugin's"
            )
        most = MAX_PAYLOAD[ip_version] - TUNNEL_BYTES
        if given.max_datagram_bytes > most:
            return (
                f"whose tunnel adds up to {TUNNEL_BYTES} bytes: options.max_datagram_bytes is "
                f"{given.max_datagram_bytes}; allowed: {MIN_PAYLOAD} to {most}"
            )
        return None
