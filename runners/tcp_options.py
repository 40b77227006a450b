"""Options of `tcp` and `mptcp`."""

from __future__ import annotations

import dataclasses
from typing import Literal

TlsVersion = Literal["1.2", "1.3"]


@dataclasses.dataclass(frozen=True, slots=True)
class MptcpOptions:
    """What one can choose of HTTP/2 over TLS.

    Attributes:
        tls: the version of the handshake: 1.3 takes one round trip behind TCP's (RFC 8446), 1.2,
            which the experiments of "Multipath QUIC: Design and Evaluation" had, two (RFC 5246).
    """

    tls: TlsVersion = "1.3"


@dataclasses.dataclass(frozen=True, slots=True)
class TcpOptions(MptcpOptions):
    """The same, and what is recorded.

    Attributes:
        tcp_info: whether the server writes what the kernel says of its connections
            (`runners.tcp_info`).
    """

    tcp_info: bool = False
