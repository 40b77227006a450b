"""Any program as the client, another as the server, both the user's own."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from minitopo_dc.runners.addresses import is_port_bound
from minitopo_dc.runners.base import FlowFacts, Host, Transfer, TransferFailed, runner
from minitopo_dc.runners.guest_programs import ProgramsFlow
from minitopo_dc.runners.mptcp.endpoints import EndpointChanges, subflow_per_address
from minitopo_dc.runners.processes.process import (
    MOMENT_S,
    age_s,
    kernel_setting,
    run,
    source_address,
    undone,
)
from minitopo_dc.runners.tcp.runner import KernelTcpRunner
from minitopo_dc.runners.virtual import GuestFlow
from minitopo_dc.workloads import Command, Measure, Measurement, Workload
from minitopo_dc.workloads.command import filled, placeholders


@runner("command")
class CommandRunner(KernelTcpRunner):
    """Carries workload `command` on one path, over a bearer or on several paths."""

    any_mode: ClassVar[bool] = True
    foreign: ClassVar[bool] = True
    workloads: ClassVar[tuple[str, ...]] = ("command",)
    compared: ClassVar[bool] = False

    def obstacle(self) -> str | None:
        """Return None, as only the workload says which programs it needs."""
        return None

    def program_obstacle(self, workload: Workload) -> str | None:
        """Return an error for a program that is not on this machine, else None."""
        command = _command_of(workload)
        for role, words in (("client", command.client), ("server", command.server)):
            if words and not _is_program(words[0]):
                return f"workload.{role}: no program {words[0]} on this machine"
        return None

    def _in_guest(self, facts: FlowFacts) -> GuestFlow:
        command = _command_of(facts.workload)
        make = partial(ProgramsFlow, self, facts, ready_port=command.server_ready)
        if len(facts.client_addresses) == 1:
            return make()
        changes = EndpointChanges(facts)
        return make(changes=changes.orders(), note=changes.note)

    def server_command(self, transfer: Transfer) -> list[str]:
        """Return the server's words, none when there is no server."""
        return _command(_command_of(transfer.workload).server, transfer)

    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the client's words, with their placeholders filled."""
        return _command(_command_of(transfer.workload).client, transfer)

    def client_exit_codes(self, transfer: Transfer) -> frozenset[int]:
        """Return the exit codes of success that the user named."""
        return frozenset(_command_of(transfer.workload).exit_codes)

    def server_may_end(self, exit_code: int) -> bool:
        """Return whether the server ended well, as iperf3's does with `--one-off`."""
        return exit_code == 0

    def is_ready(self, transfer: Transfer, pid: int) -> bool:
        """Return whether the server has bound its port or, without one, has run for a moment."""
        port = _command_of(transfer.workload).server_ready
        return age_s(pid) >= MOMENT_S if port is None else is_port_bound(pid, port)

    @contextmanager
    def hosts(self, transfer: Transfer, server: Host, client: Host) -> Iterator[None]:
        """Set up hosts for programs that know nothing of paths: addresses, TCP and MPTCP."""
        addresses = transfer.client_addresses
        with ExitStack() as undo:
            undo.enter_context(source_address(client, addresses[0], transfer.server_address))
            for host in (server, client):
                undo.enter_context(default_control(host, transfer.congestion_control))
            undo.enter_context(subflow_per_address(server, client, addresses))
            yield

    def read(self, transfer: Transfer) -> Measurement:
        """Return the workload's measures, with the time of the client's process."""
        command = _command_of(transfer.workload)
        values = read_measures(command.measures, transfer.directory)
        units = {name: measure.unit for name, measure in command.measures.items()}
        assert transfer.client_s is not None  # it has ended
        return Measurement(0, transfer.client_s, {**values, "units": units})


def _command_of(workload: Workload) -> Command:
    assert isinstance(workload, Command)  # it carries no other
    return workload


def program_environment(server: str, client: str, legs: Sequence[str]) -> dict[str, str]:
    """Return the environment variables with the addresses of the hosts, for users' programs.

    Args:
        server: the server's address.
        client: the client's, unless a program binds another one.
        legs: the client's on each leg.
    """
    return {
        "MINITOPO_DC_SERVER": server,
        "MINITOPO_DC_CLIENT": client,
        **{f"MINITOPO_DC_LEG_{leg}": address for leg, address in enumerate(legs, start=1)},
    }


def _command(words: Iterable[str], transfer: Transfer) -> list[str]:
    """Return the words with their placeholders' values, behind env(1) with the environment."""
    values = _values(transfer)
    command = [filled(word, values) for word in words]
    variables = program_environment(
        transfer.server_address, transfer.first_address, transfer.leg_addresses
    )
    variables["MINITOPO_DC_RUN"] = values["run"]
    return command and ["env", *(f"{name}={text}" for name, text in variables.items()), *command]


def _values(transfer: Transfer) -> Mapping[str, str]:
    """Return the values of `workloads.command.PLACEHOLDERS`, and of the legs'."""
    return {
        "server": transfer.server_address,
        "client": transfer.first_address,
        "run": str(transfer.directory.resolve()),
        "python": sys.executable,
        "certificate": str(transfer.certificate.resolve()),
        "key": str(transfer.key.resolve()),
        "congestion_control": transfer.congestion_control,
        **{f"leg_{leg}": text for leg, text in enumerate(transfer.leg_addresses, start=1)},
    }


def _is_program(word: str) -> bool:
    """Return whether a word can be executed, True for words with other placeholders."""
    named = word.replace("{python}", sys.executable)
    return any(placeholders([named])) or shutil.which(named) is not None


DEFAULT = "net.ipv4.tcp_congestion_control"
"""What TCP sockets have that are given no other (ip-sysctl.rst); of IPv6 too."""
TO_NO_HOST = ("local", "broadcast", "anycast", "multicast", "unreachable", "blackhole", "fe80:")
"""How routes begin that lead to no other host. Link-local ones are the same on all interfaces, of
which IPv6 would replace the first."""
STATES = ("linkdown", "dead")
"""Words of a route that is shown, and not of one that is set."""


@contextmanager
def default_control(host: Host, name: str) -> Iterator[None]:
    """Give the TCP and MPTCP sockets of a host a congestion control, for a block.

    It is the host's default. The kernel refuses to network namespaces, as a default, what it does
    not allow to every user (tcp_set_default_congestion_control of Linux' tcp_cong.c). The host's
    routes have it then. Theirs is what each connection begins with, whatever its program chose
    before (tcp_ca_dst_init and tcp_ca_openreq_child there).

    Raises:
        TransferFailed: the kernel takes it neither way.
    """
    with ExitStack() as undo:
        try:
            undo.enter_context(kernel_setting(host, DEFAULT, name))
        except TransferFailed:
            for version in ("-4", "-6"):
                way = ["ip", version, "route", "replace"]
                for route in _routes(host, version):  # ip-route(8): congctl
                    with_control = [*way, *route, "congctl", name]
                    undo.enter_context(undone(host, with_control, [*way, *route]))
        yield


def _routes(host: Host, version: str) -> Iterator[list[str]]:
    """Yield the words of each route to other hosts that has no congestion control yet."""
    shown = run(host, ["ip", version, "-oneline", "route", "show", "table", "all"])
    for line in shown.splitlines():
        words = [word for word in line.split() if word not in STATES]
        if not line.startswith(TO_NO_HOST) and "congctl" not in words:
            yield words


SHOWN = 60
"""Characters of a value that is no number, in an error."""


def read_measures(measures: Mapping[str, Measure], directory: Path) -> dict[str, float]:
    """Read the measures of a run from the files in its directory.

    Raises:
        TransferFailed: naming the first one that is not there or is no number, and why.
    """
    found = {}
    for name, measure in measures.items():
        try:
            found[name] = measure.scale * _number(_value(measure, directory / measure.file))
        except ValueError as error:
            raise TransferFailed(f"measure {name}: {measure.file}: {error}") from None
    return found


def value_at(document: Any, path: str) -> Any:
    """Return what a path leads to: keys of objects and indexes of lists, with dots between.

    Raises:
        ValueError: it leads nowhere; the text says where it ends, and what is there.
    """
    passed: list[str] = []
    for part in path.split("."):
        try:
            document = document[int(part) if isinstance(document, list) else part]
        except (KeyError, IndexError, ValueError, TypeError):
            place = f"in {'.'.join(passed)}" if passed else "at the top"
            raise ValueError(
                f"json_path {path}: no {part} {place} ({_found_text(document)})"
            ) from None
        passed.append(part)
    return document


def _value(measure: Measure, file: Path) -> Any:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ValueError(str(error.strerror)) from None
    if measure.json_path is not None:
        return value_at(_document(text), measure.json_path)
    assert measure.regex is not None
    matches = list(re.finditer(measure.regex, text, re.MULTILINE))
    if not matches:
        raise ValueError(f"no match of regex {measure.regex}")
    try:
        return float(matches[-1][1])
    except (TypeError, ValueError):  # the group may have matched nothing
        return matches[-1][1]


def _document(text: str) -> Any:
    """Return the JSON of the whole text or, where that is none, of its last line."""
    lines = text.strip().splitlines()
    for candidate in (text, lines[-1] if lines else ""):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    raise ValueError("neither the whole nor its last line is JSON")


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value):
        raise ValueError(f"{str(value)[:SHOWN]!r} is no number")
    return float(value)


def _found_text(document: Any) -> str:
    if isinstance(document, dict):
        return f"there: {', '.join(map(str, document))}"[:200]
    if isinstance(document, list):
        return f"a list of {len(document)}"
    return f"there: {str(document)[:SHOWN]!r}"
