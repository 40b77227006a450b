"""Any program as the client, another as the server, both the user's own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import ClassVar, Literal

from minitopo_dc.linux_guest.library import missing as missing_guest
from minitopo_dc.runners.base import Host, Runner, Transfer, runner
from minitopo_dc.runners.command.default_control import default_control
from minitopo_dc.runners.command.measures import read_measures
from minitopo_dc.runners.guest_programs import ProgramsFlow, guest_transfer
from minitopo_dc.runners.mptcp.endpoints import subflow_per_address
from minitopo_dc.runners.mptcp.virtual import EndpointChanges
from minitopo_dc.runners.ports import is_port_bound
from minitopo_dc.runners.processes.kernel_socket import congestion_control_refusal
from minitopo_dc.runners.processes.process import MOMENT_S, age_s
from minitopo_dc.runners.processes.source_address import source_address
from minitopo_dc.runners.tcp.runner import TcpRunner
from minitopo_dc.runners.virtual import FlowFacts, GuestFlow, GuestTransport
from minitopo_dc.workloads import Command, Measurement, Workload
from minitopo_dc.workloads.command import filled, placeholders


@runner("command")
class CommandRunner(Runner):
    """Carries workload `command` on one path, over a bearer or on several paths."""

    multipath: ClassVar[bool] = False
    any_mode: ClassVar[bool] = True
    foreign: ClassVar[bool] = True
    socket_table: ClassVar[Literal["tcp", "udp"]] = "tcp"
    congestion_controls: ClassVar[tuple[str, ...]] = TcpRunner.congestion_controls
    workloads: ClassVar[tuple[str, ...]] = ("command",)
    compared: ClassVar[bool] = False
    set_up: ClassVar[bool] = True

    def missing(self) -> str | None:
        """Return None, as only the workload says which programs it needs."""
        return None

    def lacking(self, workload: Workload) -> str | None:
        """Return an error for a program that is not on this machine, else None."""
        wanted = as_command(workload)
        for role, words in (("client", wanted.client), ("server", wanted.server)):
            if words and not _is_program(words[0]):
                return f"workload.{role}: no program {words[0]} on this machine"
        return None

    def unsupported(self, congestion_control: str) -> str | None:
        """Return also why the kernel cannot give sockets the algorithm."""
        return super().unsupported(congestion_control) or congestion_control_refusal(
            congestion_control
        )

    def guest(self) -> GuestTransport:
        """Return the same programs in a guest kernel, whose clock is theirs too."""
        return self._in_guest

    def _in_guest(self, facts: FlowFacts) -> GuestFlow:
        wanted = as_command(facts.workload)
        several = len(facts.client_addresses) > 1
        changes = EndpointChanges(guest_transfer(facts)) if several else None
        return ProgramsFlow(self, facts, changes=changes, ready_port=wanted.server_ready)

    def unsupported_virtual(self, congestion_control: str, workload: Workload) -> str | None:  # noqa: ARG002
        """Return why it cannot run in virtual time, where the guest has all of TCP's algorithms."""
        return self.unknown(congestion_control) or missing_guest()

    def server_command(self, transfer: Transfer) -> list[str]:
        """Return the server's words, none when there is no server."""
        return _command(as_command(transfer.workload).server, transfer)

    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the client's words, with their placeholders filled."""
        return _command(as_command(transfer.workload).client, transfer)

    def client_exit_codes(self, transfer: Transfer) -> frozenset[int]:
        """Return the exit codes of success that the user named."""
        return frozenset(as_command(transfer.workload).exit_codes)

    def server_may_end(self, exit_code: int) -> bool:
        """Return whether the server ended well, as iperf3's does with `--one-off`."""
        return exit_code == 0

    def is_ready(self, transfer: Transfer, pid: int) -> bool:
        """Return whether the server has bound its port or, without one, has run for a moment."""
        port = as_command(transfer.workload).server_ready
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
        wanted = as_command(transfer.workload)
        values = read_measures(wanted.measures, transfer.directory)
        units = {name: measure.unit for name, measure in wanted.measures.items()}
        assert transfer.client_s is not None  # it has ended
        return Measurement(0, transfer.client_s, {**values, "units": units})


def as_command(workload: Workload) -> Command:
    """Return a workload as a `Command`.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(workload, Command):
        raise TypeError(f"workload {workload.kind} is no command")
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
