"""A QUIC stack behind the C interface `stack.h`: its name, its library, and what it can do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cffi import FFI

HEADER = Path(__file__).with_name("stack.h")
"""The interface in C, which says what each function does."""
MAX_PATHS = 8
"""At once, of a connection: MDC_PATHS of `stack.h`."""


@dataclass(frozen=True)
class Stack:
    """One stack, whose ends have the functions of `stack.h`.

    Attributes:
        name: as people know it, and as results name its version.
        version: of its sources.
        congestion_controls: by its own names.
        load: gives `ffi` and `lib` of cffi, once loaded; raises `NotBuiltError` without it.
        obstacle: says why it cannot be used here and what to do; None when it can.
    """

    name: str
    version: str
    congestion_controls: tuple[str, ...]
    load: Callable[[], Any]
    obstacle: Callable[[], str | None]

    def seed(self, value: int) -> None:
        """Draw all of its random numbers in this process from a seed from now on.

        It is for simulations, one at a time: keys and identifiers can be foretold.
        """
        self.load().lib.mdc_seed(value % 2**64)

    def ecn_of(self, congestion_control: str) -> int:
        """Return the ECN code point with which a congestion control sends: ECT(1) for L4S."""
        return int(self.load().lib.mdc_ecn(congestion_control.encode()))


def shared_object(path: Path) -> Callable[[], Any]:
    """Return a `Stack.load` for a shared object that has the functions of `stack.h`.

    What it returns raises OSError where the file cannot be loaded.
    """

    @functools.cache
    def load() -> Any:
        ffi = FFI()
        ffi.cdef(HEADER.read_text(encoding="ascii"))
        return SimpleNamespace(ffi=ffi, lib=ffi.dlopen(str(path)))

    return load
