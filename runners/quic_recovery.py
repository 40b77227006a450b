"""Loss recovery as in 2020, for comparison with what was measured then."""

from __future__ import annotations

from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet_builder import QuicSentPacket
from aioquic.quic.recovery import QuicPacketRecovery


class Draft27Recovery(QuicPacketRecovery):
    """aioquic 1.7's recovery, but for two rules of aioquic 0.8 and 0.9 (spring 2020).

    - A probe timeout declares no application data lost and sends none again: the probe is a bare
      PING, as draft-ietf-quic-recovery-27 allows. The acknowledgement of the probe makes what is
      missing lost by packet threshold, a congestion event. aioquic 1.7 sends the oldest data
      again, and that is no congestion event (RFC 9002, section 6.2.4).
    - There is no persistent congestion, which draft 27 has but aioquic had not: the window never
      collapses to its minimum (RFC 9002, section 7.6).

    CRYPTO data is sent again by both. State is that of the base class, so that a connection's
    recovery may become this class (`use_draft_27`).
    """

    def reschedule_data(self, *, now: float, speed_up_handshake: bool = False) -> None:  # noqa: ARG002
        """At a probe timeout: CRYPTO data again, if any, and a probe."""
        super().reschedule_data(now=now, speed_up_handshake=True)

    def _in_persistent_congestion(self, *, packets: list[QuicSentPacket]) -> bool:  # noqa: ARG002
        return False


def use_draft_27(connection: QuicConnection) -> None:
    """Let a connection that was just made recover like aioquic in 2020.

    aioquic has no parameter for this, and a second constructor call would have to repeat all
    arguments that its own connection passes.
    """
    recovery = connection._loss
    recovery.__class__ = Draft27Recovery
