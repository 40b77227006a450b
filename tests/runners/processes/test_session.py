"""The course of a run, with small scripts as server and client: no root, no network."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal
from unittest.mock import Mock

import pytest

from minitopo_dc.runners.base import Host, Runner, Transfer, TransferFailed, get_runner
from minitopo_dc.runners.processes.session import Job, run_transfers
from minitopo_dc.runners.programs import StartSignal
from minitopo_dc.runners.tcp.runner import TcpRunner
from minitopo_dc.workloads import Download, Measurement
from tests.runners.hosts import HOST, local_transfer, nothing, run_transfer

BIND = (
    "import socket, sys, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
    "s.bind(('127.0.0.1', int(sys.argv[1]))); "
)
WAIT_FOREVER = "time.sleep(60)"
BARE_PYTHON = [sys.executable, "-Sc"]
"""Without what is installed, whose search takes most of a short script's time."""
TELL = (
    "import socket, sys, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
    "s.sendto(b'x', ('127.0.0.1', int(sys.argv[1]))); "
)
"""Of a client: it speaks to the server, which `s.recv(1)` waits for."""
SLEEP = "import time; time.sleep"


@dataclass
class ScriptRunner(Runner):
    """A transport made of two Python scripts."""

    server: str = BIND + WAIT_FOREVER
    client: str = "pass"
    received: int = 1000
    started_ns: int | None = None
    events: list[str] = field(default_factory=list)
    name: ClassVar[str] = "script"
    multipath: ClassVar[bool] = False
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno",)
    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"

    def obstacle(self) -> str | None:
        return None

    def server_command(self, transfer: Transfer) -> list[str]:
        return [*BARE_PYTHON, self.server, str(transfer.port)]

    def client_command(self, transfer: Transfer) -> list[str]:
        return [*BARE_PYTHON, self.client, str(transfer.port)]

    @contextmanager
    def files(self, transfer: Transfer) -> Iterator[None]:
        self.events.append(f"files for {transfer.download.requested_bytes}")
        try:
            yield
        finally:
            self.events.append("files removed")

    def read(self, transfer: Transfer) -> Measurement:
        self.events.append("read")
        output = {"output": transfer.client_output.read_text()}
        return Measurement(self.received, 2.0, output, self.started_ns)


class OnceRunner(ScriptRunner):
    """Its server ends by itself."""

    stop_signal: ClassVar[signal.Signals | None] = None


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        try:
            udp.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    return local_transfer(tmp_path, Download(size_mb=0.001), timeout_s=20.0)


def run(runner: Runner, transfer: Transfer) -> Measurement:
    return run_transfer(runner, transfer)


def test_a_run_gives_the_measurement_and_leaves_no_server(transfer: Transfer) -> None:
    runner = ScriptRunner(client="print('hello')")
    measurement = run(runner, transfer)
    assert (measurement.bytes_received, measurement.completion_s) == (1000, 2.0)
    assert measurement.details["output"] == "hello\n"
    assert runner.events == ["files for 1000", "read", "files removed"]
    assert is_free(transfer.port)


PREPARED = (
    "import time; from minitopo_dc.runners.programs import wait_for_start; "
    "ready = time.monotonic_ns(); print(ready, wait_for_start())"
)


class PreparedRunner(ScriptRunner):
    """Its client waits for the start, by a module of the library."""

    def client_command(self, transfer: Transfer) -> list[str]:  # noqa: ARG002
        return [sys.executable, "-c", self.client]

    def client_waits(self, transfer: Transfer) -> bool:  # noqa: ARG002
        return True


class AloneRunner(PreparedRunner):
    """It has no server."""

    has_server: ClassVar[bool] = False


def test_a_client_that_waits_is_ready_before_time_zero_and_is_told_it(transfer: Transfer) -> None:
    called: list[int] = []
    job = Job(PreparedRunner(client=PREPARED), transfer)
    (measurement,) = run_transfers(
        [job], HOST, HOST, on_start=lambda: called.append(time.monotonic_ns())
    )
    ready, begin = (int(word) for word in measurement.details["output"].split())
    assert ready < begin <= called[0] < begin + 1e9
    assert 0 <= measurement.details["started_s"] < 1


def test_a_client_whose_session_has_gone_ends() -> None:
    signal_of_session = StartSignal()
    words = [sys.executable, "-c", PREPARED]
    with subprocess.Popen(
        words, stdin=signal_of_session.client_end.fileno(), stderr=subprocess.PIPE, text=True
    ) as client:
        assert signal_of_session.wait_ready(20)
        signal_of_session.close()
        assert client.communicate(timeout=20)[1] == "the session has ended before the start\n"
    assert client.returncode == 1


def test_a_client_without_a_session_starts_now() -> None:
    words = [sys.executable, "-c", PREPARED]
    found = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    ready, begin = (int(word) for word in found.stdout.split())
    assert ready <= begin < ready + 1e9


def test_client_and_reader_are_told_when_the_legs_time_began(transfer: Transfer) -> None:
    class Reader(ScriptRunner):
        def client_command(self, transfer: Transfer) -> list[str]:
            return [*BARE_PYTHON, f"print({transfer.begin_ns})"]

        def read(self, transfer: Transfer) -> Measurement:
            client = int(transfer.client_output.read_text())
            return Measurement(1000, 2.0, {"begin_ns": transfer.begin_ns, "client": client})

    called: list[int] = []
    details = run_transfer(
        Reader(), transfer, on_start=lambda: called.append(time.monotonic_ns())
    ).details
    assert details["begin_ns"] == details["client"]
    assert 0 <= called[0] - details["begin_ns"] < 1e9
    assert transfer.begin_ns is None


@dataclass
class WithPaths(ScriptRunner):
    """A transport whose paths another program changes."""

    paths: str = WAIT_FOREVER

    def paths_command(self, transfer: Transfer) -> list[str] | None:
        return [sys.executable, "-c", f"import sys, time; print({transfer.begin_ns}); {self.paths}"]


def test_a_program_that_changes_paths_is_ended_with_the_client(transfer: Transfer) -> None:
    begun = time.monotonic()
    details = run(WithPaths(client=f"{SLEEP}(0.5)"), transfer).details
    assert time.monotonic() - begun < 10
    assert details["paths_cpu_s"] >= 0


def test_a_program_that_changes_paths_may_be_done_before_the_client(transfer: Transfer) -> None:
    assert run(WithPaths(client=f"{SLEEP}(1)", paths="pass"), transfer).bytes_received == 1000
    assert int(transfer.paths_output.read_text()) > 0


def test_cpu_times_are_measured(transfer: Transfer) -> None:
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    details = run(ScriptRunner(client=burn), transfer).details
    assert details["client_cpu_s"] == pytest.approx(0.5, abs=0.1)
    assert details["server_cpu_s"] < 0.4


def test_the_start_is_told_when_the_server_listens_and_the_client_does_not_run(
    transfer: Transfer,
) -> None:
    seen: list[tuple[bool, bool]] = []
    run_transfer(
        ScriptRunner(),
        transfer,
        on_start=lambda: seen.append((is_free(transfer.port), transfer.client_output.exists())),
    )
    assert seen == [(False, False)]


def test_when_a_client_began_to_connect_counts_from_the_start(transfer: Transfer) -> None:
    before = time.monotonic_ns()
    runner = ScriptRunner()

    def on_start() -> None:
        runner.started_ns = time.monotonic_ns() + 10**9

    details = run_transfer(runner, transfer, HOST, HOST, on_start=on_start).details
    assert runner.started_ns is not None
    assert 1.0 <= details["started_s"] <= (runner.started_ns - before) / 1e9


def test_a_client_that_does_not_tell_began_as_its_process_did(transfer: Transfer) -> None:
    started: list[int] = []
    details = run_transfer(
        ScriptRunner(), transfer, on_start=lambda: started.append(time.monotonic_ns())
    ).details
    assert 0 <= details["started_s"] <= (time.monotonic_ns() - started[0]) / 1e9


class Numbers(ScriptRunner):
    """A word of its command is no text."""

    def client_command(self, transfer: Transfer) -> list[str]:  # noqa: ARG002
        return ["sleep", 60]  # type: ignore[list-item]


class Absent(ScriptRunner):
    """Its server is not there."""

    def server_command(self, transfer: Transfer) -> list[str]:
        return [f"no-such-program-{transfer.port}"]


KILL = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


BROKEN = "time.sleep(0.5); raise SystemExit('disk full')"
NO_ANSWER = f"{TELL}sys.exit('no answer')"


@pytest.mark.parametrize(
    ("runner", "words"),
    [
        (ScriptRunner(received=999), "client received 999 of 1000 bytes"),
        (
            ScriptRunner(server="raise SystemExit('no file')"),
            "server .* code 1 before it listened: no file",
        ),
        # It dies when the client speaks to it; the client would wait for a minute.
        (
            ScriptRunner(server=f"{BIND}s.recv(1); {KILL}", client=f"{TELL}time.sleep(60)"),
            "server was ended by SIGKILL during the transfer",
        ),
        (
            ScriptRunner(server=f"{BIND}s.recv(1); time.sleep(0.2)", client=NO_ANSWER),
            r"server .* code 0 during the transfer \(it is to go on until it gets the ",
        ),
        (OnceRunner(server=BIND + BROKEN), "server .* code 1 after the transfer: disk full"),
        (Absent(), "server cannot be started in localhost: "),
        (Numbers(), "client cannot be started: 60 in its command is no text"),
        (
            ScriptRunner(client="raise SystemExit('expired')"),
            "client ended with exit code 1: expired",
        ),
        (ScriptRunner(client=KILL), "client was ended by SIGKILL"),
        (
            PreparedRunner(client="raise SystemExit('no file')"),
            "^client ended with exit code 1: no file$",
        ),
        (
            WithPaths(client=f"{SLEEP}(30)", paths="sys.exit('no such address')"),
            "^paths ended with exit code 1: no such address$",
        ),
    ],
)
def test_a_failure_ends_the_transfer_at_once_with_its_reason(
    runner: ScriptRunner, words: str, transfer: Transfer
) -> None:
    begun = time.monotonic()
    with pytest.raises(TransferFailed, match=words):
        run(runner, transfer)
    assert time.monotonic() - begun < 15
    assert is_free(transfer.port)


@pytest.mark.parametrize(
    ("runner", "words"),
    [
        (ScriptRunner(server=f"{SLEEP}(60)"), r"^server did not listen within 0\.2 s"),
        (AloneRunner(client=f"{SLEEP}(60)"), r"^client was not ready within 0\.2 s"),
    ],
)
def test_an_end_that_is_never_ready_is_given_up(
    runner: ScriptRunner, words: str, transfer: Transfer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.runners.processes.session.READY_TIMEOUT_S", 0.2)
    with pytest.raises(TransferFailed, match=words):
        run(runner, transfer)


def test_a_client_that_takes_too_long_is_ended(transfer: Transfer) -> None:
    client = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    late = replace(transfer, timeout_s=1.0)
    with pytest.raises(TransferFailed, match=r"client .*1 s"):
        run(ScriptRunner(client=client), late)
    with pytest.raises(ProcessLookupError):
        os.kill(int(late.client_output.read_text()), 0)
    assert is_free(transfer.port)


def test_a_server_that_ends_by_itself_is_waited_for(transfer: Transfer) -> None:
    run(OnceRunner(server=BIND + "time.sleep(0.5)"), transfer)


def test_a_server_that_ends_by_itself_may_end_before_the_client(transfer: Transfer) -> None:
    assert run(OnceRunner(server=BIND + "time.sleep(0.3)", client=f"{SLEEP}(1)"), transfer)


def test_a_server_that_does_not_end_is_killed_and_a_failure(
    transfer: Transfer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.runners.processes.session.END_TIMEOUT_S", 0.2)
    monkeypatch.setattr("minitopo_dc.runners.processes.process.KILL_AFTER_S", 0.2)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    with pytest.raises(TransferFailed, match="15 s"):
        run(ScriptRunner(server=deaf + BIND + WAIT_FOREVER), transfer)
    assert is_free(transfer.port)


def test_an_interrupt_ends_server_and_client(transfer: Transfer) -> None:
    runner, interrupt = ScriptRunner(), Mock(side_effect=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        run_transfer(runner, transfer, on_start=interrupt)
    assert is_free(transfer.port)
    assert runner.events[-1] == "files removed"


def test_quic_writes_qlogs_of_both_ends(transfer: Transfer) -> None:
    logged = replace(transfer, options={"qlog": True})
    run(get_runner("quic"), logged)
    for role in ("server", "client"):
        (qlog,) = (logged.directory / "qlog" / role).glob("*.qlog")
        assert json.loads(qlog.read_text())["traces"][0]["vantage_point"]["type"] == role


def jobs(transfer: Transfer, *runners: ScriptRunner) -> list[Job]:
    """A transfer for each runner, with its own port and directory."""
    return [
        Job(
            runner,
            replace(
                transfer,
                port=transfer.port + number,
                directory=transfer.directory / f"flow-{number}",
            ),
            f"flow-{number}",
        )
        for number, runner in enumerate(runners, start=1)
    ]


def test_several_transfers_start_once_all_servers_listen(transfer: Transfer) -> None:
    late = ScriptRunner(server="import time; time.sleep(0.5); " + BIND + WAIT_FOREVER)
    wanted = jobs(transfer, ScriptRunner(), late)
    listening: list[bool] = []

    measured = run_transfers(
        wanted,
        HOST,
        HOST,
        on_start=lambda: listening.extend(not is_free(job.transfer.port) for job in wanted),
    )
    assert [each.bytes_received for each in measured] == [1000, 1000]
    assert listening == [True, True]


def test_a_transfer_s_server_ends_while_another_goes_on(transfer: Transfer) -> None:
    wanted = jobs(transfer, ScriptRunner(), ScriptRunner())
    # The second client ends when the first one's server has given its port back.
    client = (
        "import socket, time\n"
        "while True:\n"
        "    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:\n"
        "        try: s.bind(('127.0.0.1', %d)); break\n"
        "        except OSError: time.sleep(0.01)\n"
    )
    wanted[1] = replace(wanted[1], runner=ScriptRunner(client=client % wanted[0].transfer.port))
    measured = run_transfers(wanted, HOST, HOST, on_start=nothing)
    assert len(measured) == 2


def test_one_failure_ends_all_transfers_with_one_reason(transfer: Transfer) -> None:
    wait = f"{SLEEP}(60)"
    waiting = ScriptRunner(client=wait)
    dying = ScriptRunner(
        server=f"{BIND}time.sleep(0.5); raise SystemExit('disk full')", client=wait
    )
    wanted = jobs(transfer, waiting, dying)
    with pytest.raises(TransferFailed, match=r"^flow-2: server .*: disk full$"):
        run_transfers(wanted, HOST, HOST, on_start=nothing)
    assert all(is_free(job.transfer.port) for job in wanted)
    assert waiting.events[-1] == "files removed"


def test_a_server_that_never_listens_starts_no_client(transfer: Transfer) -> None:
    client = "import pathlib; pathlib.Path('started').touch()"
    broken = ScriptRunner(server="raise SystemExit('no such address')")
    wanted = jobs(transfer, ScriptRunner(client=client), broken)
    with pytest.raises(TransferFailed, match=r"^flow-2: server .*: no such"):
        run_transfers(wanted, HOST, HOST, on_start=lambda: pytest.fail("it started"))
    assert not wanted[0].transfer.client_output.exists()
    assert is_free(wanted[0].transfer.port)


def test_hosts_are_set_up_once_for_all_transfers_of_a_kind(transfer: Transfer) -> None:
    events: list[str] = []

    class Preparing(ScriptRunner):
        @contextmanager
        def hosts(self, transfer: Transfer, server: Host, client: Host) -> Iterator[None]:
            events.append(f"{server.name}, {client.name}: {transfer.client_addresses}")
            yield
            events.append("undone")

        def read(self, transfer: Transfer) -> Measurement:
            events.append("read")
            return super().read(transfer)

    run_transfers(jobs(transfer, Preparing(), Preparing()), HOST, HOST, on_start=nothing)
    assert events == ["localhost, localhost: ('127.0.0.1',)", "read", "read", "undone"]


@pytest.mark.parametrize("name", ["tcp", "quic"])
def test_a_download_stops_after_its_duration_with_what_arrived(
    transfer: Transfer, name: str
) -> None:
    runner = get_runner(name)
    if reason := runner.run_obstacle(transfer.congestion_control):
        pytest.skip(reason)
    endless = replace(transfer, workload=Download(duration_s=0.5))
    measurement = run(runner, endless)
    assert 0 < measurement.bytes_received < 10**12
    assert measurement.completion_s > 0.4
    assert not (endless.directory / "body").exists()


def test_curl_that_no_server_answers_received_nothing(transfer: Transfer) -> None:
    listen = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); "

    class Silent(TcpRunner):
        server_exit_codes: ClassVar[frozenset[int]] = frozenset({-signal.SIGTERM})

        def server_command(self, transfer: Transfer) -> list[str]:
            return [sys.executable, "-c", listen + WAIT_FOREVER, str(transfer.port)]

    runner = Silent()
    if reason := runner.obstacle():
        pytest.skip(reason)
    with pytest.raises(TransferFailed, match=r"client .*0\.5 s"):
        run(runner, replace(transfer, workload=Download(duration_s=0.5)))
