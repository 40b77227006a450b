"""Multipath QUIC with TQUIC's tools (crate tquic_tools): tquic_server and tquic_client."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

from minitopo_dc.installation import checkout
from minitopo_dc.runners.addresses import SERVER_NAME, bracketed
from minitopo_dc.runners.base import Runner, Transfer, TransferFailed, runner
from minitopo_dc.runners.options import Options
from minitopo_dc.runners.quic import downloaded_file, website
from minitopo_dc.runners.tools import Tool
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.content import content_sha256, file_sha256

CACHE = ".cache/tquic"
"""Of a checkout: where the set-up builds the tools, or leaves its reason why it could not."""

# RFC 9002, section 7.2, and what the kernel's TCP and aioquic do; TQUIC's own is 32 and 4.
INITIAL_WINDOW_PACKETS = 10
MINIMUM_WINDOW_PACKETS = 2

# Rust's Debug form of a Duration: one number and its unit.
DURATION = re.compile(r"^finished in ([0-9.]+)(ns|µs|ms|s),", re.MULTILINE)
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
COUNTER = re.compile(r"\b(recv|sent|lost) (pkts|bytes): (\d+)")
REQUESTS = re.compile(r"^requests: sent 1, finish 1, success 1$", re.MULTILINE)


class TquicOptions(Options):
    """Options of runner `mpquic`, which are TQUIC's."""

    # TQUIC's own default, and the one that the papers' Picoquic comes nearest to.
    scheduler: Literal["minrtt", "redundant", "roundrobin"] = "minrtt"


@runner("mpquic")
class MpquicRunner(Runner):
    """MP-QUIC on one path per client address; CUBIC or BBR, as TQUIC has them."""

    stack: ClassVar[str] = "tquic"
    multipath: ClassVar[bool] = True
    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"
    congestion_controls: ClassVar[tuple[str, ...]] = ("cubic", "bbr")
    options_type: ClassVar[type[Options]] = TquicOptions
    tools: ClassVar[tuple[Tool, ...]] = tuple(
        Tool(name, "--version", variable="TQUIC_BIN", built=f"{CACHE}/bin")
        for name in ("tquic_server", "tquic_client")
    )
    compared: ClassVar[bool] = False  # it has no single path to be compared with
    set_up: ClassVar[bool] = True
    # It has no handler for any signal: one that ends it is its only end. SIGINT would not do: a
    # shell lets its background jobs, and all that they start, ignore it.
    server_exit_codes: ClassVar[frozenset[int]] = frozenset({-signal.SIGTERM})

    def missing(self) -> str | None:
        """Return which of both tools this machine lacks, None if none."""
        lacking = [tool for tool in self.tools if tool.find() is None]
        return _not_built(lacking[0]) if lacking else None

    def server_command(self, transfer: Transfer) -> list[str]:
        """Return the command of the server, which answers from the address it is bound to."""
        return [
            *(self.tool("tquic_server"), "--listen", _endpoint(transfer)),
            *("--cert", str(transfer.certificate), "--key", str(transfer.key)),
            *("--root", str(transfer.directory / "www")),
            "--enable-multipath",
            *self._transport(transfer),
        ]

    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the command of the client, with one path per client address."""
        return [
            *(self.tool("tquic_client"), "--alpn", "h3", "--enable-multipath"),
            *("--connect-to", _endpoint(transfer)),
            *("--local-addresses", ",".join(transfer.client_addresses)),
            *("--connection-failure-threshold", "1"),
            *("--dump-dir", str(transfer.directory / "download")),
            *self._transport(transfer),
            f"https://{SERVER_NAME}:{transfer.port}/{transfer.download.requested_bytes}",
        ]

    @contextmanager
    def files(self, transfer: Transfer) -> Iterator[None]:
        """Make the file that is served; it and its copy are removed at the end."""
        with website(transfer):
            yield

    def read(self, transfer: Transfer) -> Measurement:
        """Return the client's time and counters, after a check of the downloaded file's hash."""
        printed = transfer.client_output.read_text(encoding="utf-8", errors="replace")
        completion_s, details = parse_client(printed)
        body = downloaded_file(transfer)
        received = body.stat().st_size
        if file_sha256(body) != content_sha256(received):
            raise TransferFailed(f"client received {received} bytes, not those sent")
        return Measurement(received, completion_s, details)

    def _transport(self, transfer: Transfer) -> list[str]:
        options = TquicOptions.check(transfer.options, f"runner {self.name}")
        return [
            *("--multipath-algor", options.scheduler.upper()),
            *("--congestion-control-algor", transfer.congestion_control.upper()),
            *("--initial-congestion-window", str(INITIAL_WINDOW_PACKETS)),
            *("--min-congestion-window", str(MINIMUM_WINDOW_PACKETS)),
            *("--active-cid-limit", str(max(2, len(transfer.client_addresses)))),
        ]


def _endpoint(transfer: Transfer) -> str:
    return f"{bracketed(transfer.server_address)}:{transfer.port}"


def parse_client(printed: str) -> tuple[float, dict[str, Any]]:
    """Return the completion time (s) and the packet counters that tquic_client prints.

    Its exit code is 0 in any case, also after no connection and after status 404.

    Raises:
        TransferFailed: the request did not succeed.
    """
    duration = DURATION.search(printed)
    if duration is None or REQUESTS.search(printed) is None:
        raise TransferFailed("tquic_client did not finish its request")
    counters = {f"{what}_{unit}": int(n) for what, unit, n in COUNTER.findall(printed)}
    return float(duration[1]) * SECONDS[duration[2]], counters


def _not_built(tool: Tool) -> str:
    """Return why a tool is not here: the set-up's reason, if it left one, and how to get it."""
    root = checkout()
    if root is not None and (root / CACHE / "unavailable").exists():
        return (root / CACHE / "unavailable").read_text(encoding="utf-8").strip()
    command = "cargo install tquic_tools" if root is None else "minitopo-dc build tquic"
    return f"{tool.not_found()} (get it: {command}; cargo 1.70 or newer)"
