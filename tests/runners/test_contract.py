"""The registry, options, content and settings files: what needs no process."""

from __future__ import annotations

import hashlib
import json
import runpy
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.runners.aioquic.connection import initial_destination
from minitopo_dc.runners.base import (
    Transfer,
    TransferFailed,
    get_runner,
    runner,
    runner_names,
)
from minitopo_dc.runners.certificate import make_certificate
from minitopo_dc.runners.tcp.runner import TcpRunner
from minitopo_dc.workloads import RequestResponse
from minitopo_dc.workloads.exchange import (
    BLOCK_BYTES,
    blocks,
    content_sha256,
    requested_content,
    write_content,
)
from tests.runners.hosts import told, transfer_in

TRANSFER = transfer_in(Path("run"))
SERVER = TRANSFER.server_address


def test_a_runner_is_shown_with_its_stack() -> None:
    assert [get_runner(name).label for name in runner_names()] == [
        *("tcp (Linux)", "quic (aioquic)", "quic-ngtcp2 (ngtcp2)"),
        "mptcp (Linux)",
        *("quic-picoquic (picoquic)", "mpquic-picoquic (picoquic)"),
        *("quic-noq (noq)", "mpquic-noq (noq)"),
        *("icmp (ping)", "command", "quic-aioquic-2020"),
    ]


def test_unknown_and_taken_names_and_options_that_are_no_model_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no runner 'sctp' \(known: tcp, quic, quic-ngtcp2,"):
        get_runner("sctp")
    with pytest.raises(ValueError, match="'tcp'"):
        runner("tcp")(type("Other", (TcpRunner,), {}))
    with pytest.raises(TypeError, match=r"runner own: options_type: allowed: .*Options"):
        runner("own")(type("Own", (TcpRunner,), {"options_type": dict}))


def test_a_congestion_control_that_a_tool_lacks_is_unsupported_with_the_choice() -> None:
    assert get_runner("quic").run_obstacle("bbr") == "runner quic has no bbr (choose reno or cubic)"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("quic-ngtcp2", ["Debian: apt-get install ngtcp2-server ngtcp2-client"]),
        ("tcp", ["curl", "apt-get install curl"]),
        ("mptcp", ["mptcpize", "apt-get install curl mptcpize"]),
    ],
)
def test_a_missing_tool_is_named_with_how_to_get_it(
    name: str, words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    only_place(monkeypatch, tmp_path)
    reason = get_runner(name).run_obstacle("cubic")
    assert reason is not None
    assert [word for word in words if word not in reason] == []


def only_place(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """No program is found but in this directory."""
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.setattr("minitopo_dc.runners.programs.SYSTEM_PLACES", ())


def test_a_program_that_has_gone_fails_the_transfer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    only_place(monkeypatch, tmp_path)
    with pytest.raises(TransferFailed, match="gtlsserver"):
        get_runner("quic-ngtcp2").server_command(TRANSFER)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("tcp", {"qlog": True}, "runner tcp: qlog: unknown field; known: tls, tcp_info, mss_bytes"),
        ("quic", {"window": 1}, "window: unknown field; known: slow_start_exit, .*max_data, "),
        ("quic", {"max_data": 0}, "max_data: 0; allowed: 1 to 4,611,686,018,427,387,903"),
        ("quic", {"qlog": 1}, "qlog: 1 is neither true nor false"),
        ("quic", {"receive_buffer_bytes": -1}, "-1; allowed: 1 to 1,073,741,823 bytes"),
        ("quic-ngtcp2", {"max_datagram_bytes": 1199}, "is 1199, must be 1200 to 1472 with IPv4"),
    ],
)
def test_a_wrong_option_is_refused_with_what_is_allowed(
    name: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        get_runner(name).check_options(options, 4)


@pytest.mark.parametrize("name", ["tcp", "mptcp"])
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_the_tls_version_is_the_only_one_that_the_clients_offer(
    name: str, version: str, tmp_path: Path
) -> None:
    transfer = replace(TRANSFER, directory=tmp_path, options={"tls": version})
    command = get_runner(name).client_command(transfer)
    assert f"--tlsv{version}" in command
    assert command[command.index("--tls-max") + 1] == version
    requests = replace(transfer, workload=RequestResponse())
    command = get_runner(name).client_command(requests)
    assert (told(command).options, command[-1]) == ({"tls": version}, name)


def test_only_tcp_writes_what_the_kernel_says_of_its_connection(tmp_path: Path) -> None:
    silent = replace(TRANSFER, directory=tmp_path)
    transfer = replace(silent, options={"tcp_info": True})
    tcp = TcpRunner()
    assert tcp.tcp_info(told(tcp.server_command(transfer))) == tmp_path / "tcp-info.csv"
    assert tcp.tcp_info(told(tcp.server_command(silent))) is None
    with pytest.raises(SettingsError, match="tcp_info: unknown field"):
        get_runner("mptcp").check_options(transfer.options, 4)


def test_an_option_reaches_the_program(tmp_path: Path) -> None:
    without = replace(TRANSFER, directory=tmp_path)
    for asked in (300_000, None):
        transfer = replace(without, options={"receive_buffer_bytes": asked})
        command = get_runner("quic").client_command(transfer)
        assert told(command).options["receive_buffer_bytes"] == asked


def test_a_content_is_the_same_in_every_form(tmp_path: Path) -> None:
    size = 3 * BLOCK_BYTES + 1
    write_content(tmp_path / "file", size)
    content = b"".join(blocks(size))
    assert (tmp_path / "file").read_bytes() == content
    assert content_sha256(size) == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("path", "size"),
    [
        *(("/bytes/0", 0), ("/bytes/1000000000000", 10**12), ("/bytes/-1", None)),
        *((path, None) for path in ("/", "", "/bytes/", "/bytes/x", "/a/1", "/bytes/²")),
    ],
)
def test_the_requested_size_is_read_from_the_path(path: str, size: int | None) -> None:
    found = requested_content(path)
    assert (found and found.size_bytes) == size


def test_a_certificate_names_the_server_and_its_addresses(tmp_path: Path) -> None:
    made = make_certificate(tmp_path, ["10.0.0.1"])
    certificate = x509.load_pem_x509_certificate(made.certificate.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["server.test"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.1"]
    assert stat.S_IMODE(made.key.stat().st_mode) == 0o600


@given(st.binary(min_size=1, max_size=20))
def test_a_clients_first_packet_gives_its_destination(destination: bytes) -> None:
    header = b"\xc3\0\0\0\1" + bytes([len(destination)]) + destination
    assert initial_destination(header.ljust(1200, b"\0")) == destination


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc3\0\0\0\1\4abcd",  # shorter than 1,200 bytes
        b"\x43\0\0\0\1\4abcd".ljust(1200, b"\0"),  # a short header
        b"\xe3\0\0\0\1\4abcd".ljust(1200, b"\0"),  # a Handshake packet
        b"\xc3\0\0\0\2\4abcd".ljust(1200, b"\0"),  # another version
    ],
)
def test_any_other_datagram_starts_no_connection(data: bytes) -> None:
    assert initial_destination(data) is None


def test_a_served_file_is_there_during_a_run_only(tmp_path: Path) -> None:
    transfer = replace(TRANSFER, directory=tmp_path)
    (tmp_path / "download").mkdir()
    (tmp_path / "download" / "1000").write_bytes(b"of a run that was killed")
    with get_runner("quic-ngtcp2").files(transfer):
        assert (tmp_path / "www" / "1000").stat().st_size == 1000
        assert list((tmp_path / "download").iterdir()) == []
    assert list(tmp_path.iterdir()) == []


PROGRAMS = (
    *("sans_io.endpoint", "tcp.server", "tcp.client"),
    *("mptcp.endpoints", "ngtcp2", "icmp"),
)


Said = Callable[[Callable[[], object], str | None], str]


@pytest.fixture
def said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Said:
    """What a program with this file, or without one, says before it ends; without its name."""
    file = tmp_path / "told.json"
    monkeypatch.setattr(sys, "argv", ["program", str(file)])

    def error_text(program: Callable[[], object], content: str | None) -> str:
        if content is not None:
            file.write_text(content, encoding="utf-8")
        with pytest.raises(SystemExit) as ended:
            program()
        assert ended.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line.removeprefix(f"{file}:").strip()

    return error_text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"port": "x"}, "port: Input should be a valid integer"),
        ({"speed": 1}, "speed: Unexpected keyword argument"),
        ({"workload": {"size_mb": -1}}, "workload: Value error, download: size_mb: "),
        ({"plugins": ["no.such"]}, "plugin no.such: ModuleNotFoundError"),
    ],
)
def test_a_wrong_field_is_named(
    change: dict[str, Any], words: str, said: Said, tmp_path: Path
) -> None:
    transfer = transfer_in(tmp_path, RequestResponse(), begin_ns=7)
    *_, file, _, _ = get_runner("quic").client_command(transfer)
    values = json.loads(Path(file).read_text(encoding="utf-8")) | change
    assert said(Transfer.given, json.dumps(values)).startswith(words)


@pytest.mark.parametrize(
    ("content", "words"),
    [("{\n1", "2: no JSON: "), ("", "1: no JSON: "), ("[]", ": Input should be a dictionary")],
)
def test_a_file_that_holds_no_settings_is_told(content: str, words: str, said: Said) -> None:
    assert said(Transfer.given, content).startswith(words)


def test_a_program_asks_for_its_file(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["program"])
    assert said(Transfer.given, None) == "give the file of a transfer, in JSON"


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_ends_at_a_file_that_is_not_there(program: str, said: Said) -> None:
    run = partial(runpy.run_module, f"minitopo_dc.runners.{program}", run_name="__main__")
    assert said(run, None) == "No such file or directory"
