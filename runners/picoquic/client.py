"""Client on picoquic: a download, requests, a video or a call, over one path or several.

It prints one line of JSON about what it saw. An error is in there too (`error`): the exit code is 0
all the same.
"""

from __future__ import annotations

import gc
import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict

from minitopo_dc.picoquic.connection import Connection
from minitopo_dc.picoquic.events import Address
from minitopo_dc.runners.payload.request_reports import plan_of
from minitopo_dc.runners.picoquic.call import CallSession
from minitopo_dc.runners.picoquic.download import DownloadSession
from minitopo_dc.runners.picoquic.endpoint import Sockets, configuration, drive
from minitopo_dc.runners.picoquic.key_frames import KeyFrames
from minitopo_dc.runners.picoquic.requests import RequestSession
from minitopo_dc.runners.picoquic.session import ClientSession
from minitopo_dc.runners.picoquic.settings import ClientSettings, datagram_frame, idle_timeout_s
from minitopo_dc.runners.picoquic.video import VideoSession
from minitopo_dc.runners.processes.start_signal import wait_for_start
from minitopo_dc.settings import PathPlan
from minitopo_dc.workloads import Realtime, RequestResponse, Video, Workload, as_download


def main() -> None:
    """Download once, or send requests, and print the outcome as one line of JSON."""
    told = ClientSettings.given()
    server = (told.address, told.port)
    with Sockets(told.clients, receive_buffer=told.options.receive_buffer_bytes) as sockets:
        gc.freeze()  # what was imported is never garbage: full collections need not visit it
        begin_ns = wait_for_start()
        connection, keys = _connection(told), _key_frames(told, sockets)
        session = make_session(
            told.workload,
            connection,
            told.paths,
            sockets.addresses,
            server,
            begin=begin_ns,
            keys=keys,
        )
        started_ns = time.monotonic_ns()
        session.start(started_ns)
        sockets.send(session.drive(started_ns))
        drive(session, sockets, until=lambda: session.ended)
        outcome = asdict(session.outcome) | {
            "receive_buffer_bytes": sockets.receive_buffer_bytes,
            "socket_drops": sockets.drops,
            "started_ns": started_ns,
        }
    for end in (session, session.keys):
        if end is not None:
            end.connection.free()  # and write its log
    print(json.dumps(outcome), flush=True)  # noqa: T201


def _connection(told: ClientSettings) -> Connection:
    workload = told.workload
    return Connection(
        configuration(
            told, None, datagram_frame(workload), idle_timeout_s=idle_timeout_s(workload)
        ),
        time.monotonic_ns(),
    )


def _key_frames(told: ClientSettings, sockets: Sockets) -> KeyFrames | None:
    """Return the client's end of a connection of key frames, with a socket of its own, or None."""
    workload = told.workload
    if not isinstance(workload, Realtime) or workload.key_frame_dscp is None:
        return None
    address = sockets.add(told.clients[0])
    sockets.code_points[address] = workload.key_frame_dscp
    return KeyFrames(_connection(told), address)


def make_session(
    workload: Workload,
    connection: Connection,
    paths: PathPlan,
    addresses: Sequence[Address],
    server: Address,
    *,
    begin: int,
    keys: KeyFrames | None = None,
) -> ClientSession:
    """Return the client of a workload; `paths` counts from `begin` (ns), `keys` is of a call."""
    common = (connection, paths, addresses, server, begin)
    if isinstance(workload, RequestResponse):
        return RequestSession(*common, requests=plan_of(workload))
    if isinstance(workload, Video):
        return VideoSession(*common, workload=workload)
    if isinstance(workload, Realtime):
        return CallSession(*common, workload=workload, keys=keys)
    wanted = as_download(workload)
    size_bytes, duration_s = wanted.requested_bytes, wanted.duration_s or math.inf
    return DownloadSession(*common, size_bytes=size_bytes, duration_s=duration_s)


if __name__ == "__main__":
    main()
