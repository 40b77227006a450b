"""One guest: its first file system, its process, its moments, its packets and its reports."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cffi import FFI

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.extension import NotBuiltError
from minitopo_dc.linux_guest import COMMAND, HEADER, parts
from minitopo_dc.scratch import scratch

DIRECTORY, PROGRAM = 0o040755, 0o100755
"""Modes: the guest is root, and reads all files as programs."""


def archive(files: Mapping[str, bytes], directories: tuple[str, ...] = ()) -> bytes:
    """Pack directories and files, by their names below the root, in this order."""
    entries = [
        *((name, DIRECTORY, b"") for name in directories),
        *((name, PROGRAM, data) for name, data in files.items()),
        ("TRAILER!!!", 0, b""),
    ]
    packed = b""
    for number, (name, mode, data) in enumerate(entries, start=1):
        inode = number if mode else 0
        # inode, mode, user, group, links, time, size, devices (4), length of the name, checksum
        fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        packed += b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        packed += bytes(-len(packed) % 4) + data
        packed += bytes(-len(packed) % 4)
    return packed


MEMORY = "512M"
"""Of the guest; it takes from the machine what it uses: 30 MB with buffers of some MB, and what its
programs use, with the files that they read."""
PATIENCE_S = 60.0
"""For how long a guest may compute between two waits: a turn takes some us, at load 14 some ms; a
program that starts a second, or several."""
BUSY = (
    "its programs have computed for {seconds:g} s at one moment: what waits without a call of the "
    "kernel never ends there (docs/linux-guest.md)"
)
REPORT = 0x88B5
"""The type of frames that carry the agent's words (report.c)."""
SHOWN_LINES = 500
NO_PTRACE = "ptrace, which runs the guest's programs, is not permitted (EPERM; docs/linux-guest.md)"
PTRACE_REFUSED = re.compile(r"ptrace.*(errno = 1\b|not permitted)", re.IGNORECASE)
"""What the kernel says where ptrace fails by EPERM; for another reason its own words say enough."""
END_SEEN_S = 0.1
"""How long to wait for the exit code of a guest that has broken off a connection."""
NOTES = "guest"
"""The name that the kernel keeps notes under while it boots."""
_NEVER = (1 << 64) - 1


class GuestError(MinitopoDcError, RuntimeError):
    """Error: a guest could not be started, died or hangs; the text has its last words."""


class GuestUnavailableError(GuestError):
    """Error: a guest ended before it was up."""


@functools.cache
def boot_obstacle() -> str | None:
    """Return why a guest does not boot here, tried once in this process' life; None: it does."""
    with scratch() as directory:
        try:
            guest = Guest(directory / "guest", cards=2, files={}, seed=1, begin=0)
            try:
                guest.boot()
            finally:
                guest.close()
        except GuestUnavailableError as error:
            return str(error)
        except GuestError:  # it hangs, for want of a processor perhaps
            return None
    return None


class Frame(NamedTuple):
    """What a guest sent by a card: an IP packet, or a report."""

    card: int
    is_report: bool
    data: bytes


class Guest:
    """A kernel as a process of this one's, which ends with it whatever happens.

    Its time stands still except in calls of `run`.
    """

    def __init__(
        self,
        directory: Path,
        *,
        cards: int,
        files: Mapping[str, bytes],
        seed: int,
        begin: int,
        patience_s: float | None = None,
    ) -> None:
        """Start a guest; `boot` waits until it is up.

        Args:
            directory: for what it is started from, which is gone when it has booted.
            cards: of the server (0) and the client (1, ...).
            files: see `Orders.files`.
            seed: of all that its kernel draws at random.
            begin: when it may begin to do something (ns).
            patience_s: how long one call may take; None: `PATIENCE_S`.

        Raises:
            GuestError: it cannot be started.
            NotBuiltError: there is none here.
        """
        self._ffi, self._lib = _controller()
        self._directory = directory
        self._count = self._ffi.new("uint32_t *")
        self._patience_s = PATIENCE_S if patience_s is None else patience_s
        self.pid = 0
        self._is_up = False
        directory.mkdir(parents=True, exist_ok=True)
        self._console = os.memfd_create("console")
        self._files = [directory / name for name in ("initrd", "clock", *_card_names(cards))]
        packed = archive({"init": parts().agent.read_bytes(), **files}, ("proc", "host"))
        self._files[0].write_bytes(packed)
        place = os.open(directory, os.O_PATH | os.O_DIRECTORY)
        try:
            self._guest = self._lib.guest_new(place, cards, begin, round(self._patience_s * 1000))
            self._start(cards, seed)
        finally:
            os.close(place)

    def boot(self) -> Sequence[Frame]:
        """Wait until it has nothing left to do before `begin`; return what it sent.

        Raises:
            GuestError: it has ended, or hangs.
        """
        self._wait(self._lib.guest_go_on(self._guest))
        self._is_up = True
        self._remove_files()
        return self._frames()

    @property
    def next(self) -> int | None:
        """Return when it wants to run next (ns), None for when a packet arrives."""
        moment = self._lib.guest_next(self._guest)
        return None if moment == _NEVER else int(moment)

    def inject(self, card: int, packet: bytes) -> None:
        """Give an IP packet to a card; `run` must follow, for the same moment."""
        if self._lib.guest_inject(self._guest, card, packet, len(packet)):
            raise self._failure("has", self._reason())

    def run(self, now: int) -> Sequence[Frame]:
        """Let it do what it has to do at a moment (ns); return what it sent.

        Raises:
            GuestError: it has ended, or hangs.
        """
        self._wait(self._lib.guest_run(self._guest, now))
        return self._frames()

    def _frames(self) -> Sequence[Frame]:
        frames = self._lib.guest_frames(self._guest, self._count)
        count = self._count[0]
        if not count:
            return ()
        data, buffer = self._lib.guest_data(self._guest), self._ffi.buffer
        return [
            Frame(
                frame.card,
                frame.ether_type == REPORT,
                buffer(data + frame.offset, frame.length)[:],
            )
            for frame in frames[0:count]
        ]

    def close(self) -> None:
        """End the guest at once; it may be called again."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0
        if self._guest is not None:
            self._lib.guest_free(self._guest)
            self._guest = None
            os.close(self._console)
            self._remove_files()

    def _start(self, cards: int, seed: int) -> None:
        new, null = self._ffi.new, self._ffi.NULL
        # What glibc registers there for itself disturbs the processes of a static program.
        variables = [f"UML_SEED={seed}", "GLIBC_TUNABLES=glibc.pthread.rseq=0"]
        words, environment = (
            [new("char[]", word.encode()) for word in words]
            for words in (_command(cards), variables)
        )
        program = os.open(parts().kernel, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.pid = self._lib.guest_start(
                self._guest,
                program,
                new("char *[]", [*words, null]),
                new("char *[]", [*environment, null]),
                self._console,
            )
        finally:
            os.close(program)
        if self.pid < 0:
            self.pid = 0
            why = self._reason() or os.strerror(self._ffi.errno)
            raise self._failure("cannot be started", why, GuestUnavailableError)

    def _wait(self, ended: int) -> None:
        lib = self._lib
        while ended == lib.GUEST_INTERRUPTED:
            # Between two calls Python handles the signal: Ctrl-C ends the run here.
            ended = lib.guest_go_on(self._guest)
        if ended == lib.GUEST_GONE:
            forbidden = any(map(PTRACE_REFUSED.search, self._last_lines()))
            kind = GuestError if self._is_up else GuestUnavailableError
            why = NO_PTRACE if forbidden else self._reason() + self._end()
            raise self._failure("has ended", why, kind)
        if ended == lib.GUEST_SILENT:
            # A process of it runs, or waits for a processor.
            computes = any(fields[0] == "R" for fields in processes_of(self.pid))
            why = BUSY.format(seconds=self._patience_s) if computes else "it did not answer"
            raise self._failure("hangs", why)
        if ended == lib.GUEST_RESTLESS:
            raise self._failure("hangs", "its time does not go on")

    def _reason(self) -> str:
        return str(self._ffi.string(self._lib.guest_reason(self._guest)).decode())

    def _end(self) -> str:
        """Return how its process ended, which takes a moment; empty text if it has not."""
        until = time.monotonic() + END_SEEN_S
        while self.pid and time.monotonic() < until:
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None:
                is_code = ended.si_code == os.CLD_EXITED
                return f", {'exit code' if is_code else 'signal'} {ended.si_status}"
            time.sleep(END_SEEN_S / 10)
        return ""

    def _failure(self, what: str, why: str, kind: type[GuestError] = GuestError) -> GuestError:
        said = " | ".join(self._last_lines())
        self.close()
        return kind(f"the guest kernel {what}: {why}" + (f" (it said: {said})" if said else ""))

    def _last_lines(self) -> list[str]:
        size = os.fstat(self._console).st_size
        text = os.pread(self._console, size, 0).decode(errors="replace")
        return [line.strip() for line in text.splitlines() if line.strip()][-SHOWN_LINES:]

    def _remove_files(self) -> None:
        for file in self._files:
            file.unlink(missing_ok=True)
        shutil.rmtree(self._directory / NOTES, ignore_errors=True)


def processes_of(group: int) -> Iterator[list[str]]:
    """Yield what proc(5)'s `stat` says of each process of a guest, from its state on."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == group:
                    yield fields


@functools.cache
def _controller() -> tuple[Any, Any]:
    """Return the controller, with `ffi` and `lib` of cffi.

    Raises:
        NotBuiltError: it is not here, or cannot be loaded.
    """
    ffi = FFI()
    ffi.cdef(HEADER.read_text(encoding="ascii"))
    path = parts().controller
    try:
        return ffi, ffi.dlopen(str(path))
    except OSError as error:  # made on another machine, for example
        raise NotBuiltError(f"{path}: {error} (remove it, then: {COMMAND})") from error


def _card_names(count: int) -> list[str]:
    return [f"card{number}" for number in range(count)]


def _command(cards: int) -> list[str]:
    """Return the command line, equal in every directory, as the kernel draws randomness from it."""
    return [
        "linux",
        f"mem={MEMORY}",
        "time-travel=ext:clock",
        *(f"virtio_uml.device={name}:1:{n}" for n, name in enumerate(_card_names(cards))),
        "initrd=initrd",
        "virtio_net.napi_tx=0",  # nothing is to be told of sent frames
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        "random.trust_cpu=off",
        "uml_dir=./",  # of a folder with its pid, which it insists on
        f"umid={NOTES}",
        "quiet",
    ]
