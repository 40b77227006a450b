"""The client of `quic-aioquic-2020`: one download, and one line of JSON about it."""

from __future__ import annotations

import time
from functools import partial

from minitopo_dc.runners.addresses import socket_address
from minitopo_dc.runners.aioquic.client import bound_socket, run
from minitopo_dc.runners.aioquic.connection import transmit
from minitopo_dc.workloads import as_download

from .endpoint import DownloadingClient, Log2020
from .runner import EndSettings


def main() -> None:
    """Download once, and print the outcome."""
    settings = EndSettings.given()
    workload, options = as_download(settings.workload), settings.options
    log = Log2020(settings.qlog / "1.qlog", time.time) if settings.qlog else None
    with bound_socket(settings.clients[0], options.receive_buffer_bytes) as udp:
        client = DownloadingClient(workload, options, partial(transmit, udp=udp), log=log)
        run(client, udp, socket_address(settings.address, settings.port))
    if log is not None:
        log.save()


if __name__ == "__main__":
    main()
