"""Any program as the client, another as the server, both the user's own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import ClassVar, Literal

from minitopo_dc.runners.base import Host, Runner, Transfer, runner
from minitopo_dc.runners.command.measures import read_measures
from minitopo_dc.runners.mptcp.endpoints import subflow_per_address
from minitopo_dc.runners.ports import is_port_bound
from minitopo_dc.runners.processes.kernel_socket import congestion_control_refusal, default_refusal
from minitopo_dc.runners.processes.process import MOMENT_S, age_s, run
from minitopo_dc.runners.processes.source_address import source_address
from minitopo_dc.runners.tcp.runner import TcpRunner
from minitopo_dc.workloads import Command, Measurement, Workload
from minitopo_dc.workloads.command import filled, placeholders

CONGESTION_CONTROL = "net.ipv4.tcp_congestion_control"
"""What TCP sockets have that are given no other (ip-sysctl.rst); of IPv6 too."""


@runner("command")
class CommandRunner(Runner):
    """Workload `command` on one path, over a bearer or on several paths."""

    multipath: ClassVar[bool] = False
    any_mode: ClassVar[bool] = True
    foreign: ClassVar[bool] = True
    socket_table: ClassVar[Literal["tcp", "udp"]] = "tcp"
    congestion_controls: ClassVar[tuple[str, ...]] = TcpRunner.congestion_controls
    workloads: ClassVar[tuple[str, ...]] = ("command",)
    compared: ClassVar[bool] = False
    set_up: ClassVar[bool] = True

    def missing(self) -> str | None:
        """Nothing: which programs there must be the workload says."""
        return None

    def lacking(self, workload: Workload) -> str | None:
        """A program that is not on this machine."""
        wanted = as_command(workload)
        for role, words in (("client", wanted.client), ("server", wanted.server)):
            if words and not _is_program(words[0]):
                return f"workload.{role}: no program {words[0]} on this machine"
        return None

    def unsupported(self, congestion_control: str) -> str | None:
        """Also: the kernel must have the algorithm, and let hosts have it by default."""
        return (
            super().unsupported(congestion_control)
            or congestion_control_refusal(congestion_control)
            or default_refusal(congestion_control)
        )

    def server_command(self, transfer: Transfer) -> list[str]:
        """The server's words; none when there is no server."""
        return _command(as_command(transfer.workload).server, transfer)

    def client_command(self, transfer: Transfer) -> list[str]:
        """The client's words."""
        return _command(as_command(transfer.workload).client, transfer)

    def client_exit_codes(self, transfer: Transfer) -> frozenset[int]:
        """As the user says."""
        return frozenset(as_command(transfer.workload).exit_codes)

    def server_may_end(self, exit_code: int) -> bool:
        """Like iperf3's `--one-off`."""
        return exit_code == 0

    def is_ready(self, transfer: Transfer, pid: int) -> bool:
        """It has bound its port; where none is told, it has been there for a moment."""
        port = as_command(transfer.workload).server_ready
        return age_s(pid) >= MOMENT_S if port is None else is_port_bound(pid, port)

    @contextmanager
    def hosts(self, transfer: Transfer, server: Host, client: Host) -> Iterator[None]:
        """What programs that know nothing of the path find: addresses, TCP's and MPTCP's set-up."""
        addresses = transfer.client_addresses
        with ExitStack() as undo:
            for host in (server, client):
                undo.enter_context(_tcp_default(host, transfer.congestion_control))
            undo.enter_context(source_address(client, addresses[0], transfer.server_address))
            undo.enter_context(subflow_per_address(server, client, addresses))
            yield

    def read(self, transfer: Transfer) -> Measurement:
        """The workload's measures; the time is that of the client's process."""
        wanted = as_command(transfer.workload)
        values = read_measures(wanted.measures, transfer.directory)
        units = {name: measure.unit for name, measure in wanted.measures.items()}
        assert transfer.client_s is not None  # it has ended
        return Measurement(0, transfer.client_s, {**values, "units": units})


def as_command(workload: Workload) -> Command:
    """A workload that is one.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(workload, Command):
        raise TypeError(f"workload {workload.kind} is no command")
    return workload


def program_environment(server: str, client: str, legs: Sequence[str]) -> dict[str, str]:
    """The addresses of the hosts, as variables of a user's programs.

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
    """The words with their placeholders' values, behind env(1), which sets the environment."""
    values = _values(transfer)
    command = [filled(word, values) for word in words]
    variables = program_environment(
        transfer.server_address, transfer.first_address, transfer.leg_addresses
    )
    variables["MINITOPO_DC_RUN"] = values["run"]
    return command and ["env", *(f"{name}={text}" for name, text in variables.items()), *command]


def _values(transfer: Transfer) -> Mapping[str, str]:
    """`workloads.command.PLACEHOLDERS`, and the legs'."""
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
    """Whether it can be executed; of a word with other placeholders this is not known before."""
    named = word.replace("{python}", sys.executable)
    return any(placeholders([named])) or shutil.which(named) is not None


@contextmanager
def _tcp_default(host: Host, congestion_control: str) -> Iterator[None]:
    """Until the end, TCP sockets of the host have this algorithm unless they choose another."""
    before = run(host, ["sysctl", "-n", CONGESTION_CONTROL]).strip()
    _set_tcp_default(host, congestion_control)
    try:
        yield
    finally:
        _set_tcp_default(host, before)


def _set_tcp_default(host: Host, congestion_control: str) -> None:
    run(host, ["sysctl", "-qw", f"{CONGESTION_CONTROL}={congestion_control}"])
