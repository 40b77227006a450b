"""What C calls in Python: each call has a handle of what it is for.

A Python error in such a call cannot pass through C. It is kept by who runs the C code, which ends
at once, and raises it then.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol


class Fires(Protocol):
    """A timer of Python's."""

    def fired(self) -> None:
        """Its moment has come."""

    def fail(self, error: BaseException) -> None:
        """Keep an error, and have C end."""


class Carries(Protocol):
    """A network that carries packets of Python's."""

    def deliver(self, token: int) -> None:
        """A packet has arrived; it may arrive again."""

    def forget(self, token: int) -> None:
        """A packet arrives no more."""

    def fail(self, error: BaseException) -> None:
        """Keep an error, and have C end."""


class Steps(Protocol):
    """A host whose endpoint is Python's."""

    def step(self, why: int) -> int:
        """Act on what is due; when to step again (ns)."""

    def fail(self, error: BaseException) -> None:
        """Keep an error, and have C end."""


def connect(module: Any) -> None:
    """Make this module's functions those that the extension calls."""
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

    @ffi.def_extern()  # type: ignore[untyped-decorator]
    def python_which(handle: Any, number: int) -> bool:
        return bool(of(handle)(number))
