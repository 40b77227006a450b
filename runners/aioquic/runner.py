"""HTTP/3 on aioquic: this project's own server and client, with their options and settings.

Some options are of aioquic's congestion control, loss detection, acknowledgements and pacing. The
presets `v43` and `bquic` are from "QUIC in wireless mesh networks": gQUIC v43 as section 2.2
describes it, and the authors' changes to it (section 6.1).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import model_validator

from minitopo_dc.fields.ranges import AckDelay, PacingGain, Packets, RoundTrips, RttIncrease
from minitopo_dc.runners.addresses import SERVER_NAME
from minitopo_dc.runners.base import Options, Transfer, runner
from minitopo_dc.runners.quic import QuicOptions, datagram_frame, qlog_directory, server_options
from minitopo_dc.runners.sans_io.runner import Role, StackRunner
from minitopo_dc.workloads import Measurement

if TYPE_CHECKING:  # who only asks which runners there are need not wait for aioquic
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.logger import QuicLogger

    from minitopo_dc.quic.connection import Connection
    from minitopo_dc.runners.sans_io.ends import ClientSession, ServerSession

Off = Literal["off"]
Preset = Literal["modern", "v43", "bquic"]
DECIMATION_OPTIONS = ("ack_decimation_after", "ack_decimation_rtt_share")


class Tuning(Options):
    """Options of aioquic's behaviour; None leaves one as the installed aioquic has it."""

    slow_start_exit: RttIncrease | Off | None = None
    """Slow start also ends when the least round-trip time of a round is above the connection's
    least one by more than this share of it; off: only at a loss."""
    loss_time_threshold: RoundTrips | None = None
    """A packet is lost so many round-trip times after it was sent, when a later one has been
    acknowledged (RFC 9002, section 6.1.2)."""
    packet_threshold: Packets | Off | None = None
    """Or when one sent so many packets later has been (section 6.1.1)."""
    ack_every: Packets | None = None
    """An acknowledgement follows so many packets at once; also one that is out of order (RFC 9000,
    section 13.2.1)."""
    ack_delay_ms: AckDelay | None = None
    """Else it waits so long at most."""
    ack_decimation: Packets | Off | None = None
    """Takes the place of `ack_every` from packet number `ack_decimation_after` on."""
    ack_decimation_after: Packets | None = None
    ack_decimation_rtt_share: RttIncrease | None = None
    """And it then waits for this share of the least round-trip time at most."""
    pacing_slow_start: PacingGain | None = None
    """Windows sent in a smoothed round-trip time, in slow start."""
    pacing_avoidance: PacingGain | None = None
    """The same after it."""


MODERN = Tuning()
V43 = Tuning(
    # Section 2.2 also says "a factor of 1.25"; section 5.2 computes with 1/8 ("40 ms tolerates 5").
    slow_start_exit=1 / 8,
    loss_time_threshold=1 + 1 / 8,
    packet_threshold="off",  # losses are told by time there
    ack_every=2,
    ack_delay_ms=25,
    ack_decimation="off",
    pacing_slow_start=2,
    pacing_avoidance=1.25,
)
BQUIC = V43.model_copy(
    update={
        # "Increased", says section 6.1, without a value: ours, four times v43's.
        "slow_start_exit": 1 / 2,
        "loss_time_threshold": 1 + 1 / 2,
        "ack_decimation": 10,
        "ack_decimation_after": 100,
        "ack_decimation_rtt_share": 1 / 4,
    }
)
PRESETS: dict[Preset, Tuning] = {"modern": MODERN, "v43": V43, "bquic": BQUIC}


class AioquicOptions(QuicOptions, Tuning):
    """Options of `quic`: those of every QUIC, a preset, and what differs from it."""

    preset: Preset = "modern"

    @property
    def tuning(self) -> Tuning:
        """Return the preset's tuning with the given options in its place."""
        given = self.model_dump(include=set(Tuning.model_fields), exclude_none=True)
        return PRESETS[self.preset].model_copy(update=given)

    @model_validator(mode="after")
    def _check_dependencies(self) -> Self:
        for name in DECIMATION_OPTIONS:
            if getattr(self, name) is not None and self.tuning.ack_decimation in (None, "off"):
                raise ValueError(f"{name} needs ack_decimation: 1 or more")
        return self


HTTP3 = "h3"
"""The application protocol of HTTP/3 (RFC 9114, section 3.1)."""
BARE_STREAMS = "minitopo-call"
"""Of a workload that has no requests."""


def configuration(
    transfer: Transfer, options: AioquicOptions, role: Role, log: QuicLogger | None
) -> QuicConfiguration:
    """Return aioquic's configuration of an end."""
    from aioquic.quic.configuration import QuicConfiguration  # noqa: PLC0415 (its weight)

    is_client, workload = role == "client", transfer.workload
    own = options if is_client else server_options(options, workload)
    made = QuicConfiguration(
        is_client=is_client,
        alpn_protocols=[BARE_STREAMS if workload.bare_streams else HTTP3],
        max_datagram_frame_size=datagram_frame(workload) or None,
        congestion_control_algorithm=transfer.congestion_control,
        max_datagram_size=own.max_datagram_bytes,
        max_data=own.max_data,
        max_stream_data=own.max_stream_data,
        server_name=SERVER_NAME if is_client else None,
        quic_logger=log,
    )
    if is_client:
        made.load_verify_locations(str(transfer.certificate))
    else:
        made.load_cert_chain(transfer.certificate, transfer.key)
    return made


@runner("quic")
class QuicRunner(StackRunner):
    """QUIC on one path, with aioquic's NewReno or CUBIC."""

    stack: ClassVar[str] = "aioquic"
    marks_key_frames: ClassVar[bool] = False
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno", "cubic")
    packages: ClassVar[tuple[str, ...]] = ("aioquic",)
    options_type: ClassVar[type[QuicOptions]] = AioquicOptions
    compared: ClassVar[bool] = False  # it has no multipath to be compared with
    set_up: ClassVar[bool] = True
    essential: ClassVar[bool] = True

    def obstacle(self) -> str | None:
        """Return how to get aioquic, on which both sides run, None if it is here."""
        if importlib.util.find_spec("aioquic") is None:
            return "aioquic is not installed (pip install aioquic)"
        return None

    def sessions(self) -> tuple[type[ClientSession], type[ServerSession]]:
        """Return the ends over HTTP/3."""
        from minitopo_dc.runners.aioquic.http3 import AioquicClient, AioquicServer  # noqa: PLC0415 (aioquic)

        return AioquicClient, AioquicServer

    def connection(self, transfer: Transfer, role: Role, clock: Callable[[], int]) -> Connection:
        """Return the connection of an end, which has sent nothing yet; the clock is in ns."""
        from minitopo_dc.runners.aioquic.connection import AioquicConnection, ConnectionLog  # noqa: PLC0415 (aioquic)

        options = AioquicOptions.check(transfer.options, f"runner {self.name}")
        directory = qlog_directory(transfer, options, role)
        log = None if directory is None else ConnectionLog(directory, clock)
        return AioquicConnection(configuration(transfer, options, role, log), options.tuning, log)

    def code_point(self, transfer: Transfer) -> int:  # noqa: ARG002
        """Return 0, as aioquic has no ECN."""
        return 0

    def seed(self, value: int) -> None:
        """Do nothing: aioquic draws identifiers and keys, on which no time depends."""

    def check_negotiated(self, server: Mapping[str, Any], control: str, *, multipath: bool) -> None:
        """Do nothing: nothing is negotiated."""

    def read(self, transfer: Transfer) -> Measurement:
        """Return the client's report, after a check of what arrived."""
        return self.client_report(transfer)
