"""The contract between a transport and whoever runs it, and the registry of transports."""

from __future__ import annotations

import importlib
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, ClassVar, Literal, Protocol, TypeVar, get_args

from runners.addresses import ip_version
from runners.options import NoOptions, parse_options
from runners.ports import is_bound

CongestionControl = Literal["reno", "cubic", "bbr"]
CONGESTION_CONTROLS: tuple[str, ...] = get_args(CongestionControl)


class TransferFailed(Exception):  # noqa: N818 (it is an outcome, the status `failed`)
    """A transfer did not deliver every byte as it was asked to; the text says why."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """One download: what is transferred, between which addresses, where its files go.

    Raises:
        ValueError: a field has a value that cannot be.
    """

    size_bytes: int
    congestion_control: CongestionControl
    server_address: str
    port: int
    client_addresses: tuple[str, ...]  # one a leg; the first is the primary
    directory: Path  # of this run: outputs and logs stay, large files are removed
    certificate: Path
    key: Path
    timeout_s: float  # from the client's start
    options: Mapping[str, Any] = field(default_factory=dict)  # the runner's own
    # The client stops so long after it began to connect, with what has arrived by then; None: it
    # stops when it has everything.
    duration_s: float | None = None

    def __post_init__(self) -> None:
        if self.size_bytes <= 0:
            raise ValueError(f"size_bytes must be positive, not {self.size_bytes}")
        if self.timeout_s <= 0:
            raise ValueError(f"timeout_s must be positive, not {self.timeout_s}")
        if self.duration_s is not None and self.duration_s <= 0:
            raise ValueError(f"duration_s must be positive, not {self.duration_s}")
        if self.congestion_control not in CONGESTION_CONTROLS:
            known = ", ".join(CONGESTION_CONTROLS)
            raise ValueError(f"congestion_control must be one of {known}")
        if not 0 < self.port < 65536:
            raise ValueError(f"port must be 1 to 65535, not {self.port}")
        if not self.client_addresses:
            raise ValueError("client_addresses must hold at least one address")
        ip_version((self.server_address, *self.client_addresses))

    @property
    def ip_version(self) -> int:
        """Of all its addresses: 4 or 6."""
        return ip_version((self.server_address,))

    @property
    def server_output(self) -> Path:
        """What the server writes to its standard output."""
        return self.directory / "server.out"

    @property
    def server_log(self) -> Path:
        """What the server writes to its standard error."""
        return self.directory / "server.log"

    @property
    def client_output(self) -> Path:
        """What the client writes to its standard output."""
        return self.directory / "client.out"

    @property
    def client_log(self) -> Path:
        """What the client writes to its standard error."""
        return self.directory / "client.log"


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of a transfer; goodput is for the caller to compute."""

    bytes_received: int
    # From the client's start of connecting to the last byte, or to where a duration stopped it.
    completion_s: float
    details: Mapping[str, Any] = field(default_factory=dict)
    # The client's start of connecting, on the machine's monotonic clock; None: as good as the start
    # of its process.
    started_ns: int | None = None


class Host(Protocol):
    """A place where processes run: a network namespace, a Mininet node."""

    @property
    def name(self) -> str:
        """The host's name, for messages."""

    def popen(
        self, arguments: Sequence[str], *, stdout: int | IO[bytes], stderr: int | IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a process in this host; its pid is that of the command, not of a wrapper."""


class Runner(ABC):
    """One transport: commands, set-up of hosts, and how the outcome is read."""

    name: ClassVar[str]  # set by the decorator `runner`
    multipath: ClassVar[bool]  # needs two client addresses or more, and uses them at once
    socket_table: ClassVar[Literal["tcp", "udp"]]  # where the server's socket is listed
    congestion_controls: ClassVar[tuple[str, ...]]  # that the transport's tools have
    options_type: ClassVar[type] = NoOptions
    takes_duration: ClassVar[bool] = False  # the client can stop after a transfer's `duration_s`
    # `read` fails when a client address of a multipath transport carried no data.
    checks_paths: ClassVar[bool] = False
    # Transfers at once must all have the same client addresses.
    one_client_address: ClassVar[bool] = False
    # How the server is asked to end; None: it ends by itself after one connection.
    stop_signal: ClassVar[signal.Signals | None] = signal.SIGTERM
    # How a server ends that did nothing wrong.
    server_exit_codes: ClassVar[frozenset[int]] = frozenset({0})

    @abstractmethod
    def missing(self) -> str | None:
        """What this machine lacks for the transport, and how to get it; None if nothing."""

    @abstractmethod
    def server_command(self, transfer: Transfer) -> list[str]:
        """The server's command line."""

    @abstractmethod
    def client_command(self, transfer: Transfer) -> list[str]:
        """The client's command line."""

    def client_exit_codes(self, transfer: Transfer) -> frozenset[int]:  # noqa: ARG002 (a hook)
        """How a client ends that did what was asked for."""
        return frozenset({0})

    @abstractmethod
    def read(self, transfer: Transfer) -> Measurement:
        """Read the outcome from what server and client wrote, after both have ended.

        Raises:
            TransferFailed: not every byte arrived, or not over the transport asked for.
        """

    def unsupported(self, congestion_control: CongestionControl) -> str | None:
        """Why the transport cannot run here with a congestion control; None if it can."""
        if congestion_control not in self.congestion_controls:
            choice = " or ".join(self.congestion_controls)
            return f"runner {self.name} has no {congestion_control} (choose {choice})"
        return self.missing()

    def check_options(self, options: Mapping[str, Any], ip_version: int) -> None:  # noqa: ARG002
        """Check options of this runner, for transfers over IP version 4 or 6.

        Raises:
            OptionError: an option is unknown or wrong, with what is allowed.
        """
        parse_options(self.options_type, options, self.name)

    def validate(self, transfer: Transfer) -> None:
        """Check what only this runner knows of a transfer.

        Raises:
            ValueError: an option is unknown or wrong, an address is missing, or the client cannot
                stop after a duration.
        """
        self.check_options(transfer.options, transfer.ip_version)
        if transfer.duration_s is not None and not self.takes_duration:
            raise ValueError(f"runner {self.name}: duration_s: its client has no such option")
        if self.multipath and len(transfer.client_addresses) < 2:
            raise ValueError(f"runner {self.name}: client_addresses must hold two or more")

    def files(self, transfer: Transfer) -> AbstractContextManager[None]:  # noqa: ARG002 (a hook)
        """Make the files of one transfer; large ones are removed at the end, whatever happens."""
        return nullcontext()

    def hosts(
        self,
        transfer: Transfer,  # noqa: ARG002 (a hook: most transports need no set-up)
        server: Host,  # noqa: ARG002
        client: Host,  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        """Set up hosts for one transfer; undone at the end, whatever happens.

        Of several transfers at once by this runner between the same addresses, it is entered for
        the first one only, and undone when all have ended.

        Raises:
            TransferFailed: on entering, when a host cannot be set up.
        """
        return nullcontext()

    def is_ready(self, transfer: Transfer, pid: int) -> bool:
        """Whether the server, started as process `pid`, takes connections."""
        return is_bound(pid, self.socket_table, transfer.server_address, transfer.port)


AnyRunner = TypeVar("AnyRunner", bound=type[Runner])
_registry: dict[str, type[Runner]] = {}
# Importing these registers them, each under its own name with hyphens.
_BUILT_IN = ("tcp", "quic", "quic_ngtcp2", "mptcp", "mpquic", "mpquic_picoquic")


def runner(name: str) -> Callable[[AnyRunner], AnyRunner]:
    """Class decorator that registers a runner; a user's own is registered the same way."""

    def register(kind: AnyRunner) -> AnyRunner:
        if _registry.setdefault(name, kind).__qualname__ != kind.__qualname__:
            raise ValueError(f"there is a runner {name!r} already")
        kind.name = name
        return kind

    return register


def runner_names() -> tuple[str, ...]:
    """The names of all runners: the built-in ones, then a user's in the order of registration."""
    for module in _BUILT_IN:
        importlib.import_module(f"runners.{module}")
    built_in = [module.replace("_", "-") for module in _BUILT_IN]
    return (*built_in, *(name for name in _registry if name not in built_in))


def get_runner(name: str) -> Runner:
    """A runner by its name.

    Raises:
        ValueError: there is none of this name.
    """
    known = runner_names()
    if name not in known:
        raise ValueError(f"no runner {name!r} (known: {', '.join(known)})")
    return _registry[name]()
