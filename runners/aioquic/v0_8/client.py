"""The client of `quic-aioquic-2020`: one download, and one line of JSON about it."""

from __future__ import annotations

import gc
import json
import socket
import time
from dataclasses import asdict
from functools import partial

from minitopo_dc.runners.addresses import address_family, socket_address
from minitopo_dc.runners.aioquic.client import run
from minitopo_dc.runners.aioquic.endpoint import transmit
from minitopo_dc.runners.aioquic.v0_8.endpoint import DownloadingClient
from minitopo_dc.runners.aioquic.v0_8.log import Log2020
from minitopo_dc.runners.aioquic.v0_8.settings import ClientSettings
from minitopo_dc.runners.processes.start_signal import wait_for_start
from minitopo_dc.runners.processes.udp_socket import set_receive_buffer, socket_drops


def main() -> None:
    """Download once, and print the outcome."""
    told = ClientSettings.given()
    with socket.socket(address_family(told.bind), socket.SOCK_DGRAM) as udp:
        if told.options.receive_buffer_bytes:
            set_receive_buffer(udp, told.options.receive_buffer_bytes)
        udp.bind((told.bind, 0))
        log = Log2020(told.qlog / "1.qlog", time.time) if told.qlog else None
        send = partial(transmit, udp=udp)
        client = DownloadingClient(told.workload, told.options, send, log=log)
        gc.freeze()  # what was imported is never garbage: full collections need not visit it
        wait_for_start()
        started_ns = time.monotonic_ns()
        run(client, udp, socket_address(told.address, told.port))
        client.outcome.receive_buffer_bytes = udp.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        client.outcome.socket_drops = socket_drops(udp)
    if log is not None:
        log.save()
    print(json.dumps(asdict(client.outcome) | {"started_ns": started_ns}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
