"""The runner of commands: its fields, its measures, and the congestion control of programs."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.results.trust import LIMITS_VARIABLE
from minitopo_dc.runners.base import Host, Transfer, TransferFailed, get_runner
from minitopo_dc.runners.command import runner as module
from minitopo_dc.runners.command.runner import (
    CommandRunner,
    default_control,
    read_measures,
    value_at,
)
from minitopo_dc.workloads import Command, Measure, Measurement
from tests.runners.hosts import (
    SERVER_ADDRESS,
    NamespaceHost,
    TwoHosts,
    free_port,
    run_transfer,
    transfer_in,
)

LISTEN = (
    "import socket, time; s = socket.create_server(('127.0.0.1', {port})); "
    "print('up', flush=True); time.sleep(60)"
)


class LocalRunner(CommandRunner):
    """Leaves this machine as it is."""

    name: ClassVar[str] = "command"

    @contextmanager
    def hosts(
        self,
        transfer: Transfer,  # noqa: ARG002
        server: Host,  # noqa: ARG002
        client: Host,  # noqa: ARG002
    ) -> Iterator[None]:
        yield


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    local = ("127.0.0.1", "127.0.0.2")
    made = transfer_in(tmp_path, Command(client=("true",)), leg_addresses=local, timeout_s=10.0)
    return replace(
        made,
        server_address=local[0],
        client_addresses=local[1:],
        directory=tmp_path / "run",
    )


def run(transfer: Transfer, *client: str, **more: Any) -> Measurement:
    wanted = Command.check({"client": client, **more}, "test")
    return run_transfer(LocalRunner(), replace(transfer, workload=wanted))


def listening(port: int) -> list[str]:
    return ["{python}", "-c", LISTEN.replace("{port}", str(port))]


@pytest.fixture
def port() -> int:
    return free_port()


def test_a_client_alone_is_enough_and_its_time_is_measured(transfer: Transfer) -> None:
    measured = run(transfer, "sleep", "0.3")
    assert 0.28 <= measured.completion_s < 2  # from behind its start
    assert measured.bytes_received == 0
    assert "server_cpu_s" not in measured.details


def test_its_words_are_no_shell_s(transfer: Transfer) -> None:
    run(transfer, "printf", "%s", "$HOME; {{client}} `id` *")
    assert transfer.client_output.read_text() == "$HOME; {client} `id` *"


def test_addresses_are_in_words_and_environment(
    transfer: Transfer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LIMITS_VARIABLE)
    script = "env | grep ^MINITOPO_DC_ | sort; echo {server} {client} {leg_1} {leg_2} {run} {key}"
    run(transfer, "sh", "-c", script)
    *variables, words = transfer.client_output.read_text().splitlines()
    assert variables == [
        "MINITOPO_DC_CLIENT=127.0.0.2",
        "MINITOPO_DC_LEG_1=127.0.0.1",
        "MINITOPO_DC_LEG_2=127.0.0.2",
        f"MINITOPO_DC_RUN={transfer.directory}",
        "MINITOPO_DC_SERVER=127.0.0.1",
    ]
    assert words.split() == [
        *("127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.2"),
        *(str(transfer.directory), str(transfer.key)),
    ]


def test_measures_and_their_units_are_details(transfer: Transfer) -> None:
    measures = {
        "load_ms": {"regex": r"load (\S+) s", "scale": 1000, "unit": "ms"},
        "requests": {"json_path": "n", "file": "page.json"},
        "warnings": {"regex": r"(\d+) warnings", "file": "client.log"},
    }
    script = "echo load 1.5 s; echo 3 warnings >&2; echo '{\"n\": 40}' > $MINITOPO_DC_RUN/page.json"
    details = run(transfer, "sh", "-c", script, measures=measures).details
    assert {name: details[name] for name in measures} == {
        **{"load_ms": 1500, "requests": 40, "warnings": 3},
    }
    assert details["units"] == {"load_ms": "ms", "requests": "", "warnings": ""}


def test_a_server_is_waited_for_and_ended(transfer: Transfer, port: int) -> None:
    connect = f"import socket; socket.create_connection(('127.0.0.1', {port})); print('there')"
    run(transfer, sys.executable, "-c", connect, server=listening(port), server_ready=port)
    assert transfer.client_output.read_text() == "there\n"
    assert transfer.server_output.read_text() == "up\n"
    socket.create_server(("127.0.0.1", port)).close()  # else: in use


def test_a_server_without_a_port_has_half_a_second(transfer: Transfer) -> None:
    script = "sleep 0.4; echo ready > $MINITOPO_DC_RUN/state; sleep 60"
    run(transfer, "cat", "{run}/state", server=["sh", "-c", script])
    assert transfer.client_output.read_text() == "ready\n"


def test_a_server_may_serve_once_and_end(transfer: Transfer) -> None:
    assert run(transfer, "sleep", "1", server=["sleep", "0.7"]).completion_s > 0.9


@pytest.mark.parametrize("trap", ["''", "'exit 3'"])
def test_however_a_server_ends_that_is_asked_to_does_not_matter(
    trap: str, transfer: Transfer
) -> None:
    """Neither its exit code, nor that it must be killed."""
    run(transfer, "true", server=["sh", "-c", f"trap {trap} TERM; while :; do sleep 0.05; done"])


@pytest.mark.parametrize(
    ("client", "more", "words"),
    [
        (["sh", "-c", "echo no such page >&2; exit 4"], {}, "client .* code 4: no such page"),
        (["sh", "-c", "echo told; exit 4"], {}, "client ended with exit code 4: told"),
        (["sh", "-c", "kill -KILL $$"], {}, "client was ended by SIGKILL"),
        (["true"], {"exit_codes": [1]}, "client ended with exit code 0"),
        (["true"], {"server": ["false"]}, "server ended with exit code 1 before it listened"),
        (
            ["sleep", "5"],
            {"server": ["sh", "-c", "sleep 0.7; echo broken >&2; exit 2"]},
            "server ended with exit code 2 during the transfer: broken",
        ),
        (["true"], {"measures": {"a": {"json_path": "x"}}}, "measure a: client.out: neither"),
    ],
)
def test_a_failure_says_who_and_why(
    client: list[str], more: dict[str, Any], words: str, transfer: Transfer
) -> None:
    with pytest.raises(TransferFailed, match=words):
        run(transfer, *client, **more)


def test_another_exit_code_may_be_success(transfer: Transfer) -> None:
    assert run(transfer, "sh", "-c", "exit 3", exit_codes=[0, 3]).completion_s > 0


def test_a_program_that_is_not_here_is_an_obstacle() -> None:
    program_obstacle = get_runner("command").program_obstacle
    for role in ("client", "server"):
        wanted = Command.check({"client": ["true"], role: ["no-such-program"]}, "test")
        assert (
            program_obstacle(wanted)
            == f"workload.{role}: no program no-such-program on this machine"
        )
    for program in ("true", "{python}", "/bin/sh", "{run}/made-later"):
        assert program_obstacle(Command(client=(program,))) is None


REPORT = {"end": {"sum": {"bits_per_second": 9.5e6}, "streams": [{"rtt": 12}, {"rtt": 15}]}}


def read(directory: Path, text: str, **fields: Any) -> float:
    (directory / "client.out").write_text(text)
    return read_measures({"mine": Measure.check(fields, "test")}, directory)["mine"]


@pytest.mark.parametrize(
    ("text", "fields", "value"),
    [
        # A path leads through objects and lists.
        (json.dumps(REPORT), {"json_path": "end.sum.bits_per_second", "scale": 1e-6}, 9.5),
        (json.dumps(REPORT), {"json_path": "end.streams.1.rtt"}, 15),
        # The last line alone may be JSON.
        ('connecting\n{"a": 1}\n\n', {"json_path": "a"}, 1),
        # A regular expression sees lines, and its last match counts.
        ("took 3 s\n total 4.5e1 s\n", {"regex": r"([\d.e]+) s$"}, 45),
        ("x 1\ny 2\nz 3\n", {"regex": r"^y (\d+)$"}, 2),
        ("", {"json_path": "ms", "file": "page/load.json"}, 7),
    ],
)
def test_a_measure_is_read(text: str, fields: dict[str, Any], value: float, tmp_path: Path) -> None:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "load.json").write_text('{"ms": 7}')
    assert read(tmp_path, text, **fields) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "fields", "words"),
    [
        ("", {"json_path": "a"}, "client.out: neither the whole nor its last line is JSON"),
        ("[1]", {"json_path": "a"}, r"json_path a: no a at the top \(a list of 1\)"),
        ('{"a": [1]}', {"json_path": "a.1"}, r"no 1 in a \(a list of 1\)"),
        ('{"a": {"b": 1}}', {"json_path": "a.c"}, r"no c in a \(there: b\)"),
        ('{"a": 1}', {"json_path": "a.c"}, r"no c in a \(there: '1'\)"),
        ('{"a": "12"}', {"json_path": "a"}, "'12' is no number"),
        ('{"a": true}', {"json_path": "a"}, "'True' is no number"),
        ('{"a": null}', {"json_path": "a"}, "'None' is no number"),
        ('{"a": NaN}', {"json_path": "a"}, "'nan' is no number"),
        ("x", {"regex": r"(\d+) ms"}, r"no match of regex \(\\d\+\) ms"),
        ("1,024 ms", {"regex": r"(\S+) ms"}, "'1,024' is no number"),
        ("inf ms", {"regex": r"(\S+) ms"}, "'inf' is no number"),
        (" ms", {"regex": r"(\d+)? ms"}, "'None' is no number"),
        ("", {"json_path": "a", "file": "none"}, "none: No such file or directory"),
    ],
)
def test_what_is_no_number_fails_the_run_and_says_why(
    text: str, fields: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(TransferFailed, match=f"measure mine: .*{words}"):
        read(tmp_path, text, **fields)


JSON = st.recursive(
    st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)


@given(JSON, st.data())
def test_every_place_has_a_path(document: Any, data: st.DataObject) -> None:
    path, value = [], document
    while value and isinstance(value, list | dict):
        keys = list(range(len(value))) if isinstance(value, list) else list(value)
        key = data.draw(st.sampled_from(keys))
        path.append(str(key))
        value = value[key]
    if path:
        assert value_at(document, ".".join(path)) == value


@given(JSON, st.text())
def test_no_path_breaks_it(document: Any, path: str) -> None:
    try:
        value_at(document, path)
    except ValueError as error:
        assert f"json_path {path}: no " in str(error)


KINDS = {"tcp": 6, "mptcp": 262}
"""Protocol numbers of a socket (linux/in.h)."""
SERVER = (
    "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, {kind}); "
    "s.bind(('{address}', 4433)); s.listen(); print('up', flush=True); c = s.accept()[0]; c.recv(1)"
)
CLIENT = (
    "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, {kind}); "
    "s.connect(('{address}', 4433)); print('up', flush=True); s.recv(1)"
)


@contextmanager
def program(host: NamespaceHost, text: str, kind: int) -> Iterator[None]:
    words = [sys.executable, "-c", text.format(kind=kind, address=SERVER_ADDRESS)]
    with host.popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        yield
        process.kill()


def controls(host: NamespaceHost) -> set[str]:
    """Return what a host's established TCP connections have, subflows among them."""
    shown = host.run("ss", "--no-header", "--info", "--tcp", "--numeric", "state", "established")
    return {word for word in shown.split() if word in ("reno", "cubic", "bbr")}


@pytest.mark.root
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_routes", [False, True])
def test_a_program_has_the_control_at_both_ends_and_the_hosts_have_their_own_again(
    kind: str, by_routes: bool, hosts: TwoHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By routes also where this machine allows it as a default."""

    def refused(*_: object) -> object:
        raise TransferFailed("not permitted")

    if by_routes:
        monkeypatch.setattr(module, "kernel_setting", refused)
    number = KINDS[kind]
    before = [host.run("ip", "-4", "route", "show", "table", "all") for host in ends(hosts)]
    with (
        default_control(hosts.server, "cubic"),
        default_control(hosts.client, "cubic"),
        program(hosts.server, SERVER, number),
        program(hosts.client, CLIENT, number),
    ):
        time.sleep(0.1)
        assert [controls(host) for host in ends(hosts)] == [{"cubic"}, {"cubic"}]
    assert [host.run("ip", "-4", "route", "show", "table", "all") for host in ends(hosts)] == before


def ends(hosts: TwoHosts) -> tuple[NamespaceHost, NamespaceHost]:
    return hosts.server, hosts.client


@pytest.mark.root
def test_a_control_that_the_kernel_lacks_is_an_error_and_changes_nothing(hosts: TwoHosts) -> None:
    before = hosts.client.run("ip", "-4", "route", "show", "table", "all")
    with pytest.raises(TransferFailed, match="nosuch"), default_control(hosts.client, "nosuch"):
        pass
    assert hosts.client.run("ip", "-4", "route", "show", "table", "all") == before
