"""Multipath QUIC with Picoquic's demonstration program, picoquicdemo (the papers' MP-QUIC).

Picoquic is in no package registry, so this runner works where somebody has built it.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal

from minitopo_dc.runners.base import Runner, Transfer, TransferFailed, runner
from minitopo_dc.runners.certificate import SERVER_NAME
from minitopo_dc.runners.ports import is_bound
from minitopo_dc.runners.site import website
from minitopo_dc.runners.tools import Tool
from minitopo_dc.workloads import Measurement

DEMO = Tool("picoquicdemo", variable="PICOQUICDEMO")
HOW_TO_GET = (
    "build https://github.com/private-octopus/picoquic with cmake -DPICOQUIC_FETCH_PTLS=Y, then "
    f"put {DEMO.name} on PATH or its path into ${DEMO.variable}"
)
ALGORITHMS = {"reno": "newreno", "cubic": "cubic", "bbr": "bbr"}
RECEIVED = re.compile(r"^Received (\d+) bytes in ([0-9.]+) seconds, [0-9.]+ Mbps\.$", re.MULTILINE)


@runner("mpquic-picoquic")
class PicoquicRunner(Runner):
    """MP-QUIC on one path per client address; the primary one is what routing chooses."""

    multipath: ClassVar[bool] = True
    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"
    congestion_controls: ClassVar[tuple[str, ...]] = tuple(ALGORITHMS)
    tools: ClassVar[tuple[Tool, ...]] = (DEMO,)
    stop_signal: ClassVar[signal.Signals | None] = None  # -1: it ends after one connection

    def missing(self) -> str | None:
        """One program is both server and client."""
        return None if DEMO.find() else f"{DEMO.not_found()} ({HOW_TO_GET})"

    def server_command(self, transfer: Transfer) -> list[str]:
        """The program as a server of one connection; it binds all addresses."""
        return [
            *(self.tool(DEMO.name), "-p", str(transfer.port), "-1"),
            *("-w", str(transfer.directory / "www")),
            *("-c", str(transfer.certificate), "-k", str(transfer.key)),
            *self._transport(transfer, "server"),
        ]

    def client_command(self, transfer: Transfer) -> list[str]:
        """The program as a client; the further addresses are given with interface 0 (any).

        HTTP/0.9 (hq-interop), as the count of bytes that it prints is then the file's alone.
        """
        more = ",".join(f"{address}/0" for address in transfer.client_addresses[1:])
        return [
            *(self.tool(DEMO.name), "-A", more, "-D", "-n", SERVER_NAME, "-a", "hq-interop"),
            *self._transport(transfer, "client"),
            *(transfer.server_address, str(transfer.port), f"/{transfer.download.requested_bytes}"),
        ]

    def is_ready(self, transfer: Transfer, pid: int) -> bool:
        """Its socket has no address."""
        anywhere = "::" if transfer.ip_version == 6 else "0.0.0.0"
        return is_bound(pid, self.socket_table, anywhere, transfer.port)

    @contextmanager
    def files(self, transfer: Transfer) -> Iterator[None]:
        """Make the file that is served; it is removed at the end."""
        with website(transfer):
            yield

    def read(self, transfer: Transfer) -> Measurement:
        """The client's last words; it may exit with 0 after a failure."""
        printed = transfer.client_output.read_text(encoding="utf-8", errors="replace")
        received = RECEIVED.search(printed)
        if received is None:
            raise TransferFailed("picoquicdemo printed no 'Received N bytes in T seconds'")
        return Measurement(int(received[1]), float(received[2]))

    def _transport(self, transfer: Transfer, role: str) -> list[str]:
        # Tickets and tokens of an earlier run would change the handshake: each run has its own.
        return [
            *("-M", "-G", ALGORITHMS[transfer.congestion_control]),
            *("-T", str(transfer.directory / f"{role}.tickets")),
            *("-N", str(transfer.directory / f"{role}.tokens")),
        ]
