"""Server on a QUIC stack: answers the requests of one connection with deterministic bytes.

On SIGTERM or SIGINT it ends its connection if that is not over, and prints one line of JSON about
the connection and each of its paths. Times there are s on the monotonic clock.
"""

from __future__ import annotations

import gc
import json
import signal
import time
from dataclasses import asdict
from typing import Any

from minitopo_dc.quic.connection import StackError
from minitopo_dc.runners.processes.udp_socket import StopSignal, wait_readable
from minitopo_dc.runners.quic import server_options
from minitopo_dc.runners.sans_io.endpoint import Sockets, code_point, drive, make_connection
from minitopo_dc.runners.sans_io.ends import ServerSession, server_of
from minitopo_dc.runners.sans_io.runner import ServerSettings
from minitopo_dc.runners.sans_io.session import MarkedSession
from minitopo_dc.units import NS_PER_MS
from minitopo_dc.workloads import Realtime
from minitopo_dc.workloads.path_reports import PATHS

SAMPLE_NS = 100 * NS_PER_MS
"""Of each path; as often as the subflows of MPTCP are looked at."""


def main() -> None:
    """Serve one connection until SIGTERM or SIGINT, and print the report as one line of JSON."""
    settings = ServerSettings.given()
    stop = StopSignal(signal.SIGTERM, signal.SIGINT)
    sample_ns = SAMPLE_NS if len(settings.clients) > 1 else None
    gc.freeze()  # what was imported is never garbage: full collections need not visit it
    buffer_bytes = server_options(settings.options, settings.workload).receive_buffer_bytes
    with Sockets(
        [settings.address], settings.port, buffer_bytes, ecn=code_point(settings)
    ) as sockets:
        session = ServerSession(
            make_connection(settings, settings.key),
            settings.clients,
            begin=0,
            make=server_of(settings.workload),
            bare=settings.workload.bare_streams,
            sample_ns=sample_ns,
            marked=_marked(settings, sockets),
        )
        drive(session, sockets, stop.waiting, until=lambda: session.ended or stop.requested)
        session.finish(time.monotonic_ns())
        _close(session, sockets)
        if not stop.requested:
            wait_readable([stop.waiting], None)
        report = _report(session, sockets)
    for connection in session.connections:
        connection.free()  # and write its log
    print(json.dumps(report), flush=True)  # noqa: T201


def _marked(settings: ServerSettings, sockets: Sockets) -> MarkedSession | None:
    workload, marks = settings.workload, sockets.code_points
    dscp = workload.key_frame_dscp if isinstance(workload, Realtime) else None
    if dscp is None:
        return None
    connection = make_connection(settings, settings.key)
    return MarkedSession(connection, on_client=lambda client: marks.update({client: dscp}))


def _close(session: ServerSession, sockets: Sockets) -> None:
    """Tell the client, if the connection is not over, and wait for no answer."""
    if session.ready is None or session.ended:
        return
    now = time.monotonic_ns()
    try:
        session.connection.close(now)
    except StackError:
        return  # it is being closed already
    sockets.send(session.drive(now))


def _report(session: ServerSession, sockets: Sockets) -> dict[str, Any]:
    return {
        **session.describe(),
        "server_datagrams_sent": sockets.sent,
        "server_datagrams_received": sockets.received,
        "server_socket_drops": sockets.drops,
        PATHS: [path.values() for path in session.paths.reports()],
        "path_samples": [asdict(sample) for sample in session.take_samples()],
    }


if __name__ == "__main__":
    main()
