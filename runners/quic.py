"""Common parts of the QUIC stacks: names, options, datagram sizes, programs, reports, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from minitopo_dc.fields import IpVersion, SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.fields.ranges import RECEIVE_BUFFER_BYTES
from minitopo_dc.runners.base import (
    ETHERNET_BYTES,
    Options,
    Runner,
    Size,
    SocketBuffer,
    Transfer,
    all_runners,
)
from minitopo_dc.workloads import Realtime, Workload

MEBIBYTE = 1024 * 1024


class QuicOptions(Options):
    """Options of `quic` and `quic-ngtcp2`: the same defaults, so that the two can be compared.

    The windows' default is never the limit: a leg pair of 100 Mbit/s that is blocked for
    t-Reordering's 200 ms on top of a round trip of 300 ms needs 6.25 MB (rate times delay). aioquic
    (its own default: 1 MiB) doubles a window each time half of it was used; ngtcp2 (15 MiB, and
    6 MiB per stream) would tune it too, which the runner turns off.
    """

    # As the kernel counts it; None: the kernel's own (net.core.rmem_default, 212,992 on Linux).
    receive_buffer_bytes: SocketBuffer | None = RECEIVE_BUFFER_BYTES
    max_data: Size = 16 * MEBIBYTE
    max_stream_data: Size = 16 * MEBIBYTE
    # Off: logging slows both ends down, and the papers measured without (thesis, section 4).
    # ngtcp2's client writes one in any run, as its times are read from it; off: it is removed.
    qlog: bool = False
    # UDP payload. Default: aioquic's own, the least that every path takes (RFC 9000, section 14);
    # the papers' aioquic of 2020 had 1,280 (thesis, section 4.1: "the size of the UDP frames").
    # ngtcp2's own way, path MTU discovery, would find 1,444 here and so have less overhead.
    max_datagram_bytes: Size = 1200

    def packet_bytes(self, ip_version: IpVersion) -> int:
        """Return the size in bytes of a full packet, with the headers of IP and UDP."""
        return self.max_datagram_bytes + ETHERNET_BYTES - MAX_PAYLOAD[ip_version]


AnyOptions = TypeVar("AnyOptions", bound=QuicOptions)


def server_options(options: AnyOptions, workload: Workload) -> AnyOptions:
    """Return the options of a server: a client's with uploads, else its windows are aioquic's own.

    Without uploads it gets little beside acknowledgements, and has the kernel's receive buffer.
    """
    if "uplink" in workload.loads:
        return options
    own = {"receive_buffer_bytes": None, "max_data": MEBIBYTE, "max_stream_data": MEBIBYTE}
    return options.model_copy(update=own)


MIN_PAYLOAD = 1200
"""Bytes that every path must take in a datagram of QUIC (RFC 9000, section 14)."""
MAX_PAYLOAD = {4: ETHERNET_BYTES - 28, 6: ETHERNET_BYTES - 48}
"""Bytes that the headers of IP (20, 40) and UDP (8) leave of them."""


ANY_DATAGRAM = 65_535
"""Bytes of a DATAGRAM frame, as RFC 9221, section 3, recommends."""


def datagram_frame(workload: Workload) -> int:
    """Return the bytes of a DATAGRAM frame that a workload's client takes, 0 for none."""
    needed = isinstance(workload, Realtime) and workload.delivery == "datagrams"
    return ANY_DATAGRAM if needed else 0


class DatagramRunner(Runner):
    """A transport whose options have `max_datagram_bytes`, the UDP payload of a full packet."""

    options_type: ClassVar[type[QuicOptions]] = QuicOptions
    server_exit_codes: ClassVar[frozenset[int]] = frozenset({0})

    def check_options(self, options: Mapping[str, Any], ip_version: int) -> None:
        """Check also that QUIC, and an Ethernet frame behind the IP headers, allow the size.

        Raises:
            SettingsError: an option is unknown or wrong, or `max_datagram_bytes` below 1,200 (RFC
                9000, section 14) or above `MAX_PAYLOAD`.
        """
        given = self.options_type.check(options, f"runner {self.name}")
        most = MAX_PAYLOAD[ip_version]
        if not MIN_PAYLOAD <= given.max_datagram_bytes <= most:
            raise SettingsError(
                f"runner {self.name}: option max_datagram_bytes is {given.max_datagram_bytes}, "
                f"must be {MIN_PAYLOAD} to {most} with IPv{ip_version}"
            )

    def options(self, transfer: Transfer) -> QuicOptions:
        """Return the options of a transfer, with their defaults."""
        return self.options_type.check(transfer.options, f"runner {self.name}")


def qlog_directory(transfer: Transfer, options: QuicOptions, role: str) -> Path | None:
    """Return the directory for the qlog file of an end, which is made; None without a log."""
    # Stacks name both ends' files by the connection: one directory would lose one.
    directory = transfer.directory / "qlog" / role
    if not options.qlog:
        return None
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def mpquic_stacks() -> dict[str, Runner]:
    """Return the runner over several paths of each stack of MP-QUIC, by the name of the stack."""
    return {runner.stack: runner for runner in all_runners() if is_mpquic(runner.name)}


def stacks_of(
    given: Sequence[str] | None = None, *, where: str = "stacks", control: str | None = None
) -> list[str]:
    """Return stacks of MP-QUIC; without any those that are built, or the first that could be.

    Args:
        given: by their names, each once.
        where: they are, for the message of an error.
        control: a congestion control, which those that are not named have to have.

    Raises:
        SettingsError: one is unknown, or there are none.
    """
    known = mpquic_stacks()
    if given is None:
        built = [name for name, runner in known.items() if not runner.obstacle()]
        able = [name for name in built if control in (None, *known[name].congestion_controls)]
        return able or built[:1] or [*known][:1]
    if not given or len(set(given)) < len(given) or set(given) - known.keys():
        raise SettingsError(f"{where}: {quoted(' '.join(given))}; allowed: {', '.join(known)}")
    return [*given]


def transports_of(stack: str) -> tuple[str, str]:
    """Return the transports of a stack of MP-QUIC: over one path, and over several."""
    several = mpquic_stacks()[stack].name
    return several.removeprefix("mp"), several


def is_mpquic(transport: str) -> bool:
    """Return whether a transport is MP-QUIC, by its name."""
    return transport.partition("-")[0] == "mpquic"
