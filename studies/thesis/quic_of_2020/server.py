"""The server of `quic-aioquic-2020`: one connection after the other, until SIGTERM or SIGINT."""

from __future__ import annotations

import gc
import signal
import socket
import time
from functools import partial
from pathlib import Path

from minitopo_dc.runners.addresses import address_family
from minitopo_dc.runners.base import Transfer
from minitopo_dc.runners.processes.udp_socket import StopSignal, receive_batch, wait_readable
from minitopo_dc.runners.quic import qlog_directory

from .endpoint import BodyServer, Log2020, transmit
from .library import module
from .runner import Options2020


def serve(udp: socket.socket, stop: StopSignal, qlog: Path | None, *, pacing: bool) -> None:
    """Serve connections until the signal came and the present one has ended."""
    number = 0
    while not stop.requested:
        number += 1
        log = Log2020(qlog / f"{number}.qlog", time.time) if qlog else None
        server = BodyServer(partial(transmit, udp=udp), log, pacing=pacing)
        timer: float | None = None
        while not (server.ended or (stop.requested and server.connection is None)):
            wait_readable([udp, *([] if stop.requested else [stop.waiting])], timer)
            if stop.requested:
                server.close()  # once; then it does nothing
            timer = server.step(time.monotonic(), receive_batch(udp))
        if log is not None and server.connection is not None:
            log.save()


def main() -> None:
    """Serve until the signal came."""
    transfer = Transfer.given()
    options = Options2020.check(transfer.options, "runner quic-aioquic-2020")
    module("h3.connection")  # before the first datagram: it takes a while
    udp = socket.socket(address_family(transfer.server_address), socket.SOCK_DGRAM)
    udp.bind((transfer.server_address, transfer.port))
    stop = StopSignal(signal.SIGTERM, signal.SIGINT)
    gc.freeze()  # what was imported is never garbage: full collections need not visit it
    serve(udp, stop, qlog_directory(transfer, options, "server"), pacing=options.pacing)


if __name__ == "__main__":
    main()
