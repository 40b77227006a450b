"""One guest: its process, its moments, its packets and its reports."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cffi import FFI

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.extension.place import NotBuiltError
from minitopo_dc.linux_guest.initramfs import archive
from minitopo_dc.linux_guest.library import COMMAND, HEADER, parts

MEMORY = "256M"
"""Of the guest; it takes from the machine what it uses: 30 MB with buffers of some MB."""
PATIENCE_S = 30.0
"""For how long a guest may compute between two waits: a turn takes some us, at load 14 some ms."""
REPORT = 0x88B5
"""The type of frames that carry the agent's words (report.c)."""
SHOWN_LINES = 500
NOTES = "guest"
"""The name that the kernel keeps notes under while it boots."""
_NEVER = (1 << 64) - 1


class GuestError(MinitopoDcError, RuntimeError):
    """A guest could not be started, died or hangs; the text has its last words."""


class Frame(NamedTuple):
    """What a guest sent by a card: an IP packet, or a report."""

    card: int
    is_report: bool
    data: bytes


class Guest:
    """A kernel as a process of this one's, which ends with it whatever happens.

    Its time stands still but for calls of `run`.
    """

    def __init__(
        self,
        directory: Path,
        *,
        cards: int,
        orders: str,
        content: bytes,
        seed: int,
        begin: int,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Start it; `boot` waits until it is there.

        Args:
            directory: for what it is started from, which is gone when it has booted.
            cards: of the server (0) and the client (1, ...).
            orders: see `Orders.text`.
            content: what its hosts send each other, again and again.
            seed: of all that its kernel draws at random.
            begin: when it may begin to do something (ns).
            patience_s: how long one call may take.

        Raises:
            GuestError: it cannot be started.
            NotBuiltError: there is none here.
        """
        self._ffi, self._lib = _controller()
        self._directory = directory
        self._count = self._ffi.new("uint32_t *")
        self.pid = 0
        directory.mkdir(parents=True, exist_ok=True)
        self._console = os.memfd_create("console")
        self._files = [directory / name for name in ("initrd", "clock", *_cards(cards))]
        files = {"init": parts().agent.read_bytes(), "orders": orders.encode(), "content": content}
        self._files[0].write_bytes(archive(files, ("proc",)))
        place = os.open(directory, os.O_PATH | os.O_DIRECTORY)
        try:
            self._guest = self._lib.guest_new(place, cards, begin, round(patience_s * 1000))
            self._start(cards, seed)
        finally:
            os.close(place)

    def boot(self) -> None:
        """Wait until it has nothing left to do before `begin`.

        Raises:
            GuestError: it has ended, or hangs.
        """
        self._wait(self._lib.guest_boot(self._guest))
        self._remove_files()

    @property
    def next(self) -> int | None:
        """When it wants to run next (ns); None: when a packet arrives."""
        moment = self._lib.guest_next(self._guest)
        return None if moment == _NEVER else int(moment)

    def inject(self, card: int, packet: bytes) -> None:
        """An IP packet arrives at a card: `run` must follow, for the same moment."""
        if self._lib.guest_inject(self._guest, card, packet, len(packet)):
            raise self._failure("has", self._reason())

    def run(self, now: int) -> Sequence[Frame]:
        """Let it do what it has to do at a moment (ns); what it sent.

        Raises:
            GuestError: it has ended, or hangs.
        """
        self._wait(self._lib.guest_run(self._guest, now))
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
        """End it, at once; may be called again."""
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
        program = os.open(parts().kernel, os.O_RDONLY | os.O_CLOEXEC)
        try:
            arguments = [self._text(word) for word in _command(cards)]
            environment = [self._text(f"{name}={value}") for name, value in _environment(seed)]
            self.pid = self._lib.guest_start(
                self._guest,
                program,
                self._ffi.new("char *[]", [*arguments, self._ffi.NULL]),
                self._ffi.new("char *[]", [*environment, self._ffi.NULL]),
                self._console,
            )
        finally:
            os.close(program)
        if self.pid < 0:
            self.pid = 0
            raise self._failure("cannot be started", self._reason() or os.strerror(self._ffi.errno))

    def _text(self, word: str) -> Any:
        return self._ffi.new("char[]", word.encode())

    def _wait(self, ended: int) -> None:
        lib = self._lib
        while ended == lib.GUEST_INTERRUPTED:
            # Between two calls Python handles the signal: Ctrl-C ends the run here.
            ended = lib.guest_go_on(self._guest)
        if ended == lib.GUEST_GONE:
            raise self._failure("has ended", self._reason())
        if ended == lib.GUEST_SILENT:
            raise self._failure("hangs", "it did not answer in time")
        if ended == lib.GUEST_RESTLESS:
            raise self._failure("hangs", "its time does not go on")

    def _reason(self) -> str:
        return str(self._ffi.string(self._lib.guest_reason(self._guest)).decode())

    def _failure(self, what: str, why: str) -> GuestError:
        said = " | ".join(self._last_lines())
        self.close()
        return GuestError(
            f"the guest kernel {what}: {why}" + (f" (it said: {said})" if said else "")
        )

    def _last_lines(self) -> list[str]:
        size = os.fstat(self._console).st_size
        text = os.pread(self._console, size, 0).decode(errors="replace")
        return [line.strip() for line in text.splitlines() if line.strip()][-SHOWN_LINES:]

    def _remove_files(self) -> None:
        for file in self._files:
            file.unlink(missing_ok=True)
        shutil.rmtree(self._directory / NOTES, ignore_errors=True)


@functools.cache
def _controller() -> tuple[Any, Any]:
    """The controller: `ffi` and `lib` of cffi.

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


def _cards(count: int) -> Iterator[str]:
    return (f"card{number}" for number in range(count))


def _command(cards: int) -> list[str]:
    """The same in every directory: the kernel makes random numbers of it, too."""
    return [
        "linux",
        f"mem={MEMORY}",
        "time-travel=ext:clock",
        *(f"virtio_uml.device={name}:1:{number}" for number, name in enumerate(_cards(cards))),
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


def _environment(seed: int) -> Iterator[tuple[str, str]]:
    yield "UML_SEED", str(seed)
    # What glibc registers there for its own use is in the way of a static program's processes.
    yield "GLIBC_TUNABLES", "glibc.pthread.rseq=0"
