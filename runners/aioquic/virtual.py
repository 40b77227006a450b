"""Runner `quic` on the virtual clock: what aioquic shows of its two ends beside other stacks."""

from __future__ import annotations

from typing import Any

from minitopo_dc.runners.aioquic.connection import AioquicConnection
from minitopo_dc.runners.sans_io.virtual import StackPair
from minitopo_dc.runners.virtual import NO_CONGESTION, Congestion


class AioquicPair(StackPair):
    """A client and a server on one path, on which nothing is negotiated."""

    def _check(self, negotiated: dict[str, Any], *, multipath: bool) -> None:
        """Do nothing."""

    def congestion(self) -> Congestion:
        """Read from aioquic's own fields: it shows them in qlog only."""
        connection = self.server.session.connection
        assert isinstance(connection, AioquicConnection)  # as the runner has made it
        return congestion_of(connection.quic._loss) if connection.has_begun else NO_CONGESTION


def congestion_of(recovery: Any) -> Congestion:
    """Return what a `QuicPacketRecovery` knows of congestion; that of aioquic 0.8 has it, too."""
    threshold = recovery._cc.ssthresh
    return Congestion(
        recovery.congestion_window,
        recovery.bytes_in_flight,
        "" if threshold is None else threshold,
        f"{recovery._rtt_smoothed * 1000:.3f}",
    )
