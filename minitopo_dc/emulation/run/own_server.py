"""The server that a user's program talks to: started, ready, ended."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from minitopo_dc.emulation.network.hosts import EmulatedHost
from minitopo_dc.runners.ports import is_port_bound
from minitopo_dc.runners.processes.process import MOMENT_S, Process, wait_any

READY_TIMEOUT_S = 30.0
"""As for the project's own servers (`runners.session`)."""
READY_POLL_S = 0.02


class OwnServer:
    """A running server; its standard output and error are in `server.out` and `server.err`."""

    def __init__(self, host: EmulatedHost, process: Process) -> None:
        self._host = host
        self._process = process
        self._reported = False

    def wait_ready(self, port: int | None) -> None:
        """Return when something is bound to the port, or without one after a moment.

        Raises:
            TransferFailed: it ended with an error, or took too long.
        """
        deadline = time.monotonic() + (MOMENT_S if port is None else READY_TIMEOUT_S)
        while port is None or not is_port_bound(self._host.pid, port):
            if self.error() is not None:
                raise self._process.failure("before it was ready")
            if time.monotonic() > deadline:
                if port is None:
                    return
                words = f"did not bind port {port} within {READY_TIMEOUT_S:g} s"
                raise self._process.failure(words)
            time.sleep(READY_POLL_S)

    def error(self) -> str | None:
        """How it ended with an error; None while it runs, and when all is well (a daemon)."""
        return str(self._process.failure("")) if self.exit_code else None

    @property
    def exit_code(self) -> int | None:
        """Its exit code, or a signal's number below 0; None while it runs."""
        wait_any([self._process], 0)
        return self._process.exit_code


@contextmanager
def own_server(
    host: EmulatedHost, command: Sequence[str], environment: Mapping[str, str], directory: Path
) -> Iterator[OwnServer]:
    """Run a server; on leaving it has ended."""
    log = directory / "server.err"
    with (directory / "server.out").open("wb") as output, log.open("wb") as errors:
        popen = host.popen(command, environment=environment, stdout=output, stderr=errors)
    process = Process("server", popen, log)
    try:
        yield OwnServer(host, process)
    finally:
        process.close()
