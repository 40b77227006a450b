"""The options of the runners of QUIC on one path."""

from __future__ import annotations

from dataclasses import dataclass

from minitopo_dc.runners.options import SocketBuffer

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class QuicOptions:
    """Options of `quic` and `quic-ngtcp2`: the same defaults, so that the two can be compared.

    The windows' default is never the limit: a leg pair of 100 Mbit/s that is blocked for
    t-Reordering's 200 ms on top of a round trip of 300 ms needs 6.25 MB (rate times delay). aioquic
    (its own default: 1 MiB) doubles a window each time half of it was used; ngtcp2 (15 MiB, and
    6 MiB per stream) would tune it too, which the runner turns off.
    """

    # As the kernel counts it. Default: the kernel's (net.core.rmem_default, 212,992 on Linux);
    # the papers' modified set-up has 33,554,432 (thesis, table 4.4).
    receive_buffer_bytes: SocketBuffer | None = None
    max_data: int = 16 * MEBIBYTE
    max_stream_data: int = 16 * MEBIBYTE
    # Off: logging slows both ends down, and the papers measured without (thesis, section 4).
    # ngtcp2's client writes one in any run, as its times are read from it; off: it is removed.
    qlog: bool = False
    # UDP payload. Default: aioquic's own, the least that every path takes (RFC 9000, section 14);
    # the papers' aioquic of 2020 had 1,280 (thesis, section 4.1: "the size of the UDP frames").
    # ngtcp2's own way, path MTU discovery, would find 1,444 here and so have less overhead.
    max_datagram_bytes: int = 1200
