"""Calls from C into Python, each with a handle of the object that it is for.

A Python error in such a call cannot pass through C. The caller of the C code keeps it, C ends at
once, and the caller raises it then.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol


class Fires(Protocol):
    """A timer whose action is Python's."""

    def fired(self) -> None:
        """Act, as the timer's moment has come."""

    def fail(self, error: BaseException) -> None:
        """Keep an error, and let C end."""


class Carries(Protocol):
    """A network that carries packets of Python's."""

    def deliver(self, token: int) -> None:
        """Take a packet that has arrived, which may arrive again."""

    def forget(self, token: int) -> None:
        """Forget a packet, which will not arrive any more."""

    def fail(self, error: BaseException) -> None:
        """Keep an error, and let C end."""


class Steps(Protocol):
    """A host whose endpoint is Python's."""

    def step(self, why: int) -> int:
        """Act on what is due; return when to step again (ns)."""

    def fail(self, error: BaseException) -> None:
        """Keep an error, and let C end."""


class Asked(Protocol):
    """A split policy that is Python's."""

    def ask(self, now: int, size: int, answer: Any) -> int:
        """Write the legs of an SDU into `answer`, an array of C's; return how many they are."""

    def fail(self, error: BaseException) -> None:
        """Keep an error, and let C end."""


def connect(module: Any) -> None:
    """Register this module's functions as those that the extension calls."""
    ffi = module.ffi
    of: Any = ffi.from_handle

    def keep(_kind: type, error: BaseException, traceback: TracebackType) -> None:
        of(traceback.tb_frame.f_locals["handle"]).fail(error)

    @ffi.def_extern(onerror=keep)  # type: ignore[untyped-decorator]
    def python_fire(handle: Any) -> None:
        of(handle).fired()

    @ffi.def_extern(onerror=keep)  # type: ignore[untyped-decorator]
    def python_deliver(handle: Any, token: int) -> None:
        of(handle).deliver(token)

    @ffi.def_extern(onerror=keep)  # type: ignore[untyped-decorator]
    def python_forget(handle: Any, token: int) -> None:
        of(handle).forget(token)

    @ffi.def_extern(onerror=keep)  # type: ignore[untyped-decorator]
    def python_step(handle: Any, why: int) -> int:
        found: int = of(handle).step(why)
        return found

    @ffi.def_extern(onerror=keep, error=-1)  # type: ignore[untyped-decorator]
    def python_ask(handle: Any, now: int, size: int, answer: Any) -> int:
        found: int = of(handle).ask(now, size, answer)
        return found

    @ffi.def_extern()  # type: ignore[untyped-decorator]
    def python_which(handle: Any, number: int) -> bool:
        return bool(of(handle)(number))
