"""Client on picoquic: a download, or requests, over one path or several.

It prints one line of JSON about what it saw. What went wrong is told there too (`error`): the
exit code is 0 all the same.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import time
from dataclasses import asdict

from minitopo_dc.picoquic.connection import Connection
from minitopo_dc.runners.payload.requests import RequestPlan, add_request_options, request_plan
from minitopo_dc.runners.picoquic.download import DownloadSession
from minitopo_dc.runners.picoquic.endpoint import Sockets, add_options, configuration, drive
from minitopo_dc.runners.picoquic.requests import RequestSession
from minitopo_dc.runners.picoquic.session import ClientSession
from minitopo_dc.settings import PathPlan


def main() -> None:
    """Download once, or send requests, and print the outcome as one line of JSON."""
    options, requests = _options()
    connection = Connection(configuration(options, key=None), time.monotonic_ns())
    with Sockets(options.clients, receive_buffer=options.receive_buffer) as sockets:
        session = _session(connection, sockets, options, requests)
        gc.freeze()  # what was imported is never garbage: full collections need not visit it
        started_ns = time.monotonic_ns()
        session.start(started_ns)
        sockets.send(session.drive(started_ns))
        drive(session, sockets, until=lambda: session.ended)
        outcome = asdict(session.outcome) | {
            "receive_buffer_bytes": sockets.receive_buffer_bytes,
            "socket_drops": sockets.drops,
            "started_ns": started_ns,
        }
    connection.free()  # and write its log
    print(json.dumps(outcome), flush=True)  # noqa: T201


def _session(
    connection: Connection,
    sockets: Sockets,
    options: argparse.Namespace,
    requests: RequestPlan | None,
) -> ClientSession:
    server = (options.address, options.port)
    common = (connection, options.paths, sockets.addresses, server, options.begin_ns)
    if requests is not None:
        return RequestSession(*common, requests=requests)
    return DownloadSession(*common, size_bytes=options.size, duration_s=options.duration)


def _options() -> tuple[argparse.Namespace, RequestPlan | None]:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--receive-buffer", type=int, help="bytes; without: the kernel's default")
    paths = parser.add_argument_group("paths")
    paths.add_argument(
        "--paths", type=PathPlan.from_json, default=PathPlan.whole(1), help="when there is which"
    )
    paths.add_argument("--begin-ns", type=int, default=0, help="time zero, on the monotonic clock")
    download = parser.add_argument_group("download")
    download.add_argument("--size", type=int, help="bytes to ask for; without: requests")
    download.add_argument("--duration", type=float, default=math.inf, help="s; without: to the end")
    add_request_options(parser, required=False)
    options = parser.parse_args()
    requests = request_plan(parser, options)
    if (requests is None) == (options.size is None):
        parser.error("either --size or requests are needed, and not both")
    if requests is not None and options.duration != math.inf:
        parser.error("--duration is for a download")
    return options, requests


if __name__ == "__main__":
    main()
