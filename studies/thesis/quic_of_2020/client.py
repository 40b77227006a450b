"""The client of `quic-aioquic-2020`: one download, and one line of JSON about it."""

from __future__ import annotations

import time
from functools import partial

from minitopo_dc.runners.addresses import socket_address
from minitopo_dc.runners.aioquic.client import bound_socket, run
from minitopo_dc.runners.aioquic.connection import transmit
from minitopo_dc.runners.base import Transfer
from minitopo_dc.runners.quic import qlog_directory
from minitopo_dc.workloads import as_download

from .endpoint import DownloadingClient, Log2020
from .runner import Options2020


def main() -> None:
    """Download once, and print the outcome."""
    transfer = Transfer.given()
    workload = as_download(transfer.workload)
    options = Options2020.check(transfer.options, "runner quic-aioquic-2020")
    qlog = qlog_directory(transfer, options, "client")
    log = Log2020(qlog / "1.qlog", time.time) if qlog else None
    with bound_socket(transfer.client_addresses[0], options.receive_buffer_bytes) as udp:
        client = DownloadingClient(workload, options, partial(transmit, udp=udp), log=log)
        run(client, udp, socket_address(transfer.server_address, transfer.port))
    if log is not None:
        log.save()


if __name__ == "__main__":
    main()
