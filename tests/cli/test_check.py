"""`check`, `build` and `explore`."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from minitopo_dc.cli import check as check_command
from minitopo_dc.cli import explore, main
from minitopo_dc.cli.check import report, transfers, virtual_transfers
from minitopo_dc.cli.explore import free_port
from minitopo_dc.linux_guest import guest
from minitopo_dc.linux_guest.guest import boot_obstacle
from minitopo_dc.real.machine import MachineFinding, check
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario

WIDTH = 80
IP = MachineFinding("ip", "ok", "iproute2-6.1.0", "element", "")
QUEUE = MachineFinding(
    "kernel: NFQUEUE", "missing", "No such file", "element", "sudo modprobe xt_NFQUEUE"
)
TCP = MachineFinding("transport tcp", "ok", "reno, cubic", "tcp", "")
RENO = MachineFinding("kernel: reno", "ok", "works", "tcp", "")
PICOQUIC = MachineFinding(
    "transport quic-picoquic",
    "optional-missing",
    "not found (build it)",
    "quic-picoquic",
    "see detail",
)
BBR = MachineFinding(
    "kernel: bbr", "optional-missing", "No such file", "congestion control bbr", "modprobe tcp_bbr"
)


@pytest.fixture(scope="module", autouse=True)
def one_run_of_a_transfer() -> Iterator[None]:
    """Let the tests share the runs of small transfers, those of guests take seconds."""
    run, results = check_command._run, dict[tuple[str, str], RunResult]()

    def run_once(scenario: Scenario) -> RunResult:
        key = guest.MEMORY, scenario.model_dump_json()
        if key not in results:
            results[key] = run(scenario)
        return results[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check_command, "_run", run_once)
        yield


def lines(*findings: MachineFinding, width: int = WIDTH) -> list[str]:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(report(findings, console.width), soft_wrap=True)
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_what_is_enabled_has_the_mark_of_the_worst_below_it() -> None:
    assert lines(IP, QUEUE)[0] == "✗ Every run on the real clock"
    assert lines(TCP, RENO)[0].startswith("✓ Transport tcp (Linux)")


def test_a_runner_s_own_advice_is_all_that_is_said() -> None:
    below = lines(PICOQUIC)[1:-2]
    assert below == ["      not found (build it)"]


def test_that_root_is_needed_is_said_once_with_the_command() -> None:
    needs_root = MachineFinding("kernel: links", "missing", "needs root", "element", "sudo x check")
    shown = lines(
        needs_root,
        MachineFinding("kernel: IPv6", *("optional-missing", "needs root", "ip_version 6", "")),
    )
    assert sum("sudo" in line for line in shown) == 1
    assert shown[-1].startswith("What needs root was not tried: sudo ")
    assert "    ✗ kernel: links  needs root" in shown


def test_where_the_real_clock_cannot_run_the_virtual_one_is_offered() -> None:
    shown = " ".join(lines(QUEUE))
    assert "The real clock cannot run here" in shown
    assert "minitopo-dc compare --clock virtual" in shown


def everything_said(findings: list[MachineFinding]) -> Iterator[str]:
    for finding in findings:
        yield finding.name.removeprefix("transport ")
        if finding.detail != "needs root":
            yield f"{finding.detail} {finding.remedy.removeprefix('see detail')}"


def test_no_word_of_what_is_found_here_is_broken_or_left_out() -> None:
    findings = check()
    for width in (60, WIDTH, 200):
        shown = {word for line in lines(*findings, width=width) for word in line.split()}
        for said in everything_said(findings):
            assert set(said.split()) <= shown


def test_the_command_fits_a_terminal_of_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setattr(check_command, "transfers", lambda _: virtual_transfers())
    assert main(["check"]) in (0, 1)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0][2:] == "Every run on the real clock"
    assert [line for line in shown if len(line) > WIDTH] == []


def test_a_transport_in_virtual_time_is_there_when_it_has_carried_something() -> None:
    outcome = {finding.name: finding for finding in virtual_transfers()}
    assert outcome["quic on the virtual clock"].status == "ok"
    assert outcome["mpquic-picoquic on the virtual clock"].detail == "carried 0.1 MB"
    assert outcome["tcp on the virtual clock"].status == "ok"


@pytest.mark.long
@pytest.mark.root
def test_a_transport_on_the_real_clock_is_there_when_it_has_carried_something() -> None:
    outcome = {finding.name: finding for finding in transfers(check())}
    for name in ("tcp", "quic", "mptcp", "quic-picoquic", "mpquic-picoquic"):
        finding = outcome[f"{name} on the real clock"]
        assert (finding.status, finding.detail) == ("ok", "carried 0.1 MB")


def test_nothing_is_tried_on_a_real_clock_that_lacks_something() -> None:
    assert not [finding for finding in transfers([QUEUE, TCP]) if "real clock" in finding.name]


def test_a_core_in_c_that_gives_other_numbers_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    run = check_command._run

    def slower(scenario: Scenario) -> RunResult:
        late = scenario.virtual.core == "native"
        return replace(run(scenario), completion_s=1.0 if late else 2.0)

    monkeypatch.setattr(check_command, "_run", slower)
    outcome = {finding.name: finding for finding in virtual_transfers()}
    assert outcome["core in C"].status == "optional-missing"
    assert outcome["core in C"].detail == "a transfer took 1.0 s, in Python 2.0 s"


def test_a_guest_that_is_there_and_ends_is_missing_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on processors with AMX, before guests knew the size of their host's state."""
    monkeypatch.setattr(guest, "MEMORY", "1M")
    boot_obstacle.cache_clear()
    try:
        outcome = {finding.name: finding for finding in virtual_transfers()}
    finally:
        boot_obstacle.cache_clear()
    assert outcome["tcp on the virtual clock"].status == "optional-missing"
    assert "the guest kernel has ended" in outcome["tcp on the virtual clock"].detail
    assert outcome["quic on the virtual clock"].status == "ok"


def test_a_missing_package_is_one_line_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(explore, "find_spec", lambda _: None)
    assert main(["explore", "--no-browser", "--port", str(free_port())]) == 2
    words = 'minitopo-dc: explore needs panel: pip install "minitopo-dc[notebooks]"\n'
    assert capsys.readouterr().err == words


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["explore", "--no-browser", "--port", str(port)]) == 2
    words = f"minitopo-dc: --port: {port}: Address already in use; give another\n"
    assert capsys.readouterr().err == words
