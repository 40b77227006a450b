"""HTTP/2 over TLS 1.2 or 1.3 on hypercorn, over TCP or MPTCP, with a stated congestion control.

hypercorn cannot set a socket's congestion control or protocol, so this launcher makes the
listening socket and hands it over. For each connection that requests came by it prints one line of
JSON at the connection's end: what the kernel said of it.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from h2.settings import SettingCodes, Settings
from hypercorn import protocol
from hypercorn.asyncio import serve
from hypercorn.config import Config
from hypercorn.protocol.h2 import H2Protocol

from minitopo_dc.runners.processes.kernel_socket import (
    TcpProtocol,
    set_congestion_control,
    tcp_socket,
)
from minitopo_dc.runners.tcp.application import Application
from minitopo_dc.runners.tcp.http2 import FIRST_WINDOW_BYTES, WINDOW_BYTES
from minitopo_dc.runners.tcp.info import TcpInfoFile
from minitopo_dc.runners.tcp.settings import ServerSettings
from minitopo_dc.runners.tcp.watch import TcpWatch

# For how long a connection may lie idle, and how many requests may be open on it: as with aioquic
# (its idle timeout and its first limit of streams).
IDLE_S = 60
OPEN_REQUESTS = 128
CLOSE_S = 3.0
"""For how long to wait for a client's end of a connection: hypercorn's own for open requests."""


def listen(
    address: str, port: int, protocol: TcpProtocol, algorithm: str, mss_bytes: int | None = None
) -> socket.socket:
    """Return a listening socket whose accepted sockets use the congestion control `algorithm`.

    They send no larger segments than `mss_bytes`.
    """
    # Accepted sockets inherit TCP_NODELAY; asyncio sets it for TCP only, not for MPTCP.
    listener = tcp_socket(address, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    set_congestion_control(listener, algorithm)
    if mss_bytes is not None:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss_bytes)
    listener.bind((address, port))
    listener.listen()
    return listener


class _WideProtocol(H2Protocol):
    """HTTP/2 whose clients may send as much unacknowledged as this project's own let servers.

    hypercorn has no option for it; its 65,535 bytes (RFC 9113, section 6.9.2) limit uploads.
    """

    async def initiate(self, *given: Any, **named: Any) -> None:
        own = {SettingCodes(code): value for code, value in self.connection.local_settings.items()}
        own[SettingCodes.INITIAL_WINDOW_SIZE] = WINDOW_BYTES
        self.connection.local_settings = Settings(client=False, initial_values=own)
        await super().initiate(*given, **named)
        self.connection.increment_flow_control_window(WINDOW_BYTES - FIRST_WINDOW_BYTES)
        await self._flush()


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose TLS connections do not wait 30 s for the end of a client that has gone.

    hypercorn has no option for it.
    """

    async def create_server(self, *args: Any, **options: Any) -> asyncio.Server:
        return await super().create_server(*args, **options, ssl_shutdown_timeout=CLOSE_S)


def main() -> None:
    """Serve requests until SIGTERM or SIGINT."""
    settings = ServerSettings.given()
    listener = listen(
        *(settings.address, settings.port, settings.protocol),
        *(settings.congestion_control, settings.mss_bytes),
    )
    if "uplink" in settings.workload.loads:
        protocol.H2Protocol = _WideProtocol  # type: ignore[attr-defined]
    with TcpInfoFile(settings.tcp_info) if settings.tcp_info else nullcontext() as info:
        application = Application(settings.workload.make_server, partial(TcpWatch, info=info))
        serve_requests(listener, application, settings.certificate, settings.key)


def serve_requests(
    listener: socket.socket, application: Application, certificate: Path, key: Path
) -> None:
    """Answer requests on a listening socket until SIGTERM or SIGINT."""
    config = _configuration(listener, certificate, key)
    gc.freeze()  # what was imported is never garbage: full collections need not visit it
    with asyncio.Runner(loop_factory=_Loop) as runner:
        # hypercorn (0.18) ends with either when a client still sends while the server closes: with
        # KeyError when a request that it refuses has come together with the request's body.
        try:
            runner.run(serve(application, config))  # type: ignore[arg-type]
        except* ssl.SSLError as errors:
            if errors.subgroup(_is_failure):
                raise
        except* KeyError:
            pass


def _is_failure(error: BaseException) -> bool:
    late = "APPLICATION_DATA_AFTER_CLOSE_NOTIFY"
    return isinstance(error, ssl.SSLError) and getattr(error, "reason", None) != late


def _configuration(listener: socket.socket, certificate: Path, key: Path) -> Config:
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.certfile, config.keyfile = str(certificate), str(key)
    config.keep_alive_timeout = IDLE_S
    config.keep_alive_max_requests = sys.maxsize  # its own 1,000 end a connection
    config.h2_max_concurrent_streams = OPEN_REQUESTS
    return config


if __name__ == "__main__":
    main()
