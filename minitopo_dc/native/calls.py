"""Calls from C into Python, each with a handle of the object that it is for.

A timer is `fired`, a network is to `deliver` and `forget` packets of Python's, a host is to `step`,
and a split policy to `ask`; each of them has `fail`, which keeps an error and lets C end.

A Python error in such a call cannot pass through C. The caller of the C code keeps it, C ends at
once, and the caller raises it then.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any


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
