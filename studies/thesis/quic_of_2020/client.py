"""The client of `quic-aioquic-2020`: one download, and one line of JSON about it."""

from __future__ import annotations

import gc
import json
import socket
import time
from functools import partial

from minitopo_dc.runners.addresses import address_family, socket_address
from minitopo_dc.runners.base import Transfer
from minitopo_dc.runners.processes.udp_socket import (
    Address,
    receive_batch,
    set_receive_buffer,
    socket_drops,
    wait_readable,
)
from minitopo_dc.runners.programs import wait_for_start
from minitopo_dc.runners.quic import qlog_directory
from minitopo_dc.workloads import as_download

from .endpoint import DownloadingClient, Log2020, transmit
from .runner import Options2020


def run(client: DownloadingClient, udp: socket.socket, server: Address) -> None:
    """Connect, download, close; print the report when the connection has ended."""
    gc.freeze()  # what was imported is never garbage: full collections need not visit it
    wait_for_start()
    started_ns = time.monotonic_ns()
    timer = client.start(server)
    while not client.ended:
        wait_readable([udp], timer)
        timer = client.step(time.monotonic(), receive_batch(udp))
    report = client.report() | {
        "receive_buffer_bytes": udp.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
        "socket_drops": socket_drops(udp),
        "started_ns": started_ns,
    }
    print(json.dumps(report), flush=True)  # noqa: T201


def main() -> None:
    """Download once, and print the outcome."""
    transfer = Transfer.given()
    workload = as_download(transfer.workload)
    options = Options2020.check(transfer.options, "runner quic-aioquic-2020")
    qlog = qlog_directory(transfer, options, "client")
    log = Log2020(qlog / "1.qlog", time.time) if qlog else None
    address = transfer.client_addresses[0]
    with socket.socket(address_family(address), socket.SOCK_DGRAM) as udp:
        if options.receive_buffer_bytes:
            set_receive_buffer(udp, options.receive_buffer_bytes)
        udp.bind((address, 0))
        client = DownloadingClient(workload, options, partial(transmit, udp=udp), log=log)
        run(client, udp, socket_address(transfer.server_address, transfer.port))
    if log is not None:
        log.save()


if __name__ == "__main__":
    main()
