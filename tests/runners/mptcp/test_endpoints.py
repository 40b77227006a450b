"""MPTCP's endpoints and its scheduler."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import PathEvent, PathPlan, SettingsError
from minitopo_dc.runners.addresses import is_connected
from minitopo_dc.runners.base import Transfer, TransferFailed, get_runner
from minitopo_dc.runners.mptcp import endpoints
from minitopo_dc.runners.mptcp.endpoints import (
    LocalHost,
    change_endpoint,
    endpoint_changes,
    first_endpoints,
    wait_until,
)
from minitopo_dc.runners.processes import kernel_socket
from tests.runners.hosts import transfer_in

ADDRESSES = ("10.2.1.2", "10.2.2.2", "10.2.3.2")
SHOWN = "10.2.2.2 id 2 subflow dev eth2 \n192.0.2.9 id 7 signal \n10.2.1.2 id 1 subflow dev eth1 \n"


@dataclass(frozen=True)
class FakeHost(LocalHost):
    """Answers as iproute2 does, and keeps what it was asked."""

    asked: list[str] = field(default_factory=list)

    def popen(self, arguments: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
        self.asked.append(" ".join(arguments))
        answer = {"address": '[{"ifname": "eth9"}]', "endpoint": SHOWN}.get(arguments[2], "")
        return super().popen(["echo", "-n", answer], **streams)

    @property
    def told(self) -> list[str]:
        """The changes of endpoints, in short."""
        begin = "ip mptcp endpoint "
        return [each.removeprefix(begin) for each in self.asked if each.startswith(begin)]


def told(plan: PathPlan) -> list[str]:
    host = FakeHost()
    for change in endpoint_changes(plan):
        change_endpoint(host, ADDRESSES, change.name, change.leg)
    return host.told


def test_the_initial_subflow_needs_no_endpoint() -> None:
    assert told(PathPlan((2, 1))) == ["add 10.2.1.2 id 1 dev eth9 subflow"]


def test_a_status_of_the_initial_subflow_needs_one() -> None:
    plan = PathPlan((1,), (PathEvent(1, "backup", 1), PathEvent(2, "available", 1)))
    assert told(plan) == [
        "add 10.2.1.2 id 1 dev eth9 subflow",
        "change id 1 backup",
        "change id 1 nobackup",
    ]


def test_the_initial_subflow_is_closed_by_its_identifier_and_the_next_one_by_its_leg_s() -> None:
    events = [(1, "open", 2), (2, "abandon", 1), (3, "open", 1), (4, "abandon", 1)]
    plan = PathPlan((1,), tuple(PathEvent(at, what, leg) for at, what, leg in events))  # type: ignore[arg-type]
    assert told(plan) == [
        "add 10.2.2.2 id 2 dev eth9 subflow",
        "delete id 0 10.2.1.2",
        "add 10.2.1.2 id 1 dev eth9 subflow",
        "delete id 1",
    ]


def test_an_initial_subflow_with_an_endpoint_loses_both() -> None:
    plan = PathPlan((1, 3), (PathEvent(1, "backup", 1), PathEvent(2, "abandon", 1)))
    assert told(plan)[-3:] == ["change id 1 backup", "delete id 0 10.2.1.2", "delete id 1"]


def test_at_the_end_the_endpoints_of_the_client_s_addresses_are_removed() -> None:
    host = FakeHost()
    with first_endpoints(host, ADDRESSES, PathPlan((1, 2))):
        before = len(host.told)
    assert host.told[before:] == ["show", "delete id 2", "delete id 1"]


def test_an_address_that_no_interface_has_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minitopo_dc.runners.mptcp.endpoints.run", lambda *_: "[]")
    with pytest.raises(TransferFailed, match=r"client .*10\.2\.2\.2"):
        change_endpoint(FakeHost(), ADDRESSES, "add", 2)


@pytest.mark.parametrize(("at_s", "least_s"), [(0.2, 0.2), (0.0, 0.05)])
def test_a_change_waits_for_its_time_or_for_nothing_when_that_has_passed(
    at_s: float, least_s: float
) -> None:
    begin_ns = time.monotonic_ns() - 50_000_000
    wait_until(at_s, begin_ns)
    assert least_s <= (time.monotonic_ns() - begin_ns) / 1e9 < least_s + 2


def test_a_connection_is_found_once_it_is_established() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        peer = server.getsockname()
        assert not is_connected("self", "127.0.0.3", peer)
        with socket.create_connection(peer, source_address=("127.0.0.3", 0)):
            assert is_connected("self", "127.0.0.3", peer)
            assert not is_connected("self", "127.0.0.2", peer)


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ("default", None),
        ("bpf_red", None),
        ("bpf_rr", "options.scheduler: bpf_rr; this machine's kernel has default, bpf_red"),
    ],
)
def test_one_that_the_kernel_has_not_is_unsupported(
    wanted: str, reason: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "available").write_text("default bpf_red\n")
    monkeypatch.setattr(kernel_socket, "AVAILABLE_SCHEDULERS", tmp_path / "available")
    assert get_runner("mptcp").options_obstacle({"scheduler": wanted}, virtual=False) == reason


def test_a_kernel_without_a_choice_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_socket, "AVAILABLE_SCHEDULERS", tmp_path / "none")
    told = get_runner("mptcp").options_obstacle({"scheduler": "default"}, virtual=False)
    assert told == "options.scheduler: default; this machine's kernel has none to choose"
    assert get_runner("mptcp").options_obstacle({}, virtual=False) is None


def test_a_name_is_one_word() -> None:
    with pytest.raises(SettingsError, match="scheduler: x = 1; allowed: "):
        get_runner("mptcp").check_options({"scheduler": "x = 1"}, 4)


def test_the_program_makes_each_change_once_connected_and_tells_of_it_till_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(_: LocalHost, addresses: Sequence[str], name: str, leg: int) -> None:
        if leg == 3:
            raise TransferFailed("refused")
        made.append((name, addresses[leg - 1]))

    made: list[tuple[str, str]] = []
    events = (PathEvent(0.0, "open", 2), PathEvent(0.01, "open", 3))
    plan = PathPlan((1,), events)
    transfer = transfer_in(tmp_path, paths=plan, begin_ns=time.monotonic_ns())
    transfer = replace(transfer, client_addresses=ADDRESSES)
    answers = iter([False, True])
    monkeypatch.setattr(Transfer, "given", lambda: transfer)
    monkeypatch.setattr(endpoints, "is_connected", lambda *_: next(answers))
    monkeypatch.setattr(endpoints, "change_endpoint", change)
    with pytest.raises(SystemExit, match="refused"):
        endpoints.main()
    assert made == [("add", "10.2.2.2")]
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) | {"done_s": 0} == {**events[0]._asdict(), "done_s": 0}
