"""The contract between a transport and the code that runs it, and the registry of transports."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import IO, Annotated, Any, ClassVar, Literal, NoReturn, Protocol, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from minitopo_dc.errors import InputError, MinitopoDcError
from minitopo_dc.fields import IpVersion, PathPlan, Settings
from minitopo_dc.fields.ranges import within
from minitopo_dc.installation import module_command
from minitopo_dc.registry import Registry, with_loaded_plugins
from minitopo_dc.runners.addresses import SIMULATED, is_bound
from minitopo_dc.runners.programs import Tool
from minitopo_dc.runners.virtual import Address, GuestFlow, VirtualConnection, VirtualHost
from minitopo_dc.workloads import (
    Download,
    Measurement,
    Workload,
    WorkloadField,
    as_download,
    get_workload,
    workload_names,
)

MOST = 2**62 - 1
"""Of every size: what QUIC can write (RFC 9000, section 16)."""
Size = Annotated[int, *within(1, MOST)]
ETHERNET_BYTES = 1500
"""Of IP in a frame of Ethernet (RFC 894)."""
SocketBuffer = Annotated[int, *within(1, 2**30 - 1, "bytes")]
"""The kernel doubles it, in a C int (socket(7), SO_RCVBUF)."""


class Options(Settings):
    """Options of a runner that has none; a subclass has those of another runner.

    Each is a whole number from 1 on, a number with a range of `settings.ranges`, one of some words
    or a switch; one that may be None is None unless it is given.
    """

    model_config = ConfigDict(strict=True)

    def packet_bytes(self, ip_version: IpVersion) -> int | None:
        """Return the size of the transport's largest IP packets in bytes, None if not known."""
        return None


class TransferFailed(MinitopoDcError):  # noqa: N818 (it is an outcome, the status `failed`)
    """Error: a transfer did not deliver every byte as it was asked to; the text says why."""


class RunFile:
    """A file of a transfer, by its name in the directory of the run."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, transfer: Transfer, _: type[Transfer]) -> Path:
        return transfer.directory / self._name


@dataclass(frozen=True)
class Transfer:
    """One flow: what its ends do, between which addresses, where its files go.

    Programs of this project read it from a JSON file, their first argument.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)
    workload: WorkloadField
    congestion_control: str
    server_address: str
    port: int
    client_addresses: tuple[str, ...]  # one per leg
    directory: Path  # of this run: outputs and logs stay, large files are removed
    certificate: Path
    key: Path
    timeout_s: float  # from the client's start
    options: Mapping[str, Any] = field(default_factory=dict)  # the runner's own
    # The server's addresses beyond the first, for workloads that use them all.
    more_server_addresses: tuple[str, ...] = ()
    # When which leg has a path; None: each client address has one, from the beginning to the end.
    paths: PathPlan | None = None
    # Time zero of the legs and so of `paths` (`time.monotonic_ns()`); None: not yet.
    begin_ns: int | None = None
    # The client's address on every leg, also on those that the flow does not use.
    leg_addresses: tuple[str, ...] = ()
    # The user's modules and files that its programs may need.
    plugins: tuple[str, ...] = ()
    # How long the client's process has lived, when it has ended.
    client_s: float | None = None
    # Where the client's connection ends instead of at the server, if there is a proxy.
    proxy_address: str | None = None

    @property
    def path_plan(self) -> PathPlan:
        """Return `paths`, or the plan in which every address has a path for the whole time."""
        return self.paths or PathPlan.whole(len(self.client_addresses))

    @property
    def server(self) -> Address:
        """Return the server's address and port."""
        return self.server_address, self.port

    @property
    def peer_address(self) -> str:
        """Return the address to which the client connects."""
        return self.proxy_address or self.server_address

    @property
    def first_address(self) -> str:
        """Return the client's address from which the connection begins."""
        return self.client_addresses[self.path_plan.initial[0] - 1]

    @property
    def first_addresses(self) -> tuple[str, ...]:
        """Return the client's addresses from which it tries to connect, in this order."""
        plan = self.path_plan
        return tuple(self.client_addresses[leg - 1] for leg in (plan.initial[0], *plan.attempts))

    @property
    def download(self) -> Download:
        """Return the workload of a runner that carries downloads only."""
        return as_download(self.workload)

    def command(self, module: str, role: str, *words: str) -> list[str]:
        """Write this into `ROLE.json`, and return the command of a module that reads it.

        Args:
            module: of the package.
            role: of the program: client, server or paths.
            words: its further arguments.
        """
        file = self.directory / f"{role}.json"
        file.write_bytes(_transfers().dump_json(self, indent=1) + b"\n")
        return [*module_command(module), str(file), *words]

    @classmethod
    def given(cls) -> Transfer:
        """Return this program's transfer; a wrong file ends it with 2 and a line per error."""
        if len(sys.argv) < 2:
            _refuse("give the file of a transfer, in JSON")
        file = sys.argv[1]
        try:
            fields = with_loaded_plugins(json.loads(Path(file).read_text(encoding="utf-8")))
            return _transfers().validate_python(fields)
        except json.JSONDecodeError as error:
            _refuse(f"{file}:{error.lineno}: no JSON: {error.msg}")
        except ValidationError as error:
            words = ((".".join(map(str, each["loc"])), each["msg"]) for each in error.errors())
            _refuse("\n".join(f"{file}: {field}: {message}" for field, message in words))
        except (OSError, UnicodeDecodeError, InputError) as error:  # InputError: of a plugin
            _refuse(f"{file}: {getattr(error, 'strerror', None) or error}")

    server_output = RunFile("server.out")
    """The server's standard output, and its standard error."""
    server_log = RunFile("server.log")
    client_output = RunFile("client.out")
    """The same of the client."""
    client_log = RunFile("client.log")
    proxy_settings = RunFile("proxy.orders")
    """The settings for the program of `Runner.proxy_command`, and its output and error."""
    proxy_output = RunFile("proxy.out")
    proxy_log = RunFile("proxy.log")
    paths_output = RunFile("paths.out")
    """The output of the program of `Runner.paths_command`, and its error."""
    paths_log = RunFile("paths.log")


@dataclass(frozen=True, kw_only=True)
class FlowFacts(Transfer):
    """A flow on the virtual clock, whatever its ends are.

    Attributes:
        begin_ns: time zero of the legs, on the hosts' clock.
        client_port: at each of the client's addresses.
        wire_ns: the one-way delay (ns) of the wire between gnb, or a proxy on it, and the server.
        key_frame_address: the client's of a connection of key frames, if there is one.
        seed: of what a transport draws at random; each flow of a scenario has its own.
        sysctl: kernel settings of both hosts, of ends in a guest.
        earlier_downloads: of ends in a guest, how many go before the one that is measured.
    """

    certificate: Path = SIMULATED.certificate
    key: Path = SIMULATED.key
    timeout_s: float = 1  # which nothing asks for
    begin_ns: int
    client_port: int
    wire_ns: int = 0
    key_frame_address: Address | None = None
    seed: int
    sysctl: Mapping[str, str] = field(default_factory=dict)
    earlier_downloads: int = 0

    @property
    def clients(self) -> list[Address]:
        """Return the client's addresses, each with its port."""
        return [(address, self.client_port) for address in self.client_addresses]

    @property
    def proxy(self) -> Address | None:
        """Return the address and port of the proxy, if there is one."""
        return None if self.proxy_address is None else (self.proxy_address, self.port)


@dataclass(frozen=True, kw_only=True)
class VirtualFlow(FlowFacts):
    """A flow whose ends are objects in this process.

    Attributes:
        client_host: the client's.
        server_host: the server's.
        ended: to be called once, when the client has ended.
    """

    client_host: VirtualHost
    server_host: VirtualHost
    ended: Callable[[], None]


VirtualTransport = Callable[[VirtualFlow], VirtualConnection]
"""Makes both ends of a flow."""
GuestTransport = Callable[[FlowFacts], GuestFlow]
"""Makes a flow for a guest."""


@cache
def _transfers() -> TypeAdapter[Transfer]:
    return TypeAdapter(Transfer)


def _refuse(words: str) -> NoReturn:
    print(words, file=sys.stderr)  # noqa: T201
    sys.exit(2)


class Host(Protocol):
    """A place where processes run: a network namespace or a Mininet node."""

    @property
    def name(self) -> str:
        """Return the host's name, for messages."""

    def popen(
        self,
        arguments: Sequence[str],
        *,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
    ) -> subprocess.Popen[bytes]:
        """Start a process in this host; its pid is that of the command, not of a wrapper."""


Builder = Callable[[Callable[[str], None]], Path]
"""Makes a part and returns its path; it is given what tells the user the next step, a line each."""


class Runner(ABC):
    """One transport: commands, set-up of hosts, and how the outcome is read."""

    name: ClassVar[str]  # set by the decorator `runner`
    # The stack, where the name does not tell it: shown beside the name (`label`).
    stack: ClassVar[str] = ""
    multipath: ClassVar[bool]  # needs two client addresses or more, and uses them at once
    any_mode: ClassVar[bool] = False  # one path or several: `multipath` does not matter
    # Its programs are the user's own. No flow can be beside them, as their ports are not known.
    # Nor is it known how its server ends when asked to, or what its programs leave on the hosts.
    foreign: ClassVar[bool] = False
    socket_table: ClassVar[Literal["tcp", "udp"]]  # where the server's socket is listed
    congestion_controls: ClassVar[tuple[str, ...]]  # that the transport's tools have
    workloads: ClassVar[tuple[str, ...]] = ("download",)  # that it carries, by their kinds
    carries_ends: ClassVar[bool] = (
        False  # and any workload that gives its ends (`Workload.make_client`)
    )
    options_type: ClassVar[type[Options]] = Options
    # `compare` runs it unless told otherwise.
    compared: ClassVar[bool] = True
    takes_duration: ClassVar[bool] = False  # the client can stop after a download's `duration_s`
    marks_key_frames: ClassVar[bool] = False  # it can give them a connection with a code point
    has_server: ClassVar[bool] = True  # False: the server's kernel answers
    # In mode `sc` it uses the client's address of every leg, and not of one.
    every_leg: ClassVar[bool] = False
    tools: ClassVar[tuple[Tool, ...]] = ()  # the programs that it runs
    packages: ClassVar[tuple[str, ...]] = ()  # Python distributions whose versions matter
    set_up: ClassVar[bool] = False  # the project's own set-up gets all that it needs
    builds: ClassVar[Mapping[str, Builder]] = {}  # what `minitopo-dc build NAME` makes for it
    essential: ClassVar[bool] = False  # no comparison makes sense without it
    # It tells what each of its paths carried, in `details["paths"]` (`PathReport`).
    checks_paths: ClassVar[bool] = False
    # It opens, abandons and changes paths as `Transfer.paths` says.
    takes_paths: ClassVar[bool] = False
    # Its client tries one leg after the other, or opens other paths later: fields of `paths`.
    start_fields: ClassVar[tuple[str, ...]] = ()
    # With mode: atsss it has a proxy on the UPF on the real clock, too (`proxy_command`).
    has_real_proxy: ClassVar[bool] = False
    # The most legs on which it has paths; None: all.
    path_limit: ClassVar[int | None] = None
    # Its paths are those of the client's host: with a schedule it must be alone in a run.
    paths_of_host: ClassVar[bool] = False
    # Transfers at once must all have the same client addresses.
    one_client_address: ClassVar[bool] = False
    # How the server is asked to end; None: it ends by itself after one connection.
    stop_signal: ClassVar[signal.Signals | None] = signal.SIGTERM
    # Exit codes of a server that did nothing wrong. SIGTERM ends a program without a handler.
    server_exit_codes: ClassVar[frozenset[int]] = frozenset({0, -signal.SIGTERM})

    @property
    def label(self) -> str:
        """Return the name as people are shown it, with the stack."""
        return f"{self.name} ({self.stack})" if self.stack else self.name

    @abstractmethod
    def obstacle(self) -> str | None:
        """Return what this machine lacks for the transport and how to get it, None if nothing."""

    def tool(self, name: str) -> str:
        """Return the path of one of its `tools`.

        Raises:
            TransferFailed: it is not here.
        """
        (tool,) = (tool for tool in self.tools if tool.name == name)
        found = tool.find()
        if found is None:
            raise TransferFailed(tool.not_found())
        return found

    @abstractmethod
    def server_command(self, transfer: Transfer) -> list[str]:
        """Return the server's command line, empty when this transfer needs none.

        It is asked for once, right before the start: a program's files may be written here.
        """

    @abstractmethod
    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the client's command line, asked for once like the server's."""

    def client_waits(self, transfer: Transfer) -> bool:
        """Return whether the client calls `start_signal.wait_for_start` before it connects.

        It is then started before time zero of the legs, so that its own start takes none of their
        time, and `Transfer.begin_ns` is not known to `client_command`.
        """
        return False

    def proxy_command(self, transfer: Transfer) -> list[str]:
        """Return the command of the proxy between client and server; it ends with its connection.

        It is asked for when the transfer has a `proxy_address`, once the server is ready.
        """
        raise NotImplementedError

    def paths_command(self, transfer: Transfer) -> list[str] | None:
        """Return the command of a program on the client's host that changes paths, or None.

        It is started behind the client and ended (SIGTERM) at the client's end.
        """
        return None

    def client_exit_codes(self, transfer: Transfer) -> frozenset[int]:
        """Return the exit codes of a client that did what was asked for."""
        return frozenset({0})

    @abstractmethod
    def read(self, transfer: Transfer) -> Measurement:
        """Read the outcome from what server and client wrote, after both have ended.

        Raises:
            TransferFailed: not every byte arrived, or not over the transport asked for.
        """

    def virtual(self) -> VirtualTransport | None:
        """Return its endpoints without input or output, for the virtual clock, None without any."""
        return None

    def guest(self) -> GuestTransport | None:
        """Return its endpoints in a guest kernel, for the virtual clock, None without any."""
        return None

    @property
    def has_virtual(self) -> bool:
        """Return whether it can be asked for on the virtual clock."""
        return self.virtual() is not None or self.guest() is not None

    def virtual_obstacle(self, congestion_control: str, workload: Workload) -> str | None:
        """Return why it cannot run here on the virtual clock, None when it can."""
        return self.run_obstacle(congestion_control)

    def options_obstacle(self, options: Mapping[str, Any], *, virtual: bool) -> str | None:
        """Return why one of its options cannot be had here, on this clock."""
        return None

    def proxy_obstacle(
        self, workload: Workload, options: Mapping[str, Any], ip_version: int
    ) -> str | None:
        """Return what its connection to a proxy on the UPF cannot be or carry, and what can."""
        return None

    def workload_obstacle(self, workload: Workload) -> str | None:
        """Return why it does not carry a workload and what is allowed, None when it does."""
        if not self.carries(type(workload)):
            allowed = ", ".join(
                kind for kind in workload_names() if self.carries(get_workload(kind))
            )
            return (
                f"transport {self.name} does not carry workload {workload.kind}; allowed: {allowed}"
            )
        if isinstance(workload, Download) and workload.duration_s and not self.takes_duration:
            able = ", ".join(other.name for other in all_runners() if other.takes_duration)
            return (
                f"duration_s: the client of transport {self.name} stops at the download's end "
                f"only; allowed: {able}"
            )
        return None

    def carries(self, workload: type[Workload]) -> bool:
        """Return whether it carries a kind of workload."""
        if self.carries_ends and workload.has_ends():
            return True
        return not set(workload.kinds()).isdisjoint(self.workloads)

    def modes(self) -> tuple[str, ...]:
        """Return the modes of a flow in which it can be used."""
        one_path = ("sc",) if self.every_leg else ("sc", "dc", "dc-duplicate", "atsss")
        if self.any_mode:
            return (*one_path, "multipath")
        return ("multipath",) if self.multipath else one_path

    def program_obstacle(self, workload: Workload) -> str | None:
        """Return what this machine lacks for a workload, beside `obstacle`; None if nothing."""
        return None

    def server_may_end(self, exit_code: int) -> bool:
        """Return whether a server may end with this exit code before its client."""
        return self.stop_signal is None and exit_code in self.server_exit_codes

    def run_obstacle(self, congestion_control: str) -> str | None:
        """Return why it cannot run here with a congestion control, None if it can."""
        return self.control_obstacle(congestion_control) or self.obstacle()

    def control_obstacle(self, congestion_control: str) -> str | None:
        """Return why it has no such congestion control on any machine, None when it has."""
        if congestion_control not in self.congestion_controls:
            choice = " or ".join(self.congestion_controls)
            return f"runner {self.name} has no {congestion_control} (choose {choice})"
        return None

    def check_options(self, options: Mapping[str, Any], ip_version: int) -> None:
        """Check options of this runner, for transfers over IP version 4 or 6.

        Raises:
            SettingsError: an option is unknown or wrong, with what is allowed.
        """
        self.options_type.check(options, f"runner {self.name}")

    def files(self, transfer: Transfer) -> AbstractContextManager[None]:
        """Make the files of one transfer; large ones are removed at the end, whatever happens."""
        return nullcontext()

    def hosts(self, transfer: Transfer, server: Host, client: Host) -> AbstractContextManager[None]:
        """Set up hosts for one transfer, and undo that at the end, whatever happens.

        Of several transfers at once by this runner between the same addresses, it is entered for
        the first one only, and undone when all have ended.

        Raises:
            TransferFailed: on entering, when a host cannot be set up.
        """
        return nullcontext()

    def is_ready(self, transfer: Transfer, pid: int) -> bool:
        """Return whether the server, started as process `pid`, takes connections."""
        return is_bound(pid, self.socket_table, transfer.server_address, transfer.port)


AnyRunner = TypeVar("AnyRunner", bound=type[Runner])
STACKS = (
    "tcp.runner",
    "aioquic.runner",
    "ngtcp2",
    "mptcp.runner",
    "sans_io.runner",
    "icmp",
    "command.runner",
)
"""Modules of the stacks that come with this package, which register their transports."""
_RUNNERS: Registry[type[Runner]] = Registry(
    "runner",
    "minitopo_dc.runners",
    tuple(f"minitopo_dc.runners.{stack}" for stack in STACKS),
    attribute="name",
)


def runner(name: str) -> Callable[[AnyRunner], AnyRunner]:
    """Return a class decorator that registers a runner, also one of a user's.

    Raises:
        ValueError: there is another runner of this name.
        TypeError: its options are no `Options`.
    """

    def register(kind: AnyRunner) -> AnyRunner:
        if not issubclass(kind.options_type, Options):
            raise TypeError(
                f"runner {name}: options_type: allowed: subclasses of {Options.__name__}"
            )
        return _RUNNERS.adding(name)(kind)

    return register


runner_names = _RUNNERS.names
"""Return the names of all runners: the built-in ones, then a user's as registered."""


def all_runners() -> list[Runner]:
    """Return one runner of each kind."""
    return [get_runner(name) for name in runner_names()]


def get_runner(name: str) -> Runner:
    """Return a runner by its name.

    Raises:
        UnknownNameError: there is none of this name.
    """
    return _RUNNERS.get(name)()


def read_report(report: dict[str, Any], workload: Workload) -> Measurement:
    """Return the measurement in the report of a workload's client.

    Raises:
        TransferFailed: the connection failed, or something else arrived than what was sent.
    """
    if report["error"] is not None:
        raise TransferFailed(f"client: {report['error']}")
    return workload.measured(report)


def accepted(workload: Workload, measured: Measurement) -> Measurement:
    """Return what was measured, with the workload's own numbers about it.

    Raises:
        TransferFailed: it is not what was asked for.
    """
    reason = workload.failure(measured)
    if reason is not None:
        raise TransferFailed(reason)
    return replace(measured, details={**measured.details, **workload.details(measured)})
