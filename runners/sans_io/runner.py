"""QUIC and MP-QUIC of stacks without input or output, in programs of this project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from minitopo_dc.fields import PathPlan
from minitopo_dc.quic.connection import Connection
from minitopo_dc.quic.noq import NOQ
from minitopo_dc.quic.picoquic import PICOQUIC
from minitopo_dc.quic.scheduler import known_scheduler
from minitopo_dc.quic.stack import (
    IDLE_TIMEOUT_S,
    MAX_PATHS,
    SCHEDULERS,
    Configuration,
    DemotedPaths,
    Experiment,
    Stack,
)
from minitopo_dc.runners.addresses import SERVER_NAME
from minitopo_dc.runners.base import Transfer, TransferFailed, VirtualTransport, read_report, runner
from minitopo_dc.runners.processes.process import last_json
from minitopo_dc.runners.quic import (
    MAX_PAYLOAD,
    MIN_PAYLOAD,
    DatagramRunner,
    QuicOptions,
    datagram_frame,
    qlog_directory,
)
from minitopo_dc.runners.sans_io.ends import ClientSession, ServerSession
from minitopo_dc.runners.sans_io.virtual import make_pair
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Measurement, Realtime, Workload
from minitopo_dc.workloads.path_reports import PATHS, PathSample

Role = Literal["client", "server"]
ALPN = "hq-interop"
"""The name that interoperability tests of QUIC use for HTTP/0.9."""
ALIASES = {"reno": "newreno"}
"""Of congestion controls: what other transports call it."""


def names_of_controls(stack: Stack) -> tuple[str, ...]:
    """Return all names of a stack's congestion controls."""
    known = stack.congestion_controls
    return (*(alias for alias, name in ALIASES.items() if name in known), *known)


def _known_control(name: str) -> str:
    known = names_of_controls(PICOQUIC)  # no other stack has a tunnel
    if name not in known:
        raise ValueError(f"{name!r}; allowed: {', '.join(known)}")
    return name


class EcnOptions(QuicOptions):
    """Options of one path: those of QUIC, and ECN."""

    # Datagrams with the code point of the congestion control: ECT(1) of `prague` and `c4`, else
    # ECT(0) (RFC 3168, RFC 9331). Off: as the comparisons and studies were made.
    ecn: bool = False
    # One property of CUBIC's connections that is another one, to find out why two stacks differ:
    # with picoquic no-hystart, no-pacing and frequent-acks, with noq hystart and no-pacing.
    experiment: Experiment | None = None


class PathOptions(EcnOptions):
    """Also what concerns several paths."""

    demoted_paths: DemotedPaths = "as-now"
    # The default is what MP-QUIC's comparisons and studies were made with.
    scheduler: Annotated[str, AfterValidator(known_scheduler)] = "picoquic"
    # Of `weighted`, packets of a round by leg, none: 1; the most: a window of 100 packets.
    weights: tuple[Annotated[int, Field(ge=1, le=100)], ...] = Field(
        (), max_length=MAX_PATHS, strict=False
    )

    # Of each path of ATSSS's tunnel; none: the scenario's, as of the inner connection. RFC 9298,
    # section 6: a tunnel has one beside the inner one's. TS 23.501 does not say which.
    tunnel_congestion_control: Annotated[str, AfterValidator(_known_control)] | None = None
    # UDP payloads that wait at either end of that tunnel while its windows are closed, before more
    # are dropped: as many full ones as Linux's default receive buffer holds (`ReceiveBuffer`).
    tunnel_queue: int = Field(92, ge=1, le=100_000)
    # How long a payload waits there for those before it (datagram mode 1 of TS 23.501, clause
    # 5.32.6.2.2), which is more than two accesses differ by. 0: payloads have no number (mode 2).
    tunnel_reordering_ms: float = Field(100.0, ge=0, le=10_000, allow_inf_nan=False)

    @model_validator(mode="after")
    def _weights_are_used(self) -> Self:
        if self.weights and self.scheduler != "weighted":
            raise ValueError(f"weights: scheduler {self.scheduler} has none; allowed: weighted")
        return self


def congestion_control(name: str) -> str:
    """Return a stack's own name of a congestion control."""
    return ALIASES.get(name, name)


def idle_timeout_s(workload: Workload) -> float:
    """Return after which silence (s) a connection ends.

    One of two may have nothing to carry during a whole call.
    """
    has_keys = isinstance(workload, Realtime) and workload.key_frame_dscp is not None
    return IDLE_TIMEOUT_S + ((workload.lasts_s or 0) if has_keys else 0)


class StackRunner(DatagramRunner):
    """QUIC on one path, with one stack on both sides; a subclass has its name and its `library`."""

    server_program: ClassVar[str] = "minitopo_dc.runners.sans_io.endpoint"
    client_program: ClassVar[str] = server_program
    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"
    carries_ends: ClassVar[bool] = True
    takes_duration: ClassVar[bool] = True
    library: ClassVar[Stack]  # gives a subclass its `stack` and `congestion_controls`
    options_type: ClassVar[type[QuicOptions]] = EcnOptions
    multipath: ClassVar[bool] = False
    marks_key_frames: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        """Take the name and the congestion controls of a subclass' `library`."""
        if "library" in vars(cls):
            cls.stack = cls.library.name
            cls.congestion_controls = names_of_controls(cls.library)

    def client_waits(self, transfer: Transfer) -> bool:  # noqa: ARG002
        """Return True, as the client is a Python program of this project."""
        return True

    def server_command(self, transfer: Transfer) -> list[str]:
        """Return the command of the server's program."""
        return transfer.command(self.server_program, "server", "server", self.name)

    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the command of the client's program."""
        return transfer.command(self.client_program, "client", "client", self.name)

    def obstacle(self) -> str | None:
        """Return what this machine lacks of the stack, None if nothing."""
        return self.library.obstacle()

    def virtual(self) -> VirtualTransport | None:
        """Return both ends for the virtual clock, as the stack takes time as an argument."""
        return partial(make_pair, self)

    def sessions(self) -> tuple[type[ClientSession], type[ServerSession]]:
        """Return what the programs of both ends do on their connections."""
        return ClientSession, ServerSession

    def configuration(self, transfer: Transfer, role: Role) -> Configuration:
        """Return the configuration of one end."""
        options, is_client = self.path_options(transfer), role == "client"
        return Configuration(
            stack=self.library,
            is_client=is_client,
            certificate=transfer.certificate,
            key=None if is_client else transfer.key,
            alpn=ALPN,
            server_name=SERVER_NAME,
            congestion_control=congestion_control(transfer.congestion_control),
            # A schedule may use few of many addresses.
            max_paths=min(len(self.addresses(transfer)), MAX_PATHS),
            max_data=options.max_data,
            max_stream_data=options.max_stream_data,
            datagram_bytes=options.max_datagram_bytes,
            demoted_paths=options.demoted_paths,
            scheduler=options.scheduler,
            weights=options.weights,
            qlog=qlog_directory(transfer, options, role),
            experiment=options.experiment,
            datagram_frame=datagram_frame(transfer.workload) if is_client else 0,
            takes_turns=transfer.workload.takes_turns,
            idle_timeout_s=idle_timeout_s(transfer.workload),
        )

    def connection(self, transfer: Transfer, role: Role, clock: Callable[[], int]) -> Connection:
        """Return the connection of an end, which has sent nothing yet; the clock is in ns."""
        return Connection(self.configuration(transfer, role), clock())

    def code_point(self, transfer: Transfer) -> int:
        """Return the ECN code point of an end's datagrams; 0 without the option."""
        if not self.path_options(transfer).ecn:
            return 0
        return self.library.ecn_of(congestion_control(transfer.congestion_control))

    def seed(self, value: int) -> None:
        """Draw the stack's random numbers in this process from a seed from now on."""
        self.library.seed(value)

    def client_report(self, transfer: Transfer) -> Measurement:
        """Return the client's report, after a check of what arrived."""
        return read_report(last_json(transfer.client_output, "client"), transfer.workload)

    def read(self, transfer: Transfer) -> Measurement:
        """Return the client's report, whose bytes are checked, and the server's facts.

        With them is each of several paths, whose times count from time zero of the legs.
        """
        measured = self.client_report(transfer)
        server = last_json(transfer.server_output, "server")
        paths, samples = server.pop(PATHS), server.pop("path_samples")
        several = self.multipath and len(self.addresses(transfer)) > 1
        self.check_negotiated(server, transfer.congestion_control, multipath=several)
        measured = replace(measured, details={**measured.details, **server})
        if not self.multipath:
            return measured
        begin_s = (transfer.begin_ns or 0) / NS_PER_S
        paths = [_counted_from(begin_s, path, "opened_s", "closed_s") for path in paths]
        return replace(
            measured,
            details={**measured.details, PATHS: paths},
            path_samples=[PathSample(**_counted_from(begin_s, it, "time_s")) for it in samples],
        )

    def check_negotiated(self, server: Mapping[str, Any], control: str, *, multipath: bool) -> None:
        """Check that a connection had what was asked for.

        Args:
            server: what `ServerSession.describe` said of the server's end.
            control: the congestion control asked for.
            multipath: whether paths were.

        Raises:
            TransferFailed: it had something else.
        """
        if server.get("quic_version") is None:
            raise TransferFailed("the server saw no connection")
        used = server["congestion_control"]
        if used != congestion_control(control):
            raise TransferFailed(f"the connection used congestion control {used}, not {control}")
        if server["multipath"] != multipath:
            raise TransferFailed("multipath was not negotiated")

    def path_options(self, transfer: Transfer) -> PathOptions:
        """Return a transfer's options, those of paths with their defaults."""
        return PathOptions.check(transfer.options, f"runner {self.name}")

    def plan(self, transfer: Transfer) -> PathPlan:
        """Return the client's plan of paths."""
        return transfer.path_plan if self.multipath else PathPlan.whole(1)

    def addresses(self, transfer: Transfer) -> tuple[str, ...]:
        """Return the client's address of each leg that is used, in order."""
        return transfer.client_addresses if self.multipath else transfer.client_addresses[:1]


class MultipathStackRunner(StackRunner):
    """MP-QUIC (draft-ietf-quic-multipath) on one path per client address."""

    multipath: ClassVar[bool] = True
    marks_key_frames: ClassVar[bool] = False  # Dual Connectivity alone looks at code points
    checks_paths: ClassVar[bool] = True
    takes_paths: ClassVar[bool] = True
    start_fields: ClassVar[tuple[str, ...]] = ("attempt_delay_ms", "others_after_kb")
    path_limit: ClassVar[int | None] = MAX_PATHS


def _counted_from(begin_s: float, values: dict[str, Any], *times: str) -> dict[str, Any]:
    """Return the same values with times that count from a moment of the monotonic clock (s)."""
    moved = {name: values[name] - begin_s for name in times if values[name] is not None}
    return values | moved


NUMBER_BYTES = 4
"""Of a payload's number in ATSSS's tunnel."""
TUNNEL_BYTES = 43 + NUMBER_BYTES
"""By which a datagram of ATSSS's tunnel may be larger than the inner one: the number, 2 of HTTP
(Quarter Stream ID and Context ID), and the most that `mdc_send_datagram` leaves for QUIC's headers
and tag."""
OF_STREAMS = ("blest", "redundant")
"""Schedulers that DATAGRAM frames cannot have: they have no flow control (RFC 9221, section 5.3),
and no copies are made of them."""


@runner("quic-picoquic")
class PicoquicRunner(StackRunner):
    """QUIC on one path, with picoquic on both sides."""

    library: ClassVar[Stack] = PICOQUIC


@runner("mpquic-picoquic")
class MultipathPicoquicRunner(MultipathStackRunner):
    """MP-QUIC (draft-ietf-quic-multipath) on one path per client address."""

    options_type: ClassVar[type[QuicOptions]] = PathOptions
    library: ClassVar[Stack] = PICOQUIC

    def modes(self) -> tuple[str, ...]:
        """Return that it is multipath to the server, or with ATSSS a tunnel to the UPF."""
        return ("multipath", "atsss")

    def proxy_obstacle(
        self,
        workload: Workload,  # noqa: ARG002
        options: Mapping[str, Any],
        ip_version: int,
    ) -> str | None:
        """Return that a tunnel cannot have a scheduler, or datagrams of the inner connection."""
        given = PathOptions.check(options, f"runner {self.name}")
        if given.scheduler in OF_STREAMS:
            allowed = ", ".join(name for name in SCHEDULERS if name not in OF_STREAMS)
            return (
                f"whose tunnel has DATAGRAM frames: options.scheduler {given.scheduler} is for "
                f"streams; allowed: {allowed}, or a plugin's"
            )
        most = MAX_PAYLOAD[ip_version] - TUNNEL_BYTES
        if given.max_datagram_bytes > most:
            return (
                f"whose tunnel adds up to {TUNNEL_BYTES} bytes: options.max_datagram_bytes is "
                f"{given.max_datagram_bytes}; allowed: {MIN_PAYLOAD} to {most}"
            )
        return None


class NoqOptions(EcnOptions):
    """Options of both transports; noq is built without its log."""

    qlog: Literal[False] = False
    experiment: Literal["hystart", "no-pacing"] | None = None


@runner("quic-noq")
class NoqRunner(StackRunner):
    """QUIC on one path, with noq on both sides."""

    library: ClassVar[Stack] = NOQ
    options_type: ClassVar[type[QuicOptions]] = NoqOptions


@runner("mpquic-noq")
class MultipathNoqRunner(MultipathStackRunner):
    """MP-QUIC (draft-ietf-quic-multipath) on one path per client address, with noq."""

    library: ClassVar[Stack] = NOQ
    options_type: ClassVar[type[QuicOptions]] = NoqOptions
