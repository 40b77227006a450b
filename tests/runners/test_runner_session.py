"""The course of a run, with small scripts as server and client: no root, no network."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from runners.base import Measurement, Runner, Transfer, TransferFailed, get_runner
from runners.certificate import make_certificate
from runners.session import run_transfer
from tests.runners.runner_hosts import LocalHost

BIND = (
    "import socket, sys, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
    "s.bind(('127.0.0.1', int(sys.argv[1]))); "
)
WAIT_FOREVER = "time.sleep(60)"
HOST = LocalHost()


@dataclass
class ScriptRunner(Runner):
    """A transport made of two Python scripts."""

    server: str = BIND + WAIT_FOREVER
    client: str = "pass"
    received: int = 1000
    events: list[str] = field(default_factory=list)
    name: ClassVar[str] = "script"
    multipath: ClassVar[bool] = False
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno",)
    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"
    server_exit_codes: ClassVar[frozenset[int]] = frozenset({0, -signal.SIGTERM})

    def missing(self) -> str | None:
        return None

    def server_command(self, transfer: Transfer) -> list[str]:
        return [sys.executable, "-c", self.server, str(transfer.port)]

    def client_command(self, transfer: Transfer) -> list[str]:
        return [sys.executable, "-c", self.client, str(transfer.port)]

    @contextmanager
    def files(self, transfer: Transfer) -> Iterator[None]:
        self.events.append(f"files for {transfer.size_bytes}")
        try:
            yield
        finally:
            self.events.append("files removed")

    def read(self, transfer: Transfer) -> Measurement:
        self.events.append("read")
        return Measurement(self.received, 2.0, {"output": transfer.client_output.read_text()})


class OnceRunner(ScriptRunner):
    """Its server ends by itself."""

    stop_signal: ClassVar[signal.Signals | None] = None


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        return int(udp.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        try:
            udp.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    made = make_certificate(tmp_path, ["127.0.0.1"])
    return Transfer(
        size_bytes=1000,
        congestion_control="reno",
        server_address="127.0.0.1",
        port=free_port(),
        client_addresses=("127.0.0.1",),
        directory=tmp_path / "run",
        certificate=made.certificate,
        key=made.key,
        timeout_s=20.0,
    )


def run(runner: Runner, transfer: Transfer) -> Measurement:
    return run_transfer(runner, transfer, HOST, HOST, on_start=lambda: None)


def test_a_run_gives_the_measurement_and_leaves_no_server(transfer: Transfer) -> None:
    runner = ScriptRunner(client="print('hello')")
    measurement = run(runner, transfer)
    assert (measurement.bytes_received, measurement.completion_s) == (1000, 2.0)
    assert measurement.details["output"] == "hello\n"
    assert runner.events == ["files for 1000", "read", "files removed"]
    assert is_free(transfer.port)


def test_cpu_times_are_measured(transfer: Transfer) -> None:
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    details = run(ScriptRunner(client=burn), transfer).details
    assert details["client_cpu_s"] == pytest.approx(0.5, abs=0.1)
    assert details["server_cpu_s"] < 0.4


def test_the_start_is_told_when_the_server_listens_and_the_client_does_not_run(
    transfer: Transfer,
) -> None:
    seen: list[tuple[bool, bool]] = []

    def on_start() -> None:
        seen.append((is_free(transfer.port), transfer.client_output.exists()))

    run_transfer(ScriptRunner(), transfer, HOST, HOST, on_start=on_start)
    assert seen == [(False, False)]


def test_too_few_bytes_are_a_failure(transfer: Transfer) -> None:
    with pytest.raises(TransferFailed, match="client received 999 of 1000 bytes"):
        run(ScriptRunner(received=999), transfer)


def test_a_server_that_does_not_come_up_fails_with_its_log(transfer: Transfer) -> None:
    runner = ScriptRunner(server="raise SystemExit('no such file')")
    with pytest.raises(
        TransferFailed, match="server ended with exit code 1 before it listened: no"
    ):
        run(runner, transfer)


def test_a_server_that_never_listens_fails(
    transfer: Transfer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runners.session.READY_TIMEOUT_S", 0.2)
    with pytest.raises(TransferFailed, match=r"server did not listen within 0\.2 s"):
        run(ScriptRunner(server="import time; time.sleep(60)"), transfer)


def test_a_server_that_dies_ends_the_transfer_at_once(transfer: Transfer) -> None:
    # It dies when the client speaks to it; the client would wait for a minute.
    server = BIND + "s.recv(1); import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    client = (
        "import socket, sys, time; "
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        "s.sendto(b'x', ('127.0.0.1', int(sys.argv[1]))); time.sleep(60)"
    )
    runner = ScriptRunner(server=server, client=client)
    with pytest.raises(TransferFailed, match="server was ended by SIGKILL during the transfer"):
        run(runner, transfer)
    assert "read" not in runner.events


def test_a_client_that_fails_gives_its_exit_code_and_log(transfer: Transfer) -> None:
    with pytest.raises(TransferFailed, match="client ended with exit code 1: certificate"):
        run(ScriptRunner(client="raise SystemExit('certificate expired')"), transfer)


def test_a_client_that_is_killed_is_a_failure(transfer: Transfer) -> None:
    client = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(TransferFailed, match="client was ended by SIGKILL"):
        run(ScriptRunner(client=client), transfer)


def test_a_client_that_takes_too_long_is_ended(transfer: Transfer) -> None:
    client = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    late = replace(transfer, timeout_s=1.0)
    with pytest.raises(TransferFailed, match="client did not finish within 1 s"):
        run(ScriptRunner(client=client), late)
    with pytest.raises(ProcessLookupError):
        os.kill(int(late.client_output.read_text()), 0)
    assert is_free(transfer.port)


def test_a_server_that_ends_by_itself_is_waited_for(transfer: Transfer) -> None:
    run(OnceRunner(server=BIND + "time.sleep(0.5)"), transfer)


def test_a_server_that_ends_by_itself_may_end_before_the_client(transfer: Transfer) -> None:
    client = "import time; time.sleep(1)"
    assert run(OnceRunner(server=BIND + "time.sleep(0.3)", client=client), transfer)


def test_a_server_that_fails_after_the_transfer_is_a_failure(transfer: Transfer) -> None:
    server = BIND + "time.sleep(0.5); raise SystemExit('disk full')"
    with pytest.raises(TransferFailed, match="server ended with exit code 1 after the transfer: d"):
        run(OnceRunner(server=server), transfer)


def test_a_server_that_does_not_end_is_killed_and_a_failure(
    transfer: Transfer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runners.session.END_TIMEOUT_S", 0.2)
    monkeypatch.setattr("runners.process.KILL_AFTER_S", 0.2)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    with pytest.raises(TransferFailed, match=r"did not end within 0\.2 s of the transfer's end"):
        run(ScriptRunner(server=deaf + BIND + WAIT_FOREVER), transfer)
    assert is_free(transfer.port)


def test_an_interrupt_ends_server_and_client(transfer: Transfer) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    runner = ScriptRunner()
    with pytest.raises(KeyboardInterrupt):
        run_transfer(runner, transfer, HOST, HOST, on_start=interrupt)
    assert is_free(transfer.port)
    assert runner.events[-1] == "files removed"


def test_a_command_that_does_not_exist_is_a_failure(transfer: Transfer) -> None:
    class Absent(ScriptRunner):
        def server_command(self, transfer: Transfer) -> list[str]:
            return [f"no-such-program-{transfer.port}"]

    with pytest.raises(TransferFailed, match="server cannot be started in localhost: "):
        run(Absent(), transfer)


@pytest.mark.parametrize("name", ["tcp", "quic"])
def test_a_single_path_transport_works_without_root_or_namespaces(
    transfer: Transfer, name: str
) -> None:
    runner = get_runner(name)
    if reason := runner.unsupported(transfer.congestion_control):
        pytest.skip(reason)
    large = replace(transfer, size_bytes=1_000_000)
    assert run(runner, large).bytes_received == 1_000_000


def test_quic_writes_qlogs_of_both_ends(transfer: Transfer) -> None:
    logged = replace(transfer, options={"qlog": True})
    run(get_runner("quic"), logged)
    for role in ("server", "client"):
        (qlog,) = (logged.directory / "qlog" / role).glob("*.qlog")
        assert json.loads(qlog.read_text())["traces"][0]["vantage_point"]["type"] == role
