"""The programs of a runner on the virtual clock: server and client in a guest, with its time."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from minitopo_dc.linux_guest.orders import orders, words
from minitopo_dc.runners.base import FlowFacts, Runner, TransferFailed
from minitopo_dc.runners.processes.process import KILL_AFTER_S, clean_environment, failure
from minitopo_dc.runners.processes.session import END_TIMEOUT_S, READY_TIMEOUT_S
from minitopo_dc.runners.virtual import NO_CONGESTION, Congestion
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.path_reports import PathSample

TEMPORARY = "/dev/shm"
"""Where programs may write temporary files: in the guest's memory."""
STREAMS = {1: "out", 2: "log"}
"""What the files of standard output and error are called, by their numbers."""

Take = Callable[[int, bytes], None]
"""Takes what a program has printed to one of `STREAMS`."""


class ProgramsFlow:
    """Tells a guest which programs are a flow's ends, and takes what it says of them."""

    def __init__(
        self,
        runner: Runner,
        facts: FlowFacts,
        *,
        changes: Mapping[str, Any] | None = None,
        note: Callable[[int, int], None] | None = None,
        ready_port: int | None,
    ) -> None:
        """Make their files.

        Args:
            runner: says which programs, and reads what they wrote.
            facts: of the flow.
            changes: orders that say which of MPTCP's endpoints come and go; None: there are none.
            note: told which change was made, by its number, and when (ns).
            ready_port: what the server binds when it is ready; None: it is after a moment.
        """
        from minitopo_dc.runners.certificate import write_files  # noqa: PLC0415 (cryptography)

        facts.directory.mkdir(parents=True, exist_ok=True)
        certificate, key = write_files(facts.directory, (facts.server_address,))
        self.transfer = replace(facts, certificate=certificate, key=key)
        self._take: Take | None = None
        self._say: Callable[[str], None] | None = None
        self.ended: dict[str, tuple[int, int]] = {}
        """When each program ended (ns), and its exit code, below 0 the number of a signal."""
        self.error: TransferFailed | None = None
        """What went wrong before the client's end."""
        self._runner = runner
        self._changes, self._note = changes, note
        self._ready_port = ready_port
        self._moments: dict[str, int] = {}
        self._outputs: dict[tuple[str, int], IO[bytes]] = {}
        self._outcome: Measurement | TransferFailed | None = None
        self._large_files = ExitStack()
        for role in ("server", "client"):
            for stream in STREAMS:
                self._outputs[role, stream] = self._file(role, stream).open("wb")

    def watch(self, take: Take, say: Callable[[str], None]) -> None:
        """Have the client's output go elsewhere, and a server that ends too early only told of."""
        self._take, self._say = take, say

    def files(self) -> dict[str, bytes]:
        """Make the runner's files, and return those that the agent is given."""
        runner, transfer = self._runner, self.transfer
        self._large_files.enter_context(runner.files(transfer))
        own = transfer.client_addresses
        foreign = [address for address in transfer.leg_addresses if address not in own]
        cards = (*own, *(foreign if runner.foreign else ()))
        patience_s = KILL_AFTER_S if runner.foreign else END_TIMEOUT_S
        environment = clean_environment() if self._take is None else dict(os.environ)
        variables = {**environment, "TMPDIR": TEMPORARY}
        server = runner.server_command(transfer)
        return {
            "orders": orders(
                transfer.server,
                clients=cards,
                congestion_control=transfer.congestion_control if runner.foreign else "",
                sysctl=transfer.sysctl,
                multipath=self._changes is not None,
                begin=transfer.begin_ns,
                first=1 + cards.index(transfer.first_address),
                programs=True,
                ready_port=self._ready_port or 0,
                patience=round(patience_s * NS_PER_S),
                stop_signal=runner.stop_signal or signal.SIGTERM,
                **(self._changes or {}),
            ),
            "client": words(runner.client_command(transfer)),
            "environment": words(f"{name}={text}" for name, text in variables.items()),
            "places": words((str(Path.cwd()), str(transfer.directory.resolve()))),
            **({"server": words(server)} if server else {}),
        }

    def take(self, report: str) -> bool:
        """Take one report of the agent's; return whether it is the last one."""
        kind, _, rest = report.partition(" ")
        if kind == "output":
            role, stream, text = rest.split(" ", 2)
            data = text.encode(errors="surrogateescape")
            if role == "client" and self._take is not None:
                self._take(int(stream), data)
            else:
                self._outputs[role, int(stream)].write(data)
        elif kind == "ended":
            role, moment, code = rest.split()
            self.ended[role] = (int(moment), int(code))
            self._judge_server()
        elif kind == "changed":
            assert self._note is not None  # there was something to do
            self._note(*map(int, rest.split()))
        elif kind == "error":
            self.error = TransferFailed(rest)
        elif kind == "late":
            self.error = self._failure("server", f"did not listen within {READY_TIMEOUT_S:g} s")
        else:
            self._moments[kind] = int(rest)
        return kind == "done" or self.error is not None

    @property
    def seconds(self) -> float | None:
        """Return how long the client lived; None: it has not ended."""
        if "client" not in self.ended:
            return None
        return (self.ended["client"][0] - self._moments["begin"]) / NS_PER_S

    def measure(self) -> Measurement:
        """Return what was measured, by the runner's own rules, once it is closed.

        Raises:
            TransferFailed: a program failed, or has not ended.
        """
        assert self._outcome is not None  # it is closed
        if isinstance(self._outcome, TransferFailed):
            raise self._outcome
        return self._outcome

    def _read(self) -> Measurement:
        self._check()
        self._close_files()
        return self._runner.read(replace(self.transfer, client_s=self.seconds))

    def _measured(self) -> Measurement:
        measured = self._read()
        started = measured.started_ns or self._moments["begin"]
        details = {**measured.details, "started_s": (started - self.transfer.begin_ns) / NS_PER_S}
        return replace(measured, details=details, path_samples=())

    def congestion(self) -> Congestion:
        """Return nothing, as the sockets are the programs'."""
        return NO_CONGESTION

    def path_samples(self) -> Sequence[PathSample]:
        """Return them when the server has told them, which is at its end."""
        if "done" not in self._moments:
            return ()
        try:
            return self._read().path_samples
        except TransferFailed:
            return ()  # `measure` says why

    def close(self) -> None:
        """Close the programs' output, read the outcome, and remove the runner's large files."""
        self._close_files()
        with self._large_files:
            try:
                self._outcome = self._measured()
            except TransferFailed as failure:
                self._outcome = failure

    def _judge_server(self) -> None:
        """Note the failure of a server that ended before the client, unless it may."""
        if "server" not in self.ended or "client" in self.ended:
            return
        if "begin" not in self._moments:
            self.error = self._failure("server", "before it listened")
        elif not self._runner.server_may_end(self.ended["server"][1]):
            failed = self._failure("server", "during the transfer")
            if self._say is None:
                self.error = failed
            else:
                self._say(str(failed))

    def _check(self) -> None:
        if self.error is not None:
            raise self.error
        if "client" not in self.ended:
            raise self._failure("client", "has not ended")
        if self.ended["client"][1] not in self._runner.client_exit_codes(self.transfer):
            raise self._failure("client", "")
        if self._runner.foreign or "server" not in self.ended:
            return
        if self.ended["server"][1] not in self._runner.server_exit_codes:
            raise self._failure("server", "after the transfer")

    def _failure(self, role: str, what: str) -> TransferFailed:
        for file in self._outputs.values():
            if not file.closed:
                file.flush()
        code = self.ended[role][1] if role in self.ended else None
        return failure(role, code, what, self._file(role, 2), self._file(role, 1))

    def _file(self, role: str, stream: int) -> Path:
        return self.transfer.directory / f"{role}.{STREAMS[stream]}"

    def _close_files(self) -> None:
        for file in self._outputs.values():
            file.close()
