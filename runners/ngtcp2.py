"""HTTP/3 with ngtcp2's tools on GnuTLS (Debian's packages): gtlsserver and gtlsclient."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from errno import EBADF, ESRCH
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from minitopo_dc.linux_guest import obstacle as guest_obstacle
from minitopo_dc.runners.addresses import SERVER_NAME
from minitopo_dc.runners.base import GuestTransport, Host, Transfer, TransferFailed, runner
from minitopo_dc.runners.guest_programs import ProgramsFlow
from minitopo_dc.runners.processes.process import (
    last_json,
    log_tail,
    socket_numbers,
    source_address,
    user_of,
)
from minitopo_dc.runners.processes.udp_socket import set_receive_buffer, socket_drops
from minitopo_dc.runners.programs import Tool, not_installed, wait_for_start
from minitopo_dc.runners.quic import DatagramRunner, QuicOptions
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Measurement, Workload
from minitopo_dc.workloads.exchange import content_sha256, file_sha256, write_content

QLOG_UNIT_S = 1e-3
"""ngtcp2 writes its qlog's times in whole milliseconds (lib/ngtcp2_qlog.c)."""
PIECE_BYTES = 1 << 20
REQUEST = '"stream_id":0,'
"""The first request of a client (RFC 9000, section 2.1)."""


@runner("quic-ngtcp2")
class Ngtcp2Runner(DatagramRunner):
    """QUIC on one path; NewReno, CUBIC or BBR (version 1), as ngtcp2 has them."""

    stack: ClassVar[str] = "ngtcp2"
    multipath: ClassVar[bool] = False
    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno", "cubic", "bbr")
    takes_duration: ClassVar[bool] = True
    compared: ClassVar[bool] = False  # a second QUIC on one path: a minute more
    tools: ClassVar[tuple[Tool, ...]] = (
        Tool("gtlsserver", package="ngtcp2-server"),
        Tool("gtlsclient", package="ngtcp2-client"),
    )
    set_up: ClassVar[bool] = True
    # The only one that it handles: any other ends it before its qlog is written out.
    stop_signal: ClassVar[signal.Signals | None] = signal.SIGINT

    def obstacle(self) -> str | None:
        """Return what this machine lacks of both tools, None if nothing."""
        return not_installed(self.tools, "Debian")

    def guest(self) -> GuestTransport:
        """Return the same programs in a guest kernel, whose clock is theirs too."""
        return lambda facts: ProgramsFlow(self, facts, ready_port=facts.port)

    def virtual_obstacle(self, congestion_control: str, workload: Workload) -> str | None:
        """Return also why there is no guest for its programs."""
        return self.run_obstacle(congestion_control) or guest_obstacle()

    def server_command(self, transfer: Transfer) -> list[str]:
        """Return the command of the server of the files in the transfer's directory.

        They are not those of `www` alone: to a request for `/N` it answers with N zeros, which it
        does for a duration, as there is no file that is long enough.
        """
        options = self.options(transfer)
        return [
            *(self.tool("gtlsserver"), "--quiet", "--htdocs", str(transfer.directory)),
            *("--max-dyn-length", str(transfer.download.requested_bytes)),
            *self._transport(transfer),
            *(["--qlog-dir", str(_qlogs(transfer, "server"))] if options.qlog else []),
            *(transfer.server_address, str(transfer.port)),
            *(str(transfer.key), str(transfer.certificate)),
        ]

    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the command of `minitopo_dc.runners.ngtcp2`, which runs gtlsclient."""
        return transfer.command("minitopo_dc.runners.ngtcp2", "client", *self._gtlsclient(transfer))

    def client_waits(self, transfer: Transfer) -> bool:
        """Return True, as the client is a Python program of this project."""
        return True

    def _gtlsclient(self, transfer: Transfer) -> tuple[str, ...]:
        """Return gtlsclient's command line, with which it writes a qlog in any case."""
        options, download = self.options(transfer), transfer.download
        # A file or, for a time, zeros without end.
        folder = "/www" if download.duration_s is None else ""
        return (
            *(self.tool("gtlsclient"), "--quiet", "--exit-on-all-streams-close"),
            *self._transport(transfer),
            *("--max-data", str(options.max_data), "--max-window", str(options.max_data)),
            *("--max-stream-data-bidi-local", str(options.max_stream_data)),
            *("--max-stream-window", str(options.max_stream_data)),
            *("--sni", SERVER_NAME, "--qlog-file", str(_client_qlog(transfer))),
            *("--download", str(transfer.directory / "download")),
            *(transfer.server_address, str(transfer.port)),
            f"https://{SERVER_NAME}:{transfer.port}{folder}/{download.requested_bytes}",
        )

    @contextmanager
    def files(self, transfer: Transfer) -> Iterator[None]:
        """Make the file that is served and the directories for qlog files; these may stay."""
        for role in ("server", "client"):
            _qlogs(transfer, role).mkdir(parents=True, exist_ok=True)
        timed, size = transfer.download.duration_s is not None, transfer.download.requested_bytes
        folders = [transfer.directory / name for name in ("download", "www")[: 1 if timed else 2]]
        try:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)  # of an earlier run that was killed
                folder.mkdir()
            if not timed:
                write_content(folders[1] / str(size), size)
            yield
        finally:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)
            if not self.options(transfer).qlog:
                shutil.rmtree(_qlogs(transfer, "client").parent)

    def hosts(self, transfer: Transfer, server: Host, client: Host) -> AbstractContextManager[None]:
        """Let the client send from its address, as it takes the one that its user's route names."""
        address = transfer.client_addresses[0]
        return source_address(client, address, transfer.server_address, user_of(address))

    def read(self, transfer: Transfer) -> Measurement:
        """Return the times of the client's qlog, after a check of what it received and the address.

        The client exits with 0 in any case, also after no connection and after status 404.
        """
        report = last_json(transfer.client_output, "client")
        started_ns = report.pop("started_ns", None)  # it never had a socket
        stopped_s = report.pop("stopped_s", None)
        if stopped_s is not None and not any(
            file.stat().st_size for file in (transfer.directory / "download").iterdir()
        ):
            return Measurement(0, stopped_s, report, started_ns)
        received = _received(transfer)
        if report["local_address"] != transfer.client_addresses[0]:
            raise TransferFailed(f"client used its address {report['local_address']}")
        completion_s, details = read_times(_client_qlog(transfer))
        lasted_s = completion_s if stopped_s is None else stopped_s
        return Measurement(received, lasted_s, {**report, **details}, started_ns)

    def _transport(self, transfer: Transfer) -> list[str]:
        size = self.options(transfer).max_datagram_bytes
        return [
            *("--cc", transfer.congestion_control),
            *("--no-pmtud", "--max-udp-payload-size", str(size)),
        ]


def _received(transfer: Transfer) -> int:
    files = list((transfer.directory / "download").iterdir())
    if len(files) != 1:
        failure = f"client wrote {len(files)} files, not one"
        raise TransferFailed(f"{failure}: {log_tail(transfer.client_log)}")
    (body,) = files
    received = body.stat().st_size
    timed = transfer.download.duration_s is not None
    if not (_is_zeros(body) if timed else file_sha256(body) == content_sha256(received)):
        raise TransferFailed(f"client received {received} bytes, not those sent")
    return received


def _is_zeros(file: Path) -> bool:
    with file.open("rb") as body:
        return not any(piece.strip(b"\0") for piece in iter(partial(body.read, PIECE_BYTES), b""))


def read_times(qlog: Path) -> tuple[float, dict[str, Any]]:
    """Return the completion time (s) and details from a client's qlog.

    From its first packet sent to its last one received with the answer, after which it closes the
    connection. Both are cut to whole milliseconds, so that the time is exact to 1 ms.

    Raises:
        TransferFailed: the qlog is missing, broken or of a client without an answer.
    """
    started = answered = ended = None
    try:
        with qlog.open(encoding="utf-8") as lines:
            for line in lines:  # tens of megabytes: only those three are parsed
                if started is None and '"transport:packet_sent"' in line:
                    started = line
                elif REQUEST in line and '"transport:packet_received"' in line:
                    answered, ended = answered or line, line
        start_s, answer_s, end_s = (_time_s(line) for line in (started, answered, ended))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TransferFailed(f"client wrote no whole qlog with an answer: {error!r}") from None
    details = {
        "first_byte_s": answer_s - start_s,
        "times_from": "the client's qlog",
        "times_resolution_s": QLOG_UNIT_S,
    }
    return end_s - start_s, details


def _time_s(line: str | None) -> float:
    record: dict[str, Any] = json.loads((line or "").lstrip("\x1e"))  # RFC 7464, section 2.1
    return float(record["time"] * QLOG_UNIT_S)


def _qlogs(transfer: Transfer, role: str) -> Path:
    return transfer.directory / "qlog" / role


def _client_qlog(transfer: Transfer) -> Path:
    return _qlogs(transfer, "client") / "client.sqlog"


PIDFD_GETFD = 438
"""asm-generic/unistd.h: the number is the same for all processors."""
POLL_S = 0.001
"""Less than the round trip in which the first answer comes."""


def run(
    command: Sequence[str],
    receive_buffer_bytes: int | None,
    duration_s: float | None,
    user: int | None = None,
) -> tuple[int, dict[str, Any]]:
    """Run a program to its end; return its exit code, negative for a signal, and the report.

    With a duration it is sent SIGINT, at which gtlsclient closes its connection and its files. Of
    root only the right to write files remains to a user.

    Raises:
        OSError: it cannot be started, or its socket not be borrowed.
    """
    rights = "+dac_override"
    mine = ["--reuid", str(user), "--inh-caps", rights, "--ambient-caps", rights]
    # If this process is killed, its child must not go on.
    prepared = ["setpriv", "--pdeathsig", "KILL", *([] if user is None else mine)]
    child = subprocess.Popen([*prepared, *command])
    try:
        udp = _socket_of(child)
    except OSError:
        child.kill()
        raise
    if udp is None:
        return child.wait(), {"local_address": None}
    started_ns = time.monotonic_ns()  # connecting is what it does next
    with udp:
        if receive_buffer_bytes is not None:
            set_receive_buffer(udp, receive_buffer_bytes)
        stopped_s = None if duration_s is None else _stop(child, started_ns, duration_s)
        code = child.wait()
        return code, {
            "local_address": udp.getsockname()[0],
            "receive_buffer_bytes": udp.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
            "socket_drops": socket_drops(udp),
            "started_ns": started_ns,
            "stopped_s": stopped_s,
        }


def _stop(child: subprocess.Popen[bytes], started_ns: int, duration_s: float) -> float | None:
    """Ask a child to end so long after it started; return when that was (s), None if it had ended.

    To wait for a signal is exact, whereas select(2) may be late by a thousandth of the time, and
    `Popen.wait` would look 20 times a second, all of which a guest has to compute.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while child.poll() is None:
        lasted_s = (time.monotonic_ns() - started_ns) / NS_PER_S
        if lasted_s >= duration_s:
            child.send_signal(signal.SIGINT)
            return lasted_s
        signal.sigtimedwait({signal.SIGCHLD}, duration_s - lasted_s)
    return None


def _socket_of(child: subprocess.Popen[bytes]) -> socket.socket | None:
    """Return the child's UDP socket as soon as it has one, None if it ended without."""
    pidfd = os.pidfd_open(child.pid)
    try:
        while child.poll() is None:
            for number in socket_numbers(child.pid):
                borrowed = _borrow(pidfd, number)
                if borrowed is not None:
                    return borrowed
            time.sleep(POLL_S)
        return None
    finally:
        os.close(pidfd)


def _borrow(pidfd: int, number: int) -> socket.socket | None:
    """Return a copy of another process' socket if it is a UDP socket, and leave its mode.

    It is None also when the socket was closed, or the process has ended, since its number was read.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(PIDFD_GETFD, pidfd, number, 0)
    if descriptor == -1:
        error = ctypes.get_errno()
        if error in (EBADF, ESRCH):
            return None
        raise OSError(error, f"pidfd_getfd (Linux 5.6 or newer): {os.strerror(error)}")
    borrowed = socket.socket(fileno=descriptor)
    if borrowed.type == socket.SOCK_DGRAM and borrowed.family in (socket.AF_INET, socket.AF_INET6):
        return borrowed
    borrowed.close()
    return None


def main() -> None:
    """Run the program of this command line, print the report, and end as the program did."""
    transfer = Transfer.given()
    buffer_bytes = QuicOptions.check(transfer.options, "runner quic-ngtcp2").receive_buffer_bytes
    # The kernel has a route for this user; another than root may not change who runs it.
    user = None if os.geteuid() else user_of(transfer.client_addresses[0])
    wait_for_start()
    code, report = run(sys.argv[2:], buffer_bytes, transfer.download.duration_s, user)
    print(json.dumps(report), flush=True)  # noqa: T201
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
