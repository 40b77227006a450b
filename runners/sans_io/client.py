"""Client on a QUIC stack for any workload, over one path or several.

It prints one line of JSON about what it saw. An error is in there too (`error`): the exit code is 0
all the same.
"""

from __future__ import annotations

import gc
import json
import time

from minitopo_dc.runners.processes.start_signal import wait_for_start
from minitopo_dc.runners.sans_io.endpoint import Sockets, code_point, drive, make_connection
from minitopo_dc.runners.sans_io.ends import ClientSession, client_of
from minitopo_dc.runners.sans_io.runner import ClientSettings
from minitopo_dc.runners.sans_io.session import MarkedSession
from minitopo_dc.workloads import Realtime


def main() -> None:
    """Do what the workload asks for, and print the outcome as one line of JSON."""
    settings = ClientSettings.given()
    server = (settings.address, settings.port)
    buffer_bytes = settings.options.receive_buffer_bytes
    with Sockets(
        settings.clients, receive_buffer=buffer_bytes, ecn=code_point(settings)
    ) as sockets:
        gc.freeze()  # what was imported is never garbage: full collections need not visit it
        begin_ns = wait_for_start()
        session = ClientSession(
            make_connection(settings),
            settings.paths,
            sockets.addresses,
            server,
            begin_ns,
            make=client_of(settings.workload),
            marked=_marked(settings, sockets),
        )
        started_ns = time.monotonic_ns()
        session.start(started_ns)
        sockets.send(session.drive(started_ns))
        drive(session, sockets, until=lambda: session.ended)
        report = session.report() | {
            "receive_buffer_bytes": sockets.receive_buffer_bytes,
            "socket_drops": sockets.drops,
            "started_ns": started_ns,
        }
    for connection in session.connections:
        connection.free()  # and write its log
    print(json.dumps(report), flush=True)  # noqa: T201


def _marked(settings: ClientSettings, sockets: Sockets) -> MarkedSession | None:
    workload = settings.workload
    if not isinstance(workload, Realtime) or workload.key_frame_dscp is None:
        return None
    address = sockets.add(settings.clients[0])
    sockets.code_points[address] = workload.key_frame_dscp
    return MarkedSession(make_connection(settings), address)


if __name__ == "__main__":
    main()
