"""Signals to a command: one line, the right exit status, soon, whatever comes behind them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from minitopo_dc import cli, clocks
from tests import long

PREFIX = "minitopo-dc: interrupted"
PROGRAM = """
import sys, time
from minitopo_dc.interruption import Interruption
with Interruption(ends_process=True) as interruption:
    try:
        interruption.working()
        print("ready", flush=True)
        time.sleep(100)
    except KeyboardInterrupt:
        print("ending", flush=True)
        time.sleep(float(sys.argv[1]))
        print("ended", flush=True)
sys.exit(interruption.status)
"""


class Command(subprocess.Popen[str]):
    """A program of Python whose output is read here."""

    stdout: IO[str]
    stderr: IO[str]

    def __init__(self, *arguments: str) -> None:
        pipe = subprocess.PIPE
        super().__init__([sys.executable, *arguments], stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals_behind_the_first_do_not_disturb_the_ending(first: signal.Signals) -> None:
    with Command("-c", PROGRAM, "0.3") as process:
        process.stdout.readline()
        process.send_signal(first)
        process.stdout.readline()
        while process.poll() is None:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                process.send_signal(number)
            time.sleep(0.005)
        assert process.returncode == 128 + first
        assert process.stdout.read() == "ended\n"


def test_a_program_is_interrupted_with_one_line_and_the_status_of_its_signal() -> None:
    program = (
        "import time\nfrom minitopo_dc.interruption import interruptible\n"
        "with interruptible('all is kept'):\n    print('ready', flush=True); time.sleep(100)\n"
    )
    with Command("-c", program) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait() == 128 + signal.SIGINT
        assert process.stderr.read() == f"{PREFIX}; all is kept\n"


def test_an_ending_that_takes_too_long_is_cut_off() -> None:
    program = PROGRAM.replace("import sys", "import minitopo_dc.interruption as i, sys", 1)
    program = program.replace("with ", "i.PATIENCE_S = 0.1\nwith ", 1)
    with Command("-c", program, "100") as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert "minitopo-dc clean removes what is left" in process.stderr.read()


def test_what_ignores_a_signal_goes_on_ignoring_it() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = Command("-c", PROGRAM, "0")
    finally:
        signal.signal(signal.SIGHUP, before)
    with process:
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        time.sleep(0.1)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


def catches(pid: int, number: int) -> bool:
    """Whether a process handles a signal (proc(5)): before, Python itself has not quite begun."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


@pytest.mark.parametrize("delay_s", [0, 0.5])
def test_ctrl_c_in_the_first_second_is_one_line(delay_s: float, tmp_path: Path) -> None:
    output = str(tmp_path / "out")
    with Command(
        "-m", "minitopo_dc.cli", "compare", "--clock", "virtual", "--output", output
    ) as run:
        while not catches(run.pid, signal.SIGTERM):
            time.sleep(0.001)
        time.sleep(delay_s)
        run.send_signal(signal.SIGINT)
        message = run.stderr.read()
        assert run.wait(60) == 130
    assert message.startswith(PREFIX)
    assert message.count("\n") == 1


@pytest.mark.parametrize("jobs", [long("1"), "2"])
def test_ctrl_c_on_a_long_virtual_run_ends_it_at_once(jobs: str, tmp_path: Path) -> None:
    words = ["compare", "--clock", "virtual", "--size", "1000", "--repetitions", "1"]
    more = ["--output", str(tmp_path / "out"), "--jobs", jobs, "--transports", "quic"]
    with Command("-m", "minitopo_dc.cli", *words, *more) as run:
        while not list(tmp_path.glob("out/working/*/client-rate.csv")):
            assert run.poll() is None
            time.sleep(0.05)
        begin = time.monotonic()
        os.kill(run.pid, signal.SIGINT)
        message = run.stderr.read()
        assert run.wait(60) == 130
        assert time.monotonic() - begin < 30  # far less on a machine of its own
    assert PREFIX in message
    assert "Traceback" not in message


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_enough_ends_a_command_without_a_word(
    unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with Command("-m", "minitopo_dc.cli", "trace", "--help") as shown:
        shown.stdout.close()
        message = shown.stderr.read()
    assert message == ""


def test_a_command_whose_reader_is_gone_has_the_status_of_sigpipe() -> None:
    with Command("-m", "minitopo_dc.cli", "campaign", "list") as listed:
        listed.stdout.close()
        message = listed.stderr.read()
        assert listed.wait(60) == 128 + signal.SIGPIPE
    assert message == ""


SERVER = """
import select, signal
from minitopo_dc.runners.processes.udp_socket import StopSignal
stop = StopSignal(signal.SIGTERM, signal.SIGINT)
print("ready", flush=True)
select.select([stop.waiting], [], [])
print("asked to stop", flush=True)
"""


@pytest.mark.parametrize(("ignored", "lives"), [(True, True), (False, False)])
def test_a_server_goes_on_after_what_its_starter_ignores(*, ignored: bool, lives: bool) -> None:
    as_nohup = f"import signal\nif {ignored}: signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    with Command("-c", as_nohup + SERVER) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        if lives:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.stdout.read() == "asked to stop\n"


def test_an_interruption_that_a_library_turns_into_its_own_error_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def execute(*_: object) -> None:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise RuntimeError("what a library makes of it")

    monkeypatch.setattr(clocks, "runner_on", lambda _: execute)
    file, output = tmp_path / "s.yaml", tmp_path / "run"
    file.write_text("transport: quic\nmode: sc\nclock: virtual\nlegs: [{rate_mbps: 1}]\n")
    assert cli.main(["run", str(file), "--output", str(output)]) == 130
    assert capsys.readouterr().err.startswith(PREFIX)
    assert not (output / "result.json").exists()


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """A run of a small scenario."""
    file = tmp_path / "s.yaml"
    file.write_text(
        "transport: quic\nmode: sc\nclock: virtual\nlegs: [{rate_mbps: 1}]\n"
        "workload: {size_mb: 0.01}\n"
    )
    return ["run", str(file), "--output", str(tmp_path / "run")]


def interrupting(*_: object, **__: object) -> None:
    signal.raise_signal(signal.SIGTERM)


def test_a_signal_behind_the_end_of_a_run_says_that_it_had_ended(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("minitopo_dc.cli.run.tell_run", interrupting)
    assert cli.main(command) == 128 + signal.SIGTERM
    result = tmp_path / "run" / "result.json"
    assert capsys.readouterr().err.splitlines()[-1] == f"{PREFIX}; the run had ended: {result}"
    assert result.exists()


def test_a_signal_in_a_run_says_that_it_has_no_result(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(clocks, "runner_on", lambda _: interrupting)
    assert cli.main(command) == 128 + signal.SIGTERM
    words = f"the run has no result; its files so far are in {tmp_path / 'run'}"
    assert capsys.readouterr().err.splitlines()[-1] == f"{PREFIX}; {words}"


def test_a_signal_to_a_command_without_a_run_tells_of_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("minitopo_dc.cli.build.clean", interrupting)
    assert cli.main(["clean"]) == 128 + signal.SIGTERM
    assert capsys.readouterr().err == f"{PREFIX}\n"
